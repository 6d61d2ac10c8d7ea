// One console line: number, time, text as spans with search hits marked; a folded progress bar is drawn as a bar.
import { memo, type ReactNode } from 'react';
import { parseAnsi, type Span } from '../../lib/ansi';
import { formatClock, formatDate, formatDuration } from '../../lib/format';
import type { LogRow } from '../../lib/logfold';
import { safeHref } from '../../lib/url';

export type Stamp = 'clock' | 'elapsed' | 'off';
const URL_RE = /https?:\/\/[^\s"'<>()[\]{}]+[^\s"'<>()[\]{}.,;:!?]/g;

/** Cuts the spans of a line at the search hits. */
export function markHits(spans: Span[], find: string): Array<Span & { hit: boolean }> {
  if (!find) return spans.map((s) => ({ ...s, hit: false }));
  const text = spans
      .map((s) => s.text)
      .join('')
      .toLowerCase(),
    w = find.toLowerCase();
  const cuts: Array<[number, number]> = [];
  for (let i = text.indexOf(w); i >= 0; i = text.indexOf(w, i + w.length)) cuts.push([i, i + w.length]);
  const out: Array<Span & { hit: boolean }> = [];
  let at = 0;
  for (const s of spans) {
    let rest = s.text;
    while (rest) {
      const inside = cuts.find(([a, b]) => at >= a && at < b),
        next = cuts.find(([a]) => a > at);
      const n = Math.min(rest.length, inside ? inside[1] - at : next ? next[0] - at : rest.length);
      out.push({ text: rest.slice(0, n), cls: s.cls, hit: !!inside });
      rest = rest.slice(n);
      at += n;
    }
  }
  return out;
}
function links(text: string): ReactNode {
  if (!text.includes('://')) return text;
  const out: ReactNode[] = [];
  let at = 0;
  for (const m of text.matchAll(URL_RE)) {
    const href = safeHref(m[0]);
    if (!href) continue;
    out.push(
      text.slice(at, m.index),
      <a key={m.index} className="a-u" href={href} target="_blank" rel="noopener noreferrer" tabIndex={-1}>
        {m[0]}
      </a>,
    );
    at = m.index + m[0].length;
  }
  out.push(text.slice(at));
  return out;
}

export const Line = memo(function Line({
  row: r,
  stamp,
  t0,
  find,
  current,
  onMark,
}: {
  row: LogRow;
  stamp: Stamp;
  t0: number;
  find: string;
  current: boolean;
  onMark: (n: number) => void;
}) {
  const { line } = r;
  const ts =
    stamp === 'off' ? '' : stamp === 'clock' ? formatClock(line.t) : Number.isFinite(t0) ? formatDuration(Math.max(0, line.t - t0)) : '';
  const p = r.progress;
  const text =
    p && !(find && r.plain.toLowerCase().includes(find.toLowerCase())) ? (
      <>
        <span className="a-c">{p.before || 'progress'}</span> {String(p.pct).padStart(3)} %
        <span className="pbar" aria-hidden>
          <i style={{ width: `${p.pct}%` }} />
        </span>
        {p.after.replace(/\[.*$/, '')}
        <span className="a-d">{/\[.*$/.exec(p.after)?.[0] ?? ''}</span>
        {r.folded > 0 && <span className="fold">{r.folded} updates folded</span>}
      </>
    ) : (
      markHits(parseAnsi(line.text), find).map((s, i) =>
        s.hit ? (
          <mark key={i} className={current ? 'cur' : ''}>
            {s.text}
          </mark>
        ) : (
          <span key={i} className={s.cls || undefined}>
            {links(s.text)}
          </span>
        ),
      )
    );
  return (
    <>
      <span className="no" title="Link to this line" onClick={() => onMark(line.n)}>
        {line.n.toLocaleString('en')}
      </span>
      <span className="ts" title={formatDate(line.t)}>
        {ts}
      </span>
      <span className="tx">{text}</span>
    </>
  );
});
