// Keys of the page: single letters and two-letter paths (g p), never while typing or inside a dialog.
import { useLayoutEffect } from 'react';

/** A handler that answers false declines: the key keeps its usual meaning. */
export type Keymap = Record<string, (e: KeyboardEvent) => void | false>;

const typing = (t: EventTarget | null): boolean =>
  t instanceof HTMLElement &&
  (t.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName)) &&
  !(t instanceof HTMLInputElement && /^(checkbox|radio|button|range)$/.test(t.type));
/** Every map that is bound now: the second key of a path belongs to whoever has the path. */
const bound = new Set<Keymap>();
let pending = '';
let pendingAt = 0;

/** Binds keys while the component is mounted. Names: 'j', '?', '/', 'g p', 'Escape', 'mod+k'. */
export function useKeys(map: Keymap, on = true): void {
  // Bound before the page is painted: what is seen can be used.
  useLayoutEffect(() => {
    if (!on) return;
    const press = (e: KeyboardEvent): void => {
      if (e.defaultPrevented || e.isComposing) return;
      const mod = e.ctrlKey || e.metaKey;
      const name = mod ? `mod+${e.key.toLowerCase()}` : e.altKey ? `alt+${e.key}` : e.key;
      if (!mod && (typing(e.target) || document.querySelector('[role="dialog"][aria-modal="true"], dialog[open]'))) return;
      const two = pending && Date.now() - pendingAt < 1200 ? `${pending} ${name}` : '';
      if (two && !map[two] && [...bound].some((m) => m[two])) return;
      const f = (two && map[two]) || map[name];
      if (f && f(e) !== false) {
        e.preventDefault();
        pending = '';
        return;
      }
      if (!mod && e.key.length === 1 && Object.keys(map).some((k) => k.startsWith(`${name} `))) {
        pending = name;
        pendingAt = Date.now();
      }
    };
    bound.add(map);
    window.addEventListener('keydown', press);
    return () => {
      bound.delete(map);
      window.removeEventListener('keydown', press);
    };
  }, [map, on]);
}
