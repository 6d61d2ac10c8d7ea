// The end of the console on the summary: often the whole answer to "why".
import { useMemo } from 'react';
import { useLogTail } from '../../api/queries';
import type { Task } from '../../api/types';
import { Failed } from '../../components/states';
import { parseAnsi } from '../../lib/ansi';
import { foldLog } from '../../lib/logfold';
import { Link, taskPath } from '../../router';
import './console.css';

export function LastLines({ t }: { t: Task }) {
  const q = useLogTail(t.id, t.status, 40);
  const rows = useMemo(() => foldLog(q.data ?? [], true).slice(-8), [q.data]);
  if (q.error && !q.data) return <Failed what="The last lines could not be loaded" error={q.error} retry={() => void q.refetch()} />;
  if (rows.length === 0) return null;
  return (
    <section className="card">
      <div className="ch">
        <h2>Last lines</h2>
        <span className="sp" />
        <Link className="full" to={taskPath(t.project?.id ?? '*', t.id, 'console')}>
          Console
        </Link>
      </div>
      <pre className="tail" tabIndex={0}>
        {rows.map((r, i) => (
          <span key={i} className={r.mark}>
            {parseAnsi(r.line.text).map((s, k) => (
              <span key={k} className={s.cls || undefined}>
                {s.text}
              </span>
            ))}
            {'\n'}
          </span>
        ))}
      </pre>
    </section>
  );
}
