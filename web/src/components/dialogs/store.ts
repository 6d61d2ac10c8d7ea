// Which dialog is open. Anything may open one; the host in app.tsx shows it.
import type { ActionName } from '../../api/actions';
import type { Task } from '../../api/types';

export type Dialog =
  | { kind: 'clone'; task: Task }
  | { kind: 'enqueue'; tasks: Task[] }
  | { kind: 'confirm'; action: Exclude<ActionName, 'clone' | 'enqueue'>; tasks: Task[]; after?: () => void };

let open: Dialog | null = null;
const listeners = new Set<() => void>();
export const subscribeDialog = (f: () => void): (() => void) => { listeners.add(f); return () => listeners.delete(f); };
export const currentDialog = (): Dialog | null => open;
export function showDialog(d: Dialog | null): void { open = d; listeners.forEach((f) => f()); }
