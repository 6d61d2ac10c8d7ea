// Light, dark, or as the system says. Remembered in this browser; theme-start.js reads the same key before first paint.
import { useSyncExternalStore } from 'react';

export type Wish = 'light' | 'dark' | 'auto';
const KEY = 'stoker-scheme';
const media = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();
media.addEventListener('change', () => listeners.forEach((f) => f()));

export function schemeWish(): Wish {
  try {
    const v = localStorage.getItem(KEY);
    return v === 'light' || v === 'dark' ? v : 'auto';
  } catch {
    return 'auto';
  }
}
export function setScheme(w: Wish): void {
  try {
    if (w === 'auto') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, w);
  } catch {
    /* not kept, still applied */
  }
  listeners.forEach((f) => f());
}
const current = (): 'light' | 'dark' => {
  const w = schemeWish();
  return w === 'auto' ? (media.matches ? 'dark' : 'light') : w;
};
const subscribe = (f: () => void): (() => void) => {
  listeners.add(f);
  return () => listeners.delete(f);
};
export const useScheme = (): 'light' | 'dark' => useSyncExternalStore(subscribe, current);
