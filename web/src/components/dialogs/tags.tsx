// Tags of one task or of many: what they have, what is taken away, what is added to all.
import { Button, Modal, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { editTags } from '../../api/actions';
import type { Task } from '../../api/types';
import { formatCount, plural } from '../../lib/format';
import { toast, toastError } from '../toast';

/** Every tag of the tasks and how many have it, the most frequent first. */
function countTags(tasks: Task[]): Array<[string, number]> {
  const n = new Map<string, number>();
  for (const t of tasks) for (const g of t.tags ?? []) n.set(g, (n.get(g) ?? 0) + 1);
  return [...n].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
}

export function TagsDialog({ tasks, close }: { tasks: Task[]; close: () => void }) {
  const [add, setAdd] = useState<string[]>([]);
  const [remove, setRemove] = useState<string[]>([]);
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const have = countTags(tasks);
  const typed = text.trim();
  const wanted = typed && !add.includes(typed) ? [...add, typed] : add;
  const flip = (list: string[], g: string): string[] => (list.includes(g) ? list.filter((x) => x !== g) : [...list, g]);
  const take = (): void => {
    setAdd(wanted);
    setRemove(remove.filter((g) => g !== typed));
    setText('');
  };
  const save = (): void => {
    setBusy(true);
    editTags(
      tasks.map((t) => t.id),
      wanted,
      remove.filter((g) => !wanted.includes(g)),
    ).then(
      () => {
        toast(`Tags of ${tasks.length === 1 ? (tasks[0]?.name ?? 'the task') : plural(tasks.length, 'task')} saved`);
        close();
      },
      (e: unknown) => {
        setBusy(false);
        toastError('The tags were not saved', e);
      },
    );
  };
  return (
    <Modal
      opened
      onClose={close}
      lockScroll={false}
      title={`Tags of ${tasks.length === 1 ? (tasks[0]?.name ?? '') : plural(tasks.length, 'task')}`}
      size={440}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (typed) take();
          else if (add.length + remove.length > 0) save();
        }}
      >
        {have.length + add.length > 0 && (
          <ul className="tagedit" aria-label="Tags">
            {have.map(([g, n]) => {
              const off = remove.includes(g);
              return (
                <li key={g} className={off ? 'off' : ''}>
                  <span title={g}>{g}</span>
                  {tasks.length > 1 && (
                    <small>
                      {formatCount(n)} of {formatCount(tasks.length)}
                    </small>
                  )}
                  <button type="button" aria-label={`${off ? 'Keep' : 'Remove'} ${g}`} onClick={() => setRemove(flip(remove, g))}>
                    {off ? <IconPlus size={12} stroke={2} /> : <IconX size={12} stroke={2} />}
                  </button>
                </li>
              );
            })}
            {add.map((g) => (
              <li key={`+${g}`} className="new">
                <span title={g}>{g}</span>
                <small>new</small>
                <button type="button" aria-label={`Do not add ${g}`} onClick={() => setAdd(flip(add, g))}>
                  <IconX size={12} stroke={2} />
                </button>
              </li>
            ))}
          </ul>
        )}
        <TextInput
          data-autofocus
          label={tasks.length === 1 ? 'Add a tag' : `Add a tag to all ${formatCount(tasks.length)}`}
          description="Enter adds it to the list, Enter again saves"
          value={text}
          onChange={(e) => setText(e.currentTarget.value)}
        />
        <div className="dfoot">
          <Button onClick={close}>Cancel</Button>
          <Button variant="filled" disabled={busy || wanted.length + remove.length === 0} onClick={save}>
            Save
          </Button>
        </div>
      </form>
    </Modal>
  );
}
