// One uPlot chart: min–max band, mean line, gaps with marks for NaN and infinite values, cross-hair shared over the wall, tip or values below.
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { cssToken } from '../lib/color';
import { DASHES, dashes } from '../lib/cvd';
import { formatClock, formatDate, formatDuration, formatNumber, formatSpan, formatTick } from '../lib/format';
import { useScheme } from '../lib/scheme';
import { align, lonePoints, ODD, oddMarks, oddOf, positive, smooth, type Cell, type Curve, type OddCounts } from './curves';
import './chart.css';

export type XKind = 'iter' | 'time' | 'clock';
export interface Line {
  curve: Curve;
  color: number;
  label: string;
}
export interface ChartProps {
  lines: Line[];
  log: boolean;
  band: boolean;
  weight: number;
  sync: string | null;
  x: XKind;
  t0?: number;
}
interface Drawn {
  line: Line;
  mean: Cell[];
  min: Cell[];
  max: Cell[];
  raw: Cell[] | null;
  odd: Record<keyof OddCounts, Cell[]>;
}

const alpha = (hex: string, a: number): string =>
  hex +
  Math.round(a * 255)
    .toString(16)
    .padStart(2, '0');
/** Steps of an axis in ms: whole seconds, minutes, hours, days. */
const MS_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map(
  (s) => s * 1000,
);
const FONT = "11px 'Inter Variable', sans-serif";

function prepare(p: ChartProps): { x: number[]; drawn: Drawn[] } {
  const pos = (y: Array<number | null>): Array<number | null> => (p.log ? positive(y).y : y);
  // Elapsed time counts from the start, so that its ticks are round.
  const parts = p.lines.map((l) => ({
    x: p.x === 'time' ? l.curve.x.map((v) => v - (p.t0 ?? 0)) : l.curve.x,
    cols: [pos(smooth(l.curve.mean, p.weight)), pos(l.curve.min), pos(l.curve.max), pos(l.curve.mean), ...ODD.map((o) => l.curve[o.key])],
  }));
  const a = align(parts);
  return {
    x: a.x,
    drawn: p.lines.map((line, i) => {
      const c = a.cols[i] ?? [];
      const odd = { nan: c[4] ?? [], up: c[5] ?? [], down: c[6] ?? [] };
      return { line, mean: c[0] ?? [], min: c[1] ?? [], max: c[2] ?? [], raw: p.weight > 0 ? (c[3] ?? []) : null, odd };
    }),
  };
}

/** Value of a curve at a shared x: its own bucket, else the last one before. */
function nearest(col: Cell[], i: number): number | null | undefined {
  for (let k = i; k >= 0 && k > i - 64; k--) if (col[k] !== undefined) return col[k];
  return undefined;
}

function paintTip(
  el: HTMLElement,
  title: string,
  rows: Array<{ color: number; label: string; v: number | null; lo: number | null; hi: number | null; odd: OddCounts }>,
): void {
  el.replaceChildren();
  const h = document.createElement('div');
  h.className = 'tip-h';
  h.textContent = title;
  el.append(h);
  for (const r of rows.slice(0, 12)) {
    const d = document.createElement('div'),
      sw = document.createElement('i'),
      n = document.createElement('span'),
      v = document.createElement('b'),
      m = document.createElement('small');
    d.className = 'tip-r';
    sw.style.background = `var(--run${r.color})`;
    n.textContent = r.label;
    const odd = oddOf(r.odd, r.v === null);
    const range = r.lo === null || r.hi === null || r.lo === r.hi ? '' : `${formatNumber(r.lo)} – ${formatNumber(r.hi)}`;
    v.textContent = odd.value || formatNumber(r.v);
    m.textContent = [range, odd.also].filter(Boolean).join(' · ');
    d.append(sw, n, v, m);
    el.append(d);
  }
  if (rows.length > 12) {
    const d = document.createElement('div');
    d.className = 'tip-h';
    d.textContent = `+${rows.length - 12} more`;
    el.append(d);
  }
}

