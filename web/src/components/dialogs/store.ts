// Which dialog is open. Anything may open one; the host in app.tsx shows it.
import type { ActionName } from '../../api/actions';
import type { Task } from '../../api/types';

export type Dialog =
  | { kind: 'clone'; task: Task }
  | { kind: 'enqueue'; tasks: Task[] }
  | { kind: 'tags'; tasks: Task[] }
  | { kind: 'confirm'; action: Exclude<ActionName, 'clone' | 'enqueue'>; tasks: Task[]; after?: () => void };

let open: Dialog | null = null;
const listeners = new Set<() => void>();
export const subscribeDialog = (f: () => void): (() => void) => {
  listeners.add(f);
  return () => listeners.delete(f);
};
export const currentDialog = (): Dialog | null => open;
let back: Element | null = null;
/** Opens a dialog, or closes it with null; the focus then returns to where it was. */
export function showDialog(d: Dialog | null): void {
  if (d && !open) back = document.activeElement;
  open = d;
  listeners.forEach((f) => f());
  if (!d && back instanceof HTMLElement) {
    const to = back;
    setTimeout(() => {
      if (to.isConnected && document.activeElement === document.body) to.focus();
    }, 0);
  }
}
