// Is the window phone-wide? Lists then become cards.
import { useSyncExternalStore } from 'react';

const media = matchMedia('(max-width: 767px)');
const subscribe = (f: () => void): (() => void) => {
  media.addEventListener('change', f);
  return () => media.removeEventListener('change', f);
};
export const useNarrow = (): boolean => useSyncExternalStore(subscribe, () => media.matches);