export function Chart(p: ChartProps) {
  const ref = useRef<HTMLDivElement>(null);
  const zoom = useRef<{ min: number; max: number } | null>(null);
  const scheme = useScheme();
  const { lines, log, band, weight, sync, x: xkind, t0 = 0 } = p;
  useEffect(() => {
    const el = ref.current;
    if (!el) return;
    const { x, drawn } = prepare({ lines, log, band, weight, sync, x: xkind, t0 });
    const tx3 = cssToken('--tx3'),
      grid = cssToken('--grid');
    const xTick = (v: number): string =>
      xkind === 'iter' ? formatTick(v) : xkind === 'clock' ? formatClock(v).slice(0, 5) : formatSpan(v);
    const xTitle = (v: number): string =>
      xkind === 'iter' ? `iteration ${v.toLocaleString('en')}` : xkind === 'clock' ? formatDate(v) : `after ${formatDuration(v)}`;

    const series: uPlot.Series[] = [{}];
    const bands: uPlot.Band[] = [];
    const data: Cell[][] = [x];
    const dots = new Map<number, number>();
    const dash = dashes(drawn.map((d) => cssToken(`--run${d.line.color}`)));
    drawn.forEach((d, i) => {
      const c = cssToken(`--run${d.line.color}`);
      if (band && d.line.curve.band) {
        // The edges are drawn thin: a spike of one bucket is too narrow for a pale area to be seen.
        const edge = { stroke: alpha(c, 0.5), width: 1, spanGaps: false, pxAlign: 0, points: { show: false } };
        series.push(edge, { ...edge });
        data.push(d.min, d.max);
        bands.push({ series: [series.length - 1, series.length - 2], fill: alpha(c, 0.2) });
      }
      if (d.raw) {
        series.push({ stroke: alpha(c, 0.35), width: 1, spanGaps: false, pxAlign: 0, points: { show: false } });
        data.push(d.raw);
      }
      const lone = lonePoints(d.mean);
      series.push({
        stroke: c,
        width: 1.5,
        dash: DASHES[dash[i] ?? 0] ?? [],
        spanGaps: false,
        pxAlign: 0,
        points: { show: false, filter: () => lone, size: 5, fill: c },
      });
      data.push(d.mean);
      dots.set(series.length - 1, d.line.color);
    });
    const tip = document.createElement('div');
    tip.className = 'tip';
    tip.hidden = true;
    el.append(tip);
    let hovered = false;
    const enter = (): void => {
      hovered = true;
    };
    const leave = (): void => {
      hovered = false;
      tip.hidden = true;
    };
    el.addEventListener('pointerenter', enter);
    el.addEventListener('pointerleave', leave);

    const showTip = (u: uPlot): void => {
      const i = u.cursor.idx;
      if (!hovered || i === null || i === undefined || (u.cursor.left ?? -1) < 0) {
        tip.hidden = true;
        return;
      }
      const val = (v: number | null | undefined): number | null => v ?? null;
      const rows = drawn
        .map((d) => ({
          color: d.line.color,
          label: d.line.label,
          at: nearest(d.mean, i),
          lo: val(nearest(d.min, i)),
          hi: val(nearest(d.max, i)),
          odd: { nan: nearest(d.odd.nan, i) ?? 0, up: nearest(d.odd.up, i) ?? 0, down: nearest(d.odd.down, i) ?? 0 },
        }))
        .filter((r) => r.at !== undefined)
        .map((r) => ({ ...r, v: val(r.at) }))
        .sort((a, b) => (b.v ?? -Infinity) - (a.v ?? -Infinity));
      paintTip(tip, xTitle(x[i] ?? 0), rows);
      tip.hidden = false;
      const left = (u.cursor.left ?? 0) + u.bbox.left / devicePixelRatio,
        w = tip.offsetWidth;
      tip.style.left = `${left + 12 + w > el.clientWidth ? Math.max(0, left - w - 12) : left + 12}px`;
      tip.style.top = '8px';
    };
    /** NaN fills a triangle on the axis; an infinite value leaves one at the edge that it went through, pointing there. */
    const drawOdd = (u: uPlot): void => {
      const { ctx } = u,
        { left, top, width, height } = u.bbox,
        k = devicePixelRatio;
      const triangle = (px: number, base: number, tip: number): void => {
        ctx.beginPath();
        ctx.moveTo(px - 5 * k, base);
        ctx.lineTo(px + 5 * k, base);
        ctx.lineTo(px, tip);
        ctx.closePath();
      };
      const bottom = top + height;
      for (const d of drawn) {
        const { curve, color } = d.line;
        ctx.fillStyle = ctx.strokeStyle = cssToken(`--run${color}`);
        ctx.lineWidth = 1.25 * k;
        for (const { key } of ODD)
          for (const v of oddMarks(curve.x, curve[key])) {
            const px = u.valToPos(xkind === 'time' ? v - t0 : v, 'x', true);
            if (px < left || px > left + width) continue;
            if (key === 'up') triangle(px, top + 8 * k, top + k);
            else if (key === 'down') triangle(px, bottom - 8 * k, bottom - k);
            else triangle(px, bottom - k, bottom - 8 * k);
            if (key === 'nan') ctx.fill();
            else ctx.stroke();
          }
      }
    };
    const point = (_u: uPlot, i: number): HTMLElement | undefined => {
      const color = dots.get(i);
      if (color === undefined) return undefined;
      const e = document.createElement('div');
      e.style.cssText = `width:7px;height:7px;margin:-3.5px 0 0 -3.5px;background:var(--run${color});border:1.5px solid var(--surface)`;
      return e;
    };
    // Without a single number there is no range: the axis keeps its place and says nothing.
    const nothing = drawn.every((d) => d.mean.every((v) => v === null || v === undefined));
    const axis = { stroke: tx3, font: FONT, grid: { stroke: grid, width: 1 }, ticks: { show: false }, border: { show: false } };
    const nice = (v: number): boolean => [1, 2, 5].includes(Math.round(v / 10 ** Math.floor(Math.log10(v) + 1e-9)));
    const logFilter = (_u: uPlot, s: number[]): Array<number | null> => s.map((v) => (nice(v) ? v : null));
    const opts: uPlot.Options = {
      width: el.clientWidth,
      height: el.clientHeight,
      padding: [8, 12, 0, 0],
      legend: { show: false },
      series,
      bands,
      cursor: {
        ...(sync ? { sync: { key: sync, scales: ['x', null] as never, setSeries: false } } : {}),
        y: false,
        points: { show: point as never },
        drag: { x: true, y: false },
      },
      scales: {
        x: { time: false, ...(zoom.current ? { min: zoom.current.min, max: zoom.current.max } : {}) },
        y: { distr: log ? 3 : 1, ...(nothing ? { range: [0.1, 1] as [number, number] } : {}) },
      },
      axes: [
        { ...axis, size: 24, gap: 6, space: 64, values: (_u, v) => v.map(xTick), ...(xkind === 'iter' ? {} : { incrs: MS_STEPS }) },
        {
          ...axis,
          size: 46,
          gap: 6,
          space: log ? 4 : 34,
          values: (_u, v) => v.map((n) => (nothing || n === null || n === undefined ? '' : formatTick(n))),
          ...(log ? { filter: logFilter as never, grid: { ...axis.grid, filter: logFilter as never } } : {}),
        },
      ],
      hooks: {
        draw: [drawOdd],
        setCursor: [showTip],
        setScale: [
          (u, key) => {
            if (key === 'x') {
              const { min, max } = u.scales['x'] ?? {};
              zoom.current =
                min !== undefined && max !== undefined && (min > (x[0] ?? 0) || max < (x[x.length - 1] ?? 0)) ? { min, max } : null;
            }
          },
        ],
      },
    };
    const u = new uPlot(opts, data as uPlot.AlignedData, el);
    const ro = new ResizeObserver(() => {
      if (el.clientWidth) u.setSize({ width: el.clientWidth, height: el.clientHeight });
    });
    ro.observe(el);
    void document.fonts.ready.then(() => u.redraw(false, true));
    return () => {
      ro.disconnect();
      el.removeEventListener('pointerenter', enter);
      el.removeEventListener('pointerleave', leave);
      u.destroy();
      tip.remove();
    };
  }, [lines, log, band, weight, sync, xkind, t0, scheme]);
  return <div className="plot" ref={ref} />;
}
