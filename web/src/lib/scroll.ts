// Where lists were scrolled to, by address: the way back leads to the same rows.
export interface Spot {
  top: number;
  row: number;
}
const MAX = 50;
const spots = new Map<string, Spot>();

export function keepSpot(address: string, spot: Spot): void {
  spots.delete(address);
  spots.set(address, spot);
  const oldest = spots.keys().next().value;
  if (spots.size > MAX && oldest !== undefined) spots.delete(oldest);
}
export const spotOf = (address: string): Spot | null => spots.get(address) ?? null;
