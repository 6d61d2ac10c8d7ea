// Short news about something just done ("Cloned", "Enqueued"). Lasting states never go here.
import { IconAlertCircle, IconCheck, IconX } from '@tabler/icons-react';
import { useSyncExternalStore, type ReactNode } from 'react';
import './toast.css';

interface Item {
  id: number;
  tone: 'ok' | 'bad';
  text: ReactNode;
}
let items: Item[] = [];
let next = 1;
const listeners = new Set<() => void>();
const set = (v: Item[]): void => {
  items = v;
  listeners.forEach((f) => f());
};
const drop = (id: number): void => set(items.filter((i) => i.id !== id));

export function toast(text: ReactNode, tone: 'ok' | 'bad' = 'ok'): void {
  const id = next++;
  set([...items.slice(-3), { id, tone, text }]);
  setTimeout(() => drop(id), tone === 'ok' ? 5_000 : 12_000);
}
export const toastError = (what: string, e: unknown): void => toast(`${what}: ${e instanceof Error ? e.message : String(e)}`, 'bad');

export function Toasts() {
  const list = useSyncExternalStore(
    (f) => {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    () => items,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {list.map((i) => (
        <div key={i.id} className={`toast t-${i.tone}`}>
          {i.tone === 'ok' ? <IconCheck size={16} stroke={1.8} /> : <IconAlertCircle size={16} stroke={1.8} />}
          <span>{i.text}</span>
          <button type="button" aria-label="Dismiss" onClick={() => drop(i.id)}>
            <IconX size={14} stroke={1.8} />
          </button>
        </div>
      ))}
    </div>
  );
}
