// The stage bar: queued, environment, running … with how long each took; widths on a log scale so that short stages stay visible.
import { useEffect, useState } from 'react';
import type { Task, Timeline } from '../../api/types';
import { formatClock, formatDate, formatDuration } from '../../lib/format';
import { fromTask, inOrder, part, type Part } from './stages';

function tone(st: Part): string {
  if (!st.ok) return 'x';
  const n = st.name.toLowerCase();
  if (/queue|wait/.test(n)) return 'q';
  if (/run|train|exec|start/.test(n)) return 'r';
  if (/env|pack|install|python/.test(n)) return 'e';
  return 'p';
}
const title = (s: string): string => s.charAt(0).toUpperCase() + s.slice(1).replace(/_/g, ' ');

export function StageBar({ t, data }: { t: Task; data: Timeline | null }) {
  const found = (data?.stages?.length ? data.stages : fromTask(t)).map(part).filter((s) => s !== null);
  const stages = inOrder(found).filter((s) => s.ended === null || s.ended > s.started || !s.ok);
  const live = stages.some((s) => !s.ended) && (t.status === 'in_progress' || t.status === 'queued');
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!live) return;
    const id = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(id);
  }, [live]);
  if (stages.length === 0) return null;
  // A stage that did not end well: who stops a run makes it no failure.
  const ended = t.status === 'stopped' ? 'aborted' : 'failed';
  const ms = (s: Part): number => Math.max(0, (s.ended ?? now) - s.started);
  return (
    <section className="card tl" aria-label="Stage timeline">
      <div className="tlh">
        <h2>Timeline</h2>
        <span className="mut">
          {formatDuration(stages.reduce((a, s) => a + ms(s), 0))} in all<span className="hide-s"> · widths on a log scale</span>
        </span>
      </div>
      <div className="tlbar">
        {stages.map((s, i) => (
          <div
            key={i}
            className={`seg seg-${!s.ok && ended === 'aborted' ? 'a' : tone(s)}`}
            style={{ flexGrow: 1 + Math.log2(1 + ms(s) / 1000) }}
            title={[s.detail, formatDate(s.started)].filter(Boolean).join('\n')}
          >
            <i />
            <div className="sl">
              <b>{title(s.name)}</b>
              <span className="num-s">{formatDuration(ms(s))}</span>
            </div>
            <small className="cut">
              {formatClock(s.started)}
              {s.ok ? '' : ` · ${ended}`}
              {s.detail ? ` · ${s.detail}` : ''}
            </small>
          </div>
        ))}
      </div>
    </section>
  );
}
