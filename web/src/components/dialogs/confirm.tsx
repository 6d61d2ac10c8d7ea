// Asks before what cannot be taken back, and says exactly what will happen to how many.
import { Button, Checkbox, Modal } from '@mantine/core';
import { useState } from 'react';
import { act, refusal, RULES, type ActionName } from '../../api/actions';
import type { Task } from '../../api/types';
import { plural } from '../../lib/format';
import { statusOf } from '../../lib/task';
import { toast, toastError } from '../toast';

type Name = Exclude<ActionName, 'clone' | 'enqueue'>;
const DONE: Record<Name, string> = {
  dequeue: 'dequeued',
  abort: 'told to stop',
  reset: 'reset',
  publish: 'published',
  archive: 'archived',
  unarchive: 'restored',
  delete: 'deleted',
};
function words(a: Name, tasks: Task[]): string {
  switch (a) {
    case 'abort':
      return tasks.some((t) => statusOf(t) === 'stopping')
        ? 'It has been told to stop already. Asking again changes nothing unless its worker is gone.'
        : 'The run gets a signal to end, some seconds of grace, and is killed after that. What it reported stays.';
    case 'reset':
      return 'Its metrics, console, plots and output files are removed; parameters and code stay. It becomes a draft again.';
    case 'publish':
      return 'A published task and its models can no longer be changed, reset or deleted.';
    case 'delete':
      return 'The task, its metrics, console and files are removed for good.';
    case 'archive':
      return 'It leaves the lists and can be found with archived:yes. Nothing is lost.';
    case 'unarchive':
      return 'It comes back into the lists.';
    case 'dequeue':
      return 'It leaves the queue and becomes a draft.';
  }
}

export function ConfirmDialog({
  action,
  tasks,
  close,
  after,
}: {
  action: Name;
  tasks: Task[];
  close: () => void;
  after?: (() => void) | undefined;
}) {
  const [busy, setBusy] = useState(false);
  const [clear, setClear] = useState(false);
  const fit = tasks.filter((t) => refusal(action, t) === null);
  const hard = action === 'delete' || action === 'reset' || action === 'abort';
  const go = async (): Promise<void> => {
    setBusy(true);
    let done = 0;
    for (const t of fit) {
      try {
        await act(action, t, { clearAll: clear });
        done++;
      } catch (e) {
        toastError(`${t.name ?? t.id} was not ${DONE[action]}`, e);
      }
    }
    if (done) {
      toast(`${done === 1 ? (fit[0]?.name ?? 'Task') : `${done} tasks`} ${DONE[action]}`);
      after?.();
    }
    close();
  };
  return (
    <Modal
      opened
      onClose={close}
      lockScroll={false}
      title={`${RULES[action].label} ${tasks.length === 1 ? (tasks[0]?.name ?? '') : plural(fit.length, 'task')}?`}
      size={440}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <p className="tx2">{words(action, tasks)}</p>
      {action === 'reset' && (
        <Checkbox
          mt={10}
          label="Also forget the code and packages it recorded"
          checked={clear}
          onChange={(e) => setClear(e.currentTarget.checked)}
        />
      )}
      <div className="dfoot">
        <Button onClick={close} data-autofocus={hard || undefined}>
          Cancel
        </Button>
        <Button
          variant="filled"
          data-autofocus={hard ? undefined : true}
          disabled={busy || fit.length === 0}
          onClick={() => {
            void go();
          }}
        >
          {RULES[action].label}
        </Button>
      </div>
    </Modal>
  );
}
