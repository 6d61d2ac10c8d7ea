// Pick a queue; says whether anybody listens to it before and after.
import { Button, Modal } from '@mantine/core';
import { useId, useState } from 'react';
import { enqueueMany, refusal } from '../../api/actions';
import { useQueues } from '../../api/queries';
import type { Queue, Task } from '../../api/types';
import { plural } from '../../lib/format';
import { Failed } from '../states';
import { toast } from '../toast';
import { Progress, tellRefused } from './many';

export function QueueSelect({ value, onChange, queues }: { value: string; onChange: (id: string) => void; queues: Queue[] }) {
  const q = queues.find((x) => x.id === value);
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>Queue</label>
      <select id={id} className="native" value={value} onChange={(e) => onChange(e.target.value)}>
        {queues.map((x) => (
          <option key={x.id} value={x.id}>
            {x.display_name || x.name}
          </option>
        ))}
      </select>
      {q && (
        <small className={q.workers?.length ? 'mut' : 'warnx'}>
          {q.workers?.length
            ? `${plural(q.workers.length, 'worker')} listening, ${q.entries?.length ?? 0} waiting`
            : 'No worker listens to this queue: the task will wait until one does.'}
        </small>
      )}
    </div>
  );
}
/** The queue new work goes to unless somebody picks another: the one tagged so, else by name, else the first. */
const defaultOf = (list: Queue[]): Queue | undefined =>
  list.find((q) => q.system_tags?.includes('default')) ?? list.find((q) => q.name === 'default') ?? list[0];
export function useQueuePick() {
  const queues = useQueues();
  const [pick, setPick] = useState<string | null>(null);
  const list = queues.data ?? [];
  const value = pick ?? defaultOf(list)?.id ?? '';
  return { queues, list, value, setPick };
}

export function EnqueueDialog({ tasks, close }: { tasks: Task[]; close: () => void }) {
  const { queues, list, value, setPick } = useQueuePick();
  const [busy, setBusy] = useState<number | null>(null);
  const fit = tasks.filter((t) => refusal('enqueue', t) === null);
  const go = async (): Promise<void> => {
    if (!value) return;
    setBusy(0);
    const name = list.find((q) => q.id === value)?.name ?? 'the queue';
    const refused = await enqueueMany(
      fit.map((t) => t.id),
      value,
      setBusy,
    );
    tellRefused(refused, fit, 'not enqueued');
    const done = fit.length - refused.length;
    if (done) toast(fit.length === 1 ? `${fit[0]?.name ?? 'Task'} waits in ${name}` : `${plural(done, 'task')} in ${name} now`);
    close();
  };
  return (
    <Modal
      opened
      onClose={close}
      lockScroll={false}
      title={tasks.length === 1 ? `Enqueue ${tasks[0]?.name ?? ''}` : `Enqueue ${plural(fit.length, 'task')}`}
      size={440}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {queues.error && !queues.data ? (
        <Failed what="The queues could not be loaded" error={queues.error} retry={() => void queues.refetch()} />
      ) : list.length === 0 && queues.data ? (
        <p className="tx2">There is no queue yet. Make one on the Queues page.</p>
      ) : (
        <QueueSelect value={value} onChange={setPick} queues={list} />
      )}
      <div className="dfoot">
        <Progress done={busy} of={fit.length} />
        <Button onClick={close}>Cancel</Button>
        <Button
          variant="filled"
          data-autofocus
          // Not while the queues are on their way: a disabled button could not take the focus.
          disabled={(!value && !queues.isPending) || busy !== null || fit.length === 0}
          onClick={() => {
            void go();
          }}
        >
          Enqueue
        </Button>
      </div>
    </Modal>
  );
}
