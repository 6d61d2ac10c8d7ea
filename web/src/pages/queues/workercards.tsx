// A worker as a card: busy with what and for how long, free, or lost, in words as well as colour.
import { IconAlertTriangle } from '@tabler/icons-react';
import { useTasksById } from '../../api/queries';
import { useWorkerLoads, type Load } from '../../api/workerload';
import type { Worker } from '../../api/types';
import { Ago, Bar, Dot } from '../../components/bits';
import { colorSlot } from '../../lib/color';
import { formatDuration, formatNumber, parseTime } from '../../lib/format';
import { progressOf } from '../../lib/task';
import { path } from '../../lib/url';
import { Link, taskPath } from '../../router';
import { workerState, type WorkerState } from './workerstate';

const WORD: Record<WorkerState, string> = { busy: 'Busy', free: 'Free', lost: 'Lost' };

/** What the machine does: numbers for all, a bar for each GPU. */
function LoadLine({ load }: { load: Load }) {
  const gb = (mb: number): string => formatNumber(mb / 1024, 3);
  return (
    <div className="wload" aria-label="Machine load">
      <span>
        CPU <b>{Math.round(load.cpu)} %</b>
      </span>
      <span title="used memory of all">
        RAM <b>{gb(load.used)}</b> of {gb(load.total)} GiB
      </span>
      {load.gpus.map((g) => (
        <span key={g.name} className="wgpu">
          {g.name} <Bar pct={Math.min(100, g.usage)} label={`${g.name} in use`} /> <b>{Math.round(g.usage)} %</b>
        </span>
      ))}
    </div>
  );
}

export function WorkerCards({ workers }: { workers: Worker[] }) {
  const loads = useWorkerLoads(workers.length > 0);
  const tasks = useTasksById(workers.map((w) => w.task?.id ?? '').filter(Boolean));
  return (
    <div className="wcards">
      {workers.map((w) => {
        const st = workerState(w),
          t = w.task?.id ? tasks.data?.get(w.task.id) : undefined,
          pct = t ? progressOf(t) : null;
        const seen = Math.max(parseTime(w.last_activity_time) || 0, parseTime(w.last_report_time) || 0);
        const load = st === 'lost' ? undefined : loads.data?.get(w.id);
        const since = t ? parseTime(t.started) : NaN;
        return (
          <section key={w.id} className={`card wcard w-${st}`} aria-label={`${w.id}, ${WORD[st]}`}>
            <header>
              <b className="cut" title={w.id}>
                {w.id}
              </b>
              <span className="sp" />
              <span className={`wst k-${st}`}>
                <i />
                {WORD[st]}
              </span>
            </header>
            {w.task?.id ? (
              <div className="wtask">
                <Dot c={colorSlot(w.task.id)} />
                <Link className="cut" to={taskPath(w.project?.id ?? '*', w.task.id)}>
                  {w.task.name ?? t?.name ?? w.task.id}
                </Link>
                {pct !== null && (
                  <>
                    <Bar pct={pct} />
                    <span className="num-s small">{Math.round(pct)} %</span>
                  </>
                )}
              </div>
            ) : (
              <div className="wtask mut">{st === 'lost' ? 'It held no task' : 'Waits for work'}</div>
            )}
            {load && <LoadLine load={load} />}
            <footer>
              <span className="cut">
                {(w.queues ?? []).map((q, i) => (
                  <span key={q.id}>
                    {i > 0 && ', '}
                    <Link to={path('queues', q.id)}>{q.name ?? q.id}</Link>
                  </span>
                ))}
              </span>
              <span className="sp" />
              {st === 'lost' ? (
                <span className="nw err">
                  <IconAlertTriangle size={12} stroke={1.8} /> seen <Ago t={seen} />
                </span>
              ) : (
                <span className="nw">
                  {Number.isFinite(since) ? (
                    `for ${formatDuration(Date.now() - since)}`
                  ) : (
                    <>
                      seen <Ago t={seen} />
                    </>
                  )}
                </span>
              )}
            </footer>
          </section>
        );
      })}
    </div>
  );
}
