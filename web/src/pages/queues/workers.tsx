// All workers: how many are busy, free or lost, and each as a card with its task and queues.
import { IconSearch } from '@tabler/icons-react';
import { useMemo, useRef, useState } from 'react';
import { useWorkers } from '../../api/queries';
import { Shell } from '../../components/shell';
import { Empty, Failed, LoadingCards } from '../../components/states';
import { plural } from '../../lib/format';
import { useKeys } from '../../lib/keys';
import { WorkerCards } from './workercards';
import { workerState, type WorkerState } from './workerstate';
import './queues.css';

const STATES: WorkerState[] = ['busy', 'free', 'lost'];

export default function Workers() {
  const q = useWorkers();
  const [find, setFind] = useState('');
  const box = useRef<HTMLInputElement>(null);
  useKeys(useMemo(() => ({ '/': () => box.current?.focus() }), []));
  const all = q.data ?? [];
  const list = all
    .filter((w) =>
      `${w.id} ${w.task?.name ?? ''} ${(w.queues ?? []).map((x) => x.name).join(' ')}`.toLowerCase().includes(find.toLowerCase()),
    )
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const n = (s: WorkerState): number => all.filter((w) => workerState(w) === s).length;
  return (
    <Shell nav="workers" title="Workers" crumbs={[{ label: 'Workers' }]}>
      <div className="page">
        <div className="ptool">
          <h1>Workers</h1>
          <label className="search">
            <IconSearch size={14} stroke={1.6} />
            <input
              ref={box}
              value={find}
              onChange={(e) => setFind(e.target.value)}
              placeholder="Search workers, tasks, queues"
              aria-label="Search workers"
              onKeyDown={(e) => {
                if (e.key === 'Escape') {
                  setFind('');
                  e.currentTarget.blur();
                }
              }}
            />
            <kbd>/</kbd>
          </label>
          <span className="sp" />
          <span className="gsum">
            {STATES.filter((s) => n(s) > 0).map((s) => (
              <span key={s} className={`k-${s}`}>
                <i />
                {n(s)} {s}
              </span>
            ))}
          </span>
        </div>
        <div className="body">
          {q.isPending ? (
            <LoadingCards n={3} />
          ) : q.error && !q.data ? (
            <Failed what="The workers could not be loaded" error={q.error} retry={() => void q.refetch()} />
          ) : list.length ? (
            <WorkerCards workers={list} />
          ) : all.length ? (
            <Empty title="No worker matches">{plural(all.length, 'worker')} hidden by the search.</Empty>
          ) : (
            <Empty title="No worker reported in the last hour">
              Start one on any machine: <code>stoker agent daemon --queue default</code>. <code>stoker up</code> brings its own.
            </Empty>
          )}
        </div>
      </div>
    </Shell>
  );
}
