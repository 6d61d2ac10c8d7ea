// The sheet of keys, on "?".
import { Modal } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import './help.css';

let open = false;
const listeners = new Set<() => void>();
const set = (v: boolean): void => {
  open = v;
  listeners.forEach((f) => f());
};
export const openHelp = (): void => set(true);

const KEYS: Array<[string, Array<[string, string]>]> = [
  [
    'Anywhere',
    [
      ['Ctrl K', 'Search or jump to'],
      ['?', 'This sheet'],
      ['g h', 'Home'],
      ['g p', 'Projects'],
      ['g t', 'All tasks'],
      ['g q', 'Queues'],
      ['g w', 'Workers'],
      ['/', 'Search or filter on this page'],
    ],
  ],
  [
    'Lists',
    [
      ['j  ↓', 'Next row'],
      ['k  ↑', 'Previous row'],
      ['Space  x', 'Select row'],
      ['Enter  o', 'Open row'],
      ['Shift j  Shift ↓', 'Select on to the next row'],
      ['Shift x', 'Select from the last selected to here'],
      ['a', 'Archive, or restore from the archive'],
      ['t', 'Tags'],
      ['n', 'Clone'],
      ['.', 'More actions'],
      ['Esc', 'Clear the selection'],
      ['Enter', 'From the filter to the rows'],
    ],
  ],
  [
    'Task',
    [
      ['1 – 9', 'Tabs from left to right'],
      ['n', 'Clone'],
      ['[  ]', 'Previous, next task of the list'],
    ],
  ],
  [
    'Console',
    [
      ['f', 'Follow on or off'],
      ['Enter', 'Next hit'],
      ['Shift Enter', 'Previous hit'],
      ['End  Home', 'Last, first line'],
    ],
  ],
];

export function Help() {
  const on = useSyncExternalStore(
    (f) => {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    () => open,
  );
  return (
    <Modal opened={on} onClose={() => set(false)} title="Keys" size={560} lockScroll={false} closeButtonProps={{ 'aria-label': 'Close' }}>
      <div className="keys">
        {KEYS.map(([g, rows]) => (
          <section key={g}>
            <h3>{g}</h3>
            <dl>
              {rows.map(([k, w]) => (
                <div key={k}>
                  <dt>
                    {k.split('  ').map((x) => (
                      <kbd key={x}>{x}</kbd>
                    ))}
                  </dt>
                  <dd>{w}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  );
}
