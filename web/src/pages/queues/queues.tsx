// Queues: list on the left, the waiting tasks of one in order on the right, below them the workers that listen to it.
import { Button, Modal, TextInput } from '@mantine/core';
import { IconArrowBarToDown, IconArrowBarToUp, IconPlus, IconSearch } from '@tabler/icons-react';
import { useMemo, useRef, useState } from 'react';
import { act } from '../../api/actions';
import { call } from '../../api/call';
import { client, useQueues, useTasksById, useWorkers } from '../../api/queries';
import type { Queue, QueueEntry, Worker } from '../../api/types';
import { Ago, Dot, I, IconBtn } from '../../components/bits';
import { Shell } from '../../components/shell';
import { Empty, Failed, LoadingRows } from '../../components/states';
import { toast, toastError } from '../../components/toast';
import { colorSlot } from '../../lib/color';
import { formatDuration, parseTime, plural } from '../../lib/format';
import { useKeys } from '../../lib/keys';
import { path } from '../../lib/url';
import { Link, navigate, taskPath } from '../../router';
import { WorkerCards } from './workercards';
import { whyWaits, workerState } from './workerstate';
import './queues.css';

const entryId = (e: QueueEntry): string => (typeof e.task === 'string' ? e.task : (e.task?.id ?? ''));
const label = (q: Queue): string => q.display_name || q.name;

