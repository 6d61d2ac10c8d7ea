// The list somebody came from: the task page steps through it with [ and ].

export interface Place {
  id: string;
  project: string;
}
let list: Place[] = [];
export const setWalk = (l: Place[]): void => {
  list = l;
};

/** Where `id` stands in the last list, and its neighbours; null when it was not reached from one. */
export function walkAt(id: string): { at: number; of: number; prev: Place | null; next: Place | null } | null {
  const i = list.findIndex((p) => p.id === id);
  if (i < 0 || list.length < 2) return null;
  return { at: i + 1, of: list.length, prev: list[i - 1] ?? null, next: list[i + 1] ?? null };
}
