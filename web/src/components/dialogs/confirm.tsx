// Asks before what cannot be taken back, and says exactly what will happen to how many.
import { Button, Checkbox, Modal } from '@mantine/core';
import { useState } from 'react';
import { actMany, refusal, RULES, type ManyName as Name } from '../../api/actions';
import type { Task } from '../../api/types';
import { plural } from '../../lib/format';
import { statusOf } from '../../lib/task';
import { toast } from '../toast';
import { Progress, tellRefused } from './many';

const DONE: Record<Name, string> = {
  dequeue: 'dequeued',
  abort: 'told to stop',
  reset: 'reset',
  publish: 'published',
  archive: 'archived',
  unarchive: 'restored',
  delete: 'deleted',
};
/** What will happen, for one task and for several. */
const WORDS: Record<Name, [one: string, many: string]> = {
  abort: [
    'The run gets a signal to end, some seconds of grace, and is killed after that. What it reported stays.',
    'The runs get a signal to end, some seconds of grace, and are killed after that. What they reported stays.',
  ],
  reset: [
    'Its metrics, console, plots and output files are removed; parameters and code stay. It becomes a draft again.',
    'Their metrics, consoles, plots and output files are removed; parameters and code stay. They become drafts again.',
  ],
  publish: [
    'A published task and its models can no longer be changed, reset or deleted.',
    'Published tasks and their models can no longer be changed, reset or deleted.',
  ],
  delete: [
    'The task, its metrics, console and files are removed for good.',
    'The tasks, their metrics, consoles and files are removed for good.',
  ],
  archive: [
    'It leaves the lists and can be found with archived:yes. Nothing is lost.',
    'They leave the lists and can be found with archived:yes. Nothing is lost.',
  ],
  unarchive: ['It comes back into the lists.', 'They come back into the lists.'],
  dequeue: ['It leaves the queue and becomes a draft.', 'They leave their queues and become drafts.'],
};
const AGAIN = 'It has been told to stop already. Asking again changes nothing unless its worker is gone.';
const words = (a: Name, fit: Task[]): string =>
  fit.length > 1 ? WORDS[a][1] : a === 'abort' && fit.some((t) => statusOf(t) === 'stopping') ? AGAIN : WORDS[a][0];

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
  const [busy, setBusy] = useState<number | null>(null);
  const [clear, setClear] = useState(false);
  const fit = tasks.filter((t) => refusal(action, t) === null);
  const hard = action === 'delete' || action === 'reset' || action === 'abort';
  const go = async (): Promise<void> => {
    setBusy(0);
    const refused = await actMany(
      action,
      fit.map((t) => t.id),
      { clearAll: clear, progress: setBusy },
    );
    tellRefused(refused, fit, `not ${DONE[action]}`);
    const done = fit.length - refused.length;
    if (done) {
      toast(`${fit.length === 1 ? (fit[0]?.name ?? 'Task') : plural(done, 'task')} ${DONE[action]}`);
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
      <p className="tx2">{words(action, fit)}</p>
      {action === 'reset' && (
        <Checkbox
          mt={10}
          label="Also forget the code and packages it recorded"
          checked={clear}
          onChange={(e) => setClear(e.currentTarget.checked)}
        />
      )}
      <div className="dfoot">
        <Progress done={busy} of={fit.length} />
        <Button onClick={close} data-autofocus={hard || undefined}>
          Cancel
        </Button>
        <Button
          variant="filled"
          data-autofocus={hard ? undefined : true}
          disabled={busy !== null || fit.length === 0}
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
