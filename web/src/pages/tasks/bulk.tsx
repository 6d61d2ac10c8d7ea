// The bar while rows are selected: every action says how many rows it fits, and why when none.
import { Button, Menu } from '@mantine/core';
import {
  IconArchive,
  IconCopy,
  IconDots,
  IconPlayerPlay,
  IconPlayerStop,
  IconRestore,
  IconTag,
  IconTrash,
  IconWorldUpload,
  IconX,
} from '@tabler/icons-react';
import { useMemo, type ReactNode } from 'react';
import { refusal, RULES, type ActionName } from '../../api/actions';
import { MOST_CHOSEN } from '../../api/queries';
import type { Task } from '../../api/types';
import { IconBtn, I } from '../../components/bits';
import { showDialog } from '../../components/dialogs/store';
import { colorSlot, runColor } from '../../lib/color';
import { formatCount, plural } from '../../lib/format';
import { useKeys } from '../../lib/keys';
import { PopMenu } from '../../components/menu';
import { isArchived } from '../../lib/task';

/** Opens the dialog that asks for this action. */
export function startAction(a: ActionName, tasks: Task[], after: () => void): void {
  const first = tasks[0];
  if (a === 'clone') {
    if (first) showDialog({ kind: 'clone', task: first });
  } else if (a === 'enqueue') showDialog({ kind: 'enqueue', tasks });
  else showDialog({ kind: 'confirm', action: a, tasks, after });
}

interface BulkProps {
  tasks: Task[];
  clear: () => void;
  menu: boolean;
  setMenu: (open: boolean) => void;
  /** More tasks match than are chosen: how many (null: not known), and how many of them were read. */
  all: { matching: number | null; reading: number | null; selectAll: () => void } | null;
}

function SelectAll({ matching, reading, selectAll }: NonNullable<BulkProps['all']>) {
  const words =
    matching === null
      ? 'Select all that match'
      : matching > MOST_CHOSEN
        ? `Select the first ${formatCount(MOST_CHOSEN)} of ${formatCount(matching)}`
        : `Select all ${formatCount(matching)}`;
  return (
    <button type="button" className="alln num-s" disabled={reading !== null} onClick={selectAll}>
      {reading === null ? words : `Selecting, ${formatCount(reading)} so far`}
    </button>
  );
}

export function BulkBar({ tasks, clear, menu, setMenu, all }: BulkProps) {
  useKeys(useMemo(() => ({ Escape: clear }), [clear]));
  const fits = (a: ActionName): number => tasks.filter((t) => refusal(a, t) === null).length;
  const start = (a: ActionName): void => startAction(a, tasks, clear);
  const btn = (a: ActionName, icon: ReactNode, cls = ''): ReactNode => {
    const n = fits(a);
    return (
      <Button
        key={a}
        className={cls}
        leftSection={icon}
        disabled={n === 0}
        title={n === 0 ? RULES[a].why : undefined}
        onClick={() => start(a)}
      >
        {RULES[a].label}
        {n < tasks.length && (
          <span className="of">
            {formatCount(n)} of {formatCount(tasks.length)}
          </span>
        )}
      </Button>
    );
  };
  const s = { size: 15, stroke: 1.6 } as const;
  const allArchived = tasks.every(isArchived),
    some = !allArchived && tasks.some(isArchived);
  return (
    <div className="bulk" role="toolbar" aria-label={`Actions for ${plural(tasks.length, 'selected task')}`}>
      <span className="cnt">
        <b>{formatCount(tasks.length)}</b> selected
      </span>
      {all && <SelectAll {...all} />}
      <span className="dots" aria-hidden>
        {tasks.slice(0, 8).map((t) => (
          <i key={t.id} style={{ background: runColor(colorSlot(t.id)) }} />
        ))}
      </span>
      <Button
        leftSection={<IconCopy {...s} />}
        disabled={tasks.length !== 1}
        title={tasks.length !== 1 ? 'One at a time' : undefined}
        onClick={() => start('clone')}
      >
        Clone
      </Button>
      {btn('enqueue', <IconPlayerPlay {...s} />)}
      {btn('abort', <IconPlayerStop {...s} />)}
      {btn(allArchived ? 'unarchive' : 'archive', <IconArchive {...s} />)}
      <Button leftSection={<IconTag {...s} />} onClick={() => showDialog({ kind: 'tags', tasks })}>
        Tag
      </Button>
      <PopMenu position="top-start" width={220} opened={menu} onChange={setMenu}>
        <Menu.Target>
          <IconBtn label="More actions">
            <IconDots {...I} />
          </IconBtn>
        </Menu.Target>
        <Menu.Dropdown>
          {(['dequeue', 'reset', 'publish', ...(some ? (['unarchive'] as const) : []), 'delete'] as ActionName[]).map((a) => {
            const n = fits(a);
            const icon = {
              dequeue: <IconX {...s} />,
              reset: <IconRestore {...s} />,
              publish: <IconWorldUpload {...s} />,
              unarchive: <IconArchive {...s} />,
              delete: <IconTrash {...s} />,
            }[a as 'reset'];
            return (
              <Menu.Item
                key={a}
                leftSection={icon}
                className={a === 'delete' ? 'danger' : ''}
                disabled={n === 0}
                title={n === 0 ? RULES[a].why : undefined}
                onClick={() => start(a)}
              >
                {RULES[a].label}{' '}
                <span className="of">
                  {formatCount(n)} of {formatCount(tasks.length)}
                </span>
              </Menu.Item>
            );
          })}
        </Menu.Dropdown>
      </PopMenu>
      <span className="sp" />
      <button type="button" className="clr" onClick={clear}>
        Clear <kbd>Esc</kbd>
      </button>
    </div>
  );
}
