// Lines, marks and bars of a figure as SVG, in the page's own look: nice ticks, run colours, values in tool tips.
import { useMemo } from 'react';
import { runColor } from '../../lib/color';
import { formatNumber, formatTick } from '../../lib/format';
import type { XYFigure } from './parse';
import { niceTicks } from './ticks';

const W = 640,
  H = 300,
  L = 52,
  R = 12,
  T = 10,
  B = 28;

export function XYPlot({ f, slot }: { f: XYFigure; slot: number }) {
  const g = useMemo(() => {
    const bars = f.traces.some((t) => t.mode === 'bar');
    const words = f.traces.some((t) => t.x.some((v) => typeof v === 'string'));
    const cats = words || bars ? [...new Set(f.traces.flatMap((t) => t.x.map(String)))] : null;
    const xv = (v: number | string): number => (cats ? cats.indexOf(String(v)) : Number(v));
    const xs = f.traces.flatMap((t) => t.x.map(xv)),
      ys = f.traces.flatMap((t) => t.y.filter((v): v is number => v !== null));
    const min = (a: number[]): number => a.reduce((p, q) => Math.min(p, q), Infinity),
      max = (a: number[]): number => a.reduce((p, q) => Math.max(p, q), -Infinity);
    let x0 = cats ? -0.5 : min(xs),
      x1 = cats ? cats.length - 0.5 : max(xs),
      y0 = bars ? Math.min(0, min(ys)) : min(ys),
      y1 = max(ys);
    if (x0 === x1) {
      x0 -= 0.5;
      x1 += 0.5;
    }
    if (y0 === y1) {
      y0 -= 0.5;
      y1 += 0.5;
    }
    const pad = (y1 - y0) * 0.05;
    if (!bars || y0 < 0) y0 -= pad;
    y1 += pad;
    return {
      cats,
      xv,
      px: (v: number): number => L + ((v - x0) / (x1 - x0)) * (W - L - R),
      py: (v: number): number => H - B - ((v - y0) / (y1 - y0)) * (H - T - B),
      xt: cats ? [] : niceTicks(x0, x1, 6),
      yt: niceTicks(y0, y1),
      y0,
      nBars: f.traces.filter((t) => t.mode === 'bar').length,
    };
  }, [f]);
  const every = g.cats ? Math.ceil(g.cats.length / 14) : 1;
  let bar = -1;
  return (
    <div className="xy">
      {f.traces.length > 1 && (
        <div className="lg">
          {f.traces.map((t, i) => (
            <span key={i}>
              <i style={{ background: runColor(slot + i) }} />
              {t.name || `series ${i + 1}`}
            </span>
          ))}
        </div>
      )}
      <svg
        viewBox={`0 0 ${W} ${H}`}
        role="img"
        aria-label={`${f.title}: ${f.traces.length} series${f.yTitle ? `, ${f.yTitle}` : ''}${f.xTitle ? ` against ${f.xTitle}` : ''}`}
      >
        {g.yt.map((v) => (
          <g key={v}>
            <line x1={L} x2={W - R} y1={g.py(v)} y2={g.py(v)} className="gl" />
            <text x={L - 6} y={g.py(v) + 4} textAnchor="end">
              {formatTick(v)}
            </text>
          </g>
        ))}
        {g.xt.map((v) => (
          <g key={v}>
            <line x1={g.px(v)} x2={g.px(v)} y1={T} y2={H - B} className="gl" />
            <text x={g.px(v)} y={H - B + 16} textAnchor="middle">
              {formatTick(v)}
            </text>
          </g>
        ))}
        {g.cats?.map(
          (c, i) =>
            i % every === 0 && (
              <text key={c} x={g.px(i)} y={H - B + 16} textAnchor="middle">
                {c.length > 12 ? `${c.slice(0, 11)}…` : c}
              </text>
            ),
        )}
        {f.traces.map((t, i) => {
          const color = runColor(slot + i);
          if (t.mode === 'bar') {
            bar++;
            const slotW = g.px(1) - g.px(0),
              w = (slotW * 0.8) / g.nBars,
              off = bar;
            return (
              <g key={i} fill={color}>
                {t.y.map(
                  (v, k) =>
                    v !== null && (
                      <rect
                        key={k}
                        x={g.px(g.xv(t.x[k] ?? 0)) - slotW * 0.4 + off * w}
                        width={Math.max(0.5, w - 1)}
                        y={Math.min(g.py(v), g.py(Math.max(0, g.y0)))}
                        height={Math.abs(g.py(v) - g.py(Math.max(0, g.y0)))}
                      >
                        <title>{`${String(t.x[k])}: ${formatNumber(v)}`}</title>
                      </rect>
                    ),
                )}
              </g>
            );
          }
          const d = t.y
            .map((v, k) =>
              v === null ? '' : `${k === 0 || t.y[k - 1] === null ? 'M' : 'L'}${g.px(g.xv(t.x[k] ?? 0)).toFixed(1)} ${g.py(v).toFixed(1)}`,
            )
            .join('');
          return (
            <g key={i}>
              {t.mode !== 'marks' && <path d={d} fill="none" stroke={color} strokeWidth="1.5" strokeLinejoin="round" />}
              {t.mode !== 'line' &&
                t.y.slice(0, 5000).map(
                  (v, k) =>
                    v !== null && (
                      <circle key={k} cx={g.px(g.xv(t.x[k] ?? 0))} cy={g.py(v)} r="2.5" fill={color}>
                        <title>{`${String(t.x[k])}, ${formatNumber(v)}`}</title>
                      </circle>
                    ),
                )}
            </g>
          );
        })}
        {f.xTitle && (
          <text x={(L + W - R) / 2} y={H - 1} textAnchor="middle" className="at">
            {f.xTitle}
          </text>
        )}
      </svg>
    </div>
  );
}
