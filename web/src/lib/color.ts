// A task has the same colour on every screen: its id picks one of the 20 slots of the palette (tokens --run0 … --run19).

/** FNV-1a over the id; stable across browsers and releases. */
export function colorSlot(id: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) h = Math.imul(h ^ id.charCodeAt(i), 0x01000193);
  return (h >>> 0) % 20;
}

export const runColor = (slot: number): string => `var(--run${((slot % 20) + 20) % 20})`;

/** Reads a token of the current theme; a canvas does not follow CSS variables by itself. */
export const cssToken = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