function NewQueue({ open, close }: { open: boolean; close: () => void }) {
  const [name, setName] = useState('');
  const make = async (): Promise<void> => {
    try {
      const d = await call('queues.create', { name: name.trim() });
      await client.invalidateQueries({ queryKey: ['queues.get_all_ex'] });
      toast(`Queue ${name.trim()} made`);
      setName('');
      close();
      navigate(path('queues', d.id));
    } catch (e) {
      toastError('The queue was not made', e);
    }
  };
  return (
    <Modal opened={open} onClose={close} title="New queue" size={400} lockScroll={false} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          void make();
        }}
      >
        <TextInput
          label="Name"
          data-autofocus
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
          description="At least 3 characters, as agents will name it"
        />
        <div className="dfoot">
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" variant="filled" disabled={name.trim().length < 3}>
            Make
          </Button>
        </div>
      </form>
    </Modal>
  );
}
function move(queue: string, task: string, name: string, to: 'front' | 'end'): void {
  call(to === 'front' ? 'queues.move_task_to_front' : 'queues.move_task_to_back', { queue, task })
    .then(() => client.invalidateQueries({ queryKey: ['queues.get_all_ex'] }))
    .then(
      () => toast(`${name} is ${to === 'front' ? 'first' : 'last'} now`),
      (err: unknown) => toastError(`${name} was not moved`, err),
    );
}
function Waiting({ q, workers }: { q: Queue; workers: Worker[] }) {
  const entries = q.entries ?? [];
  const tasks = useTasksById(entries.map(entryId));
  if (entries.length === 0)
    return (
      <section className="card">
        <p className="none">
          Nothing waits here.{' '}
          {workers.some((w) => workerState(w) !== 'lost')
            ? 'The next task starts at once when a worker is free.'
            : 'No worker listens either.'}
        </p>
      </section>
    );
  const why = (i: number): string => whyWaits(i, workers);
  return (
    <section className="card wtab" tabIndex={0} role="region" aria-label={`Waiting in ${label(q)}`}>
      <table className="wt">
        <thead>
          <tr>
            <th className="num">#</th>
            <th>Task</th>
            <th className="hide-s">User</th>
            <th className="num">Waited</th>
            <th>Why it waits</th>
            <th>
              <span className="vh">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.map((e, i) => {
            const id = entryId(e),
              t = tasks.data?.get(id),
              name = t?.name ?? (typeof e.task === 'object' ? e.task?.name : undefined) ?? id;
            return (
              <tr key={id}>
                <td className="num pos">{i + 1}</td>
                <th scope="row">
                  <div>
                    <Dot c={colorSlot(id)} />
                    <Link to={taskPath(t?.project?.id ?? '*', id)} title={name}>
                      {name}
                    </Link>
                  </div>
                </th>
                <td className="tx2 hide-s">{t?.user?.name ?? '–'}</td>
                <td className="num tx2 nw">{e.added ? formatDuration(Date.now() - parseTime(e.added)) : '–'}</td>
                <td title={why(i)}>{why(i)}</td>
                <td className="act">
                  <div>
                    {entries.length > 1 && (
                      <>
                        <IconBtn label={`${name} to the front`} disabled={i === 0} onClick={() => move(q.id, id, name, 'front')}>
                          <IconArrowBarToUp {...I} />
                        </IconBtn>
                        <IconBtn
                          label={`${name} to the end`}
                          disabled={i === entries.length - 1}
                          onClick={() => move(q.id, id, name, 'end')}
                        >
                          <IconArrowBarToDown {...I} />
                        </IconBtn>
                      </>
                    )}
                    {t && (
                      <Button
                        size="compact-xs"
                        onClick={() => {
                          act('dequeue', t.id).then(
                            () => toast(`${name} taken out`),
                            (err: unknown) => toastError(`${name} was not taken out`, err),
                          );
                        }}
                      >
                        Dequeue
                      </Button>
                    )}
                  </div>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

export default function Queues({ queue }: { queue: string | null }) {
  const queues = useQueues();
  const workers = useWorkers();
  const [find, setFind] = useState('');
  const [making, setMaking] = useState(false);
  const box = useRef<HTMLInputElement>(null);
  useKeys(useMemo(() => ({ '/': () => box.current?.focus() }), []));
  const all = queues.data ?? [];
  const list = all.filter((q) => label(q).toLowerCase().includes(find.toLowerCase()));
  const q =
    all.find((x) => x.id === queue) ??
    (queue === null ? [...all].sort((a, b) => (b.entries?.length ?? 0) - (a.entries?.length ?? 0))[0] : undefined);
  const of = (x: Queue): Worker[] => (workers.data ?? []).filter((w) => w.queues?.some((k) => k.id === x.id) || w.queue?.id === x.id);
  const there = (x: Queue): Worker[] => of(x).filter((w) => workerState(w) !== 'lost');
  const running = (x: Queue): number => of(x).filter((w) => w.task?.id && w.queue?.id === x.id).length;
  const crew = (x: Queue): string => {
    const on = there(x),
      lost = of(x).length - on.length;
    return [on.length ? `${on.filter((w) => workerState(w) === 'busy').length} busy of ${on.length}` : '', lost ? `${lost} lost` : '']
      .filter(Boolean)
      .join(' · ');
  };
  return (
    <Shell
      nav="queues"
      title={q ? label(q) : 'Queues'}
      crumbs={q ? [{ label: 'Queues', to: '/queues' }, { label: label(q) }] : [{ label: 'Queues' }]}
    >
      <div className={`page qs${queue ? ' one' : ''}`}>
        <aside className="ql" aria-label="Queues">
          <div className="qlh">
            <h2>Queues</h2>
            <span className="n">{all.length || ''}</span>
            <span className="sp" />
            <IconBtn label="New queue" onClick={() => setMaking(true)}>
              <IconPlus {...I} />
            </IconBtn>
          </div>
          <label className="tsearch">
            <IconSearch size={14} stroke={1.6} />
            <input
              ref={box}
              value={find}
              onChange={(e) => setFind(e.target.value)}
              placeholder="Search queues"
              aria-label="Search queues"
            />
          </label>
          {queues.isPending ? (
            <LoadingRows n={4} />
          ) : (
            list.map((x) => (
              <Link
                key={x.id}
                to={path('queues', x.id)}
                className={`qi${x.id === q?.id ? ' on' : ''}`}
                aria-current={x.id === q?.id ? 'true' : undefined}
              >
                <div className="l1">
                  <b className="cut">{label(x)}</b>
                  <span className="sp" />
                  {(x.entries?.length ?? 0) > 0 && (
                    <span className="wn" title="waiting">
                      {x.entries?.length}
                    </span>
                  )}
                </div>
                <div className="l2">
                  {running(x)} running ·{' '}
                  {there(x).length ? plural(there(x).length, 'worker') : <em>{of(x).length ? 'all workers lost' : 'no worker'}</em>}
                </div>
              </Link>
            ))
          )}
        </aside>
        <div className="qm">
          {queues.error && !queues.data ? (
            <Failed what="The queues could not be loaded" error={queues.error} retry={() => void queues.refetch()} />
          ) : queues.data && all.length === 0 ? (
            <Empty
              title="No queue yet"
              action={
                <Button variant="filled" onClick={() => setMaking(true)}>
                  New queue
                </Button>
              }
            >
              Tasks wait in queues until a worker takes them.
            </Empty>
          ) : queues.data && !q ? (
            <Empty title="There is no queue with this id" />
          ) : (
            q && (
              <>
                <div className="qh">
                  <h1 className="cut">{label(q)}</h1>
                  <span className="mut">
                    {q.entries?.length ?? 0} waiting · {running(q)} running
                    {q.created && (
                      <span className="hide-s">
                        {' '}
                        · made <Ago t={parseTime(q.created)} />
                      </span>
                    )}
                  </span>
                </div>
                <Waiting q={q} workers={of(q)} />
                <div className="qh wh">
                  <h2>Workers</h2>
                  <span className="mut">{crew(q)}</span>
                </div>
                {workers.error && !workers.data ? (
                  <Failed what="The workers could not be loaded" error={workers.error} retry={() => void workers.refetch()} />
                ) : of(q).length ? (
                  <WorkerCards workers={of(q)} />
                ) : (
                  <section className="card">
                    <p className="none">
                      No worker listens. Start one:{' '}
                      <code>
                        stoker agent daemon <span className="nw">--queue</span> {q.name}
                      </code>
                    </p>
                  </section>
                )}
              </>
            )
          )}
        </div>
        <NewQueue open={making} close={() => setMaking(false)} />
      </div>
    </Shell>
  );
}
