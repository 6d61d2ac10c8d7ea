// One project as a card: name, what is inside, a bar of its tasks by status, run time and last run.
import type { Project } from '../../api/types';
import { Ago, statusLabel } from '../../components/bits';
import { formatDuration, parseTime, plural } from '../../lib/format';
import { statusOf, type Status } from '../../lib/task';
import { Link } from '../../router';
import './projects.css';

const ORDER: Status[] = ['running', 'queued', 'failed', 'aborted', 'completed', 'published', 'draft'];

/** Task counts in our words; several API states may fall into one. */
export function countsOf(p: Project): Array<[Status, number]> {
  const sum = new Map<Status, number>();
  for (const [k, n] of Object.entries(p.stats?.active?.status_count ?? {})) {
    if (!n) continue;
    const s = statusOf({ status: k as never });
    sum.set(s, (sum.get(s) ?? 0) + n);
  }
  return ORDER.filter((s) => sum.has(s)).map((s) => [s, sum.get(s) ?? 0]);
}
export const totalOf = (p: Project): number => p.stats?.active?.total_tasks ?? countsOf(p).reduce((a, [, n]) => a + n, 0);

export function ProjectCard({ p, to, name = p.name, children: subs = 0 }: { p: Project; to: string; name?: string; children?: number }) {
  const counts = countsOf(p),
    total = totalOf(p);
  const slash = name.lastIndexOf('/');
  return (
    <Link className="card pcard" to={to}>
      <div className="pc1">
        <b title={p.name}>
          {slash >= 0 && <i>{name.slice(0, slash + 1)}</i>}
          <span>{name.slice(slash + 1)}</span>
        </b>
        {subs > 0 && <span className="mut small">{plural(subs, 'project')} inside</span>}
      </div>
      <div className="pc2" aria-hidden>
        {counts.map(([s, n]) => (
          <i key={s} style={{ flexGrow: n, background: `var(--st-${s})` }} />
        ))}
      </div>
      <div className="pc3">
        {total === 0 ? (
          <span className="mut">no tasks</span>
        ) : (
          counts.slice(0, 4).map(([s, n]) => (
            <span key={s} className={`st-${s}`}>
              <b className="num-s">{n.toLocaleString('en')}</b> {statusLabel(s).toLowerCase()}
            </span>
          ))
        )}
      </div>
      <div className="pc4">
        <span className="num-s">
          {plural(total, 'task')}
          {p.stats?.active?.total_runtime ? ` · ${formatDuration(p.stats.active.total_runtime * 1000)} run time` : ''}
        </span>
        <span className="sp" />
        <Ago t={parseTime(p.stats?.active?.last_task_run ?? p.last_update)} />
      </div>
    </Link>
  );
}
