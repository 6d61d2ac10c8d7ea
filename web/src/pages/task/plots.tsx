// Plots a task sent: newest of each, drawn natively when heat map, table, lines, marks or bars; anything else is a card that says why.
import { IconDownload } from '@tabler/icons-react';
import { useMemo } from 'react';
import { usePlots } from '../../api/queries';
import type { PlotEvent, Task } from '../../api/types';
import { HeatMap } from '../../charts/figure/heatmap';
import { parseFigure } from '../../charts/figure/parse';
import { XYPlot } from '../../charts/figure/xy';
import { IconBtn } from '../../components/bits';
import { ErrorBoundary } from '../../components/errors';
import { Empty, Failed, LoadingCards } from '../../components/states';
import { saveText } from '../../lib/clipboard';
import { colorSlot } from '../../lib/color';
import { byName, formatBytes, formatCount } from '../../lib/format';
import './plots.css';

function Plot({ e, slot }: { e: PlotEvent; slot: number }) {
  const f = useMemo(() => parseFigure(e.plot_str, e.variant || e.metric), [e.plot_str, e.variant, e.metric]);
  const rows = f.kind === 'table' ? f.rows.slice(0, 500) : [];
  return (
    <article className={`card fig fig-${f.kind}`} aria-label={f.title}>
      <header>
        <h3 className="cut" title={f.title}>
          {f.title}
        </h3>
        <span className="mut small cut">{[...new Set([e.metric, e.variant])].filter((s) => s && s !== f.title).join('/')}</span>
        <span className="sp" />
        {e.iter !== undefined && <span className="mut small num-s nw">iteration {e.iter.toLocaleString('en')}</span>}
        <IconBtn
          label={`Save ${f.title} as JSON`}
          size={24}
          onClick={() => saveText(`${e.metric}-${e.variant}.json`.replace(/[^\w.-]+/g, '_'), e.plot_str ?? '', 'application/json')}
        >
          <IconDownload size={14} stroke={1.6} />
        </IconBtn>
      </header>
      <ErrorBoundary what="This plot">
        {f.kind === 'heat' && <HeatMap f={f} />}
        {f.kind === 'xy' && <XYPlot f={f} slot={slot} />}
        {f.kind === 'table' && (
          <div className="ftab" tabIndex={0} role="region" aria-label={f.title}>
            <table>
              <thead>
                <tr>
                  {f.head.map((h, i) => (
                    <th key={i} scope="col">
                      {h}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map((r, i) => (
                  <tr key={i}>
                    {r.map((c, j) => (
                      <td key={j} className={/^[-+]?[\d.,e+-]+$/.test(c) ? 'num' : ''}>
                        {c}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
            {f.rows.length > rows.length && <p className="none">{formatCount(f.rows.length - rows.length)} more rows in the JSON.</p>}
          </div>
        )}
        {f.kind === 'other' && (
          <p className="none">
            {f.why} <span className="mut">{formatBytes(e.plot_str?.length ?? e.plot_len ?? null)}</span>
          </p>
        )}
      </ErrorBoundary>
    </article>
  );
}

export default function Plots({ task: t }: { task: Task }) {
  const q = usePlots(t.id, t.status);
  const list = useMemo(() => [...(q.data ?? [])].sort((a, b) => byName(a.metric, b.metric) || byName(a.variant, b.variant)), [q.data]);
  if (q.isPending)
    return (
      <div className="body">
        <LoadingCards n={4} />
      </div>
    );
  if (q.error && !q.data)
    return (
      <div className="body">
        <Failed what="The plots could not be loaded" error={q.error} retry={() => void q.refetch()} />
      </div>
    );
  if (list.length === 0)
    return (
      <div className="body">
        <Empty title="No plots">
          They appear when the script calls <code>logger.report_confusion_matrix(…)</code>, <code>report_plotly(…)</code> or shows a
          Matplotlib figure.
        </Empty>
      </div>
    );
  return (
    <div className="body">
      <div className="figs">
        {list.map((e) => (
          <Plot key={`${e.metric} ${e.variant} ${e.iter ?? 0}`} e={e} slot={colorSlot(t.id)} />
        ))}
      </div>
    </div>
  );
}
