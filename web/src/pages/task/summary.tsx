// Summary: why it stands as it does, stage timeline, key metrics against the parent, what changed, artifacts, machine load.
import { IconAlertCircle } from '@tabler/icons-react';
import { useMemo } from 'react';
import { useTask, useTimeline } from '../../api/queries';
import { useScalars } from '../../api/scalars';
import type { Task } from '../../api/types';
import { thin, type Curve } from '../../charts/curves';
import { Mid, Spark } from '../../components/bits';
import { Empty } from '../../components/states';
import { colorSlot, runColor } from '../../lib/color';
import { formatNumber, inZone } from '../../lib/format';
import { betterIs, metricsOf, paramsOf, parentId, rankMetric, reasonOf, statusOf, whyWords, type Metric } from '../../lib/task';
import { Link, taskPath } from '../../router';
import { ArtifactCard } from './artifactcard';
import { ChangeCard } from './changes';
import { LastLines } from './lastlines';
import { Resources } from './resources';
import { StageBar } from './timeline';
import './summary.css';

function Why({ t, why }: { t: Task; why: { text?: string; exit_code?: number | null; signal?: number | string | null } | null }) {
  const s = statusOf(t);
  if (s !== 'failed' && s !== 'aborted') return null;
  const text = reasonOf(t) || whyWords(why?.text) || (s === 'failed' ? 'No reason was reported.' : 'Stopped by a user.');
  const facts = [
    why?.exit_code !== null && why?.exit_code !== undefined ? `exit code ${why.exit_code}` : '',
    why?.signal ? `signal ${why.signal}` : '',
  ]
    .filter(Boolean)
    .join(', ');
  return (
    <section className={`whybox w-${s}`} aria-label="Why">
      <IconAlertCircle size={16} stroke={1.8} />
      <div>
        <b>
          {s === 'failed' ? 'Failed' : 'Aborted'}
          {facts && `, ${facts}`}
        </b>
        <span className="mono">{text}</span>
      </div>
      <span className="sp" />
      <Link className="link nw" to={taskPath(t.project?.id ?? '*', t.id, 'console')}>
        Console
      </Link>
    </section>
  );
}
function KeyMetric({ m, old, curve, color }: { m: Metric; old: Metric | undefined; curve: Curve | undefined; color: number }) {
  const low = betterIs(m.key) === 'min';
  const best = low ? m.min : m.max,
    at = low ? m.minAt : m.maxAt;
  // Of a metric that never was a number nothing is best.
  const known = best !== null && !Number.isNaN(best);
  const d = old?.value !== null && old?.value !== undefined && m.value !== null ? m.value - old.value : null;
  const good = d !== null && d !== 0 && d > 0 !== low;
  return (
    <article className="card km">
      <div className="kh">
        <span className="kn" title={m.key}>
          <Mid>{m.key}</Mid>
        </span>
        {d !== null && (
          <em className={d === 0 ? '' : good ? 'up' : 'down'}>
            {d > 0 ? '+' : ''}
            {formatNumber(d)}
            <small> vs parent</small>
          </em>
        )}
      </div>
      <div className="kv">{formatNumber(m.value)}</div>
      <div className="ks">
        <Spark v={curve ? thin(curve.mean, 60) : []} w={240} h={40} color={runColor(color)} fill end />
      </div>
      <div className="kf">
        {m.single ? (
          <span>one value for the run</span>
        ) : (
          <>
            <span>
              best <b>{formatNumber(known ? best : null)}</b>
            </span>
            <span>{known ? `at ${at.toLocaleString('en')}` : ''}</span>
          </>
        )}
      </div>
    </article>
  );
}

export default function Summary({ task: t }: { task: Task }) {
  const timeline = useTimeline(t.id, t.status);
  const scalars = useScalars(t.id, 'iter', t.status);
  const pid = parentId(t);
  const parent = useTask(pid ?? t.id);
  const base = pid ? parent.data : undefined;
  const metrics = useMemo(
    () =>
      metricsOf(t)
        .sort((a, b) => rankMetric(a.key) - rankMetric(b.key))
        .slice(0, 4),
    [t],
  );
  const old = useMemo(() => new Map(base ? metricsOf(base).map((m) => [m.key, m]) : []), [base]);
  const curves = useMemo(() => new Map((scalars.data?.curves ?? []).map((c) => [`${c.metric}\u0000${c.variant}`, c])), [scalars.data]);
  const arts = (t.execution?.artifacts?.length ?? 0) + (t.models?.input?.length ?? 0) + (t.models?.output?.length ?? 0) > 0;
  const blank = t.status === 'created' && !t.started && !pid && !arts && !t.comment && metrics.length === 0 && paramsOf(t).size === 0;
  if (blank)
    return (
      <div className="body">
        <Empty title="Nothing is recorded yet">
          This draft has no parameters. Enqueue it and its stages, metrics and console appear here.
        </Empty>
      </div>
    );
  return (
    <div className="body grid12">
      <Why t={t} why={timeline.data?.why ?? null} />
      <StageBar t={t} data={timeline.data ?? null} />
      {metrics.length > 0 && (
        <section className="kms" aria-label="Key metrics">
          {metrics.map((m) => (
            <KeyMetric key={m.key} m={m} old={old.get(m.key)} curve={curves.get(`${m.metric}\u0000${m.variant}`)} color={colorSlot(t.id)} />
          ))}
        </section>
      )}
      <ChangeCard t={t} parent={base ?? null} cls={arts ? 'half' : ''} />
      {arts && <ArtifactCard t={t} />}
      <LastLines t={t} />
      <Resources curves={scalars.data?.curves ?? []} />
      {t.comment && (
        <section className="card">
          <div className="ch">
            <h2>Description</h2>
          </div>
          <p className="comment">{inZone(t.comment)}</p>
        </section>
      )}
    </div>
  );
}
