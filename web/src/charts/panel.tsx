// A chart as a card: title, legend, full screen, plot, foot note. The plot exists only near the view port.
import { Modal } from '@mantine/core';
import { IconArrowsMaximize, IconDownload } from '@tabler/icons-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { IconBtn, Mid } from '../components/bits';
import { saveText } from '../lib/clipboard';
import { runColor } from '../lib/color';
import { csv } from '../lib/csv';
import { formatNumber, plural } from '../lib/format';
import { Chart, type Line, type XKind } from './chart';
import { footNote, ODD, oddWords, positive } from './curves';

interface PanelProps {
  title: string;
  lines: Line[];
  of: number;
  log: boolean;
  band: boolean;
  weight: number;
  x: XKind;
  t0: number;
}

/** True once the element has come within a screen of the view port. */
function useNear(): [React.RefObject<HTMLDivElement | null>, boolean] {
  const ref = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState(false);
  useEffect(() => {
    const el = ref.current;
    if (!el) return;
    const io = new IntersectionObserver(
      (es) => {
        const last = es[es.length - 1];
        if (last) setNear(last.isIntersecting);
      },
      { rootMargin: '600px' },
    );
    io.observe(el);
    return () => io.disconnect();
  }, []);
  return [ref, near];
}
function Legend({ lines }: { lines: Line[] }) {
  return (
    <div className="lg">
      {lines.length > 1 &&
        lines.map((l) => (
          <span key={l.curve.key} title={l.label}>
            <i style={{ background: runColor(l.color) }} />
            {l.label}
          </span>
        ))}
    </div>
  );
}
export function exportCurves(title: string, lines: Line[]): void {
  const rows = lines.flatMap((l) =>
    l.curve.x.map((x, i) => [
      l.curve.metric,
      l.curve.variant,
      String(x),
      String(l.curve.mean[i] ?? (l.curve.nan[i] ? 'NaN' : l.curve.up[i] ? 'Infinity' : l.curve.down[i] ? '-Infinity' : '')),
      String(l.curve.min[i] ?? ''),
      String(l.curve.max[i] ?? ''),
      ...ODD.map((o) => String(l.curve[o.key][i] ?? 0)),
    ]),
  );
  saveText(
    `${title.replace(/[^\w.-]+/g, '_')}.csv`,
    csv([['metric', 'variant', 'x', 'mean', 'min', 'max', 'nan', 'plus_infinity', 'minus_infinity'], ...rows]),
    'text/csv',
  );
}

export function Panel(p: PanelProps) {
  const [ref, near] = useNear();
  const [full, setFull] = useState(false);
  const note = useMemo(() => footNote(p.lines.map((l) => l.curve)), [p.lines]);
  const hidden = p.log ? p.lines.reduce((a, l) => a + positive(l.curve.mean).hidden, 0) : 0;
  const many = p.lines.length < p.of ? `, ${p.lines.length} of ${plural(p.of, 'curve')}` : '';
  const odd = oddWords(note.odd);
  const sentence = `${p.title}: ${note.text}${many}${odd && `, ${odd}`}. Last ${p.lines
    .map((l) => `${l.label} ${formatNumber(l.curve.last)}`)
    .slice(0, 6)
    .join(', ')}`;
  const chart = (sync: string | null) => (
    <Chart lines={p.lines} log={p.log} band={p.band} weight={p.weight} sync={sync} x={p.x} t0={p.t0} />
  );
  const foot = (
    <footer>
      <span>
        {note.text}
        {many}
      </span>
      {ODD.filter((o) => note.odd[o.key] > 0).map((o) => (
        <span key={o.key} className="nan" title={`${note.odd[o.key].toLocaleString('en')} times ${o.words}`}>
          <i aria-hidden>{o.mark}</i>
          {note.odd[o.key].toLocaleString('en')} <span aria-hidden={o.short !== o.words}>{o.short}</span>
          {o.short !== o.words && <span className="vh">{o.words}</span>}
        </span>
      ))}
      {hidden > 0 && <span className="nan">{hidden.toLocaleString('en')} not above 0, not drawn</span>}
    </footer>
  );
  return (
    <article className="card panel" aria-label={sentence}>
      <header>
        <h3 title={p.title}>
          <Mid>{p.title}</Mid>
        </h3>
        {p.log && <span className="axis">log y</span>}
        <Legend lines={p.lines} />
        <IconBtn label={`Save ${p.title} as CSV`} size={24} onClick={() => exportCurves(p.title, p.lines)}>
          <IconDownload size={14} stroke={1.6} />
        </IconBtn>
        <IconBtn label={`Full screen ${p.title}`} size={24} onClick={() => setFull(true)}>
          <IconArrowsMaximize size={14} stroke={1.6} />
        </IconBtn>
      </header>
      <div ref={ref} className="plotbox" role="img" aria-label={sentence}>
        {near && !full && chart('wall')}
      </div>
      {foot}
      <Modal
        opened={full}
        onClose={() => setFull(false)}
        size="90vw"
        title={p.title}
        lockScroll={false}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <div className="panel fullplot">
          <Legend lines={p.lines} />
          <div role="img" aria-label={sentence}>
            {full && chart(null)}
          </div>
          {foot}
        </div>
      </Modal>
    </article>
  );
}
