// The width of an element, known before it is painted and kept up to date.
import { useLayoutEffect, useState, type RefObject } from 'react';

/** 0 until it is known. */
export function useWidth(ref: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const el = ref.current;
    if (!el) return;
    const look = (): void => setWidth(el.clientWidth);
    look();
    const ro = new ResizeObserver(look);
    ro.observe(el);
    return () => ro.disconnect();
  }, [ref]);
  return width;
}
