// Reads a figure a task sent (Plotly JSON) into the few shapes the page draws itself. Data only: nothing in it is ever run or fetched.

export interface HeatFigure {
  kind: 'heat';
  title: string;
  x: string[];
  y: string[];
  z: Array<Array<number | null>>;
  xTitle: string;
  yTitle: string;
  upward: boolean;
}
export interface XYTrace {
  name: string;
  mode: 'line' | 'marks' | 'both' | 'bar';
  x: Array<number | string>;
  y: Array<number | null>;
}
export interface XYFigure {
  kind: 'xy';
  title: string;
  traces: XYTrace[];
  xTitle: string;
  yTitle: string;
}
export interface TableFigure {
  kind: 'table';
  title: string;
  head: string[];
  rows: string[][];
}
export interface OtherFigure {
  kind: 'other';
  title: string;
  why: string;
}
export type Figure = HeatFigure | XYFigure | TableFigure | OtherFigure;

const MAX_TEXT = 32 * 1024 * 1024;
const MAX_POINTS = 200_000;
type Obj = Record<string, unknown>;
const obj = (v: unknown): Obj => (typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Obj) : {});
const arr = (v: unknown): unknown[] => {
  if (Array.isArray(v)) return v as unknown[];
  const typed = obj(v);
  return typeof typed['bdata'] === 'string' ? decodeTyped(typed) : [];
};
const strip = (s: string): string =>
  s
    .replace(/<br\s*\/?>/gi, ' ')
    .replace(/<[^>]*>/g, '')
    .trim();
const text = (v: unknown): string =>
  typeof v === 'string'
    ? strip(v)
    : typeof v === 'number'
      ? String(v)
      : strip(typeof obj(v)['text'] === 'string' ? (obj(v)['text'] as string) : '');
const num = (v: unknown): number | null => {
  const n = typeof v === 'number' ? v : typeof v === 'string' && v.trim() !== '' ? Number(v) : NaN;
  return Number.isFinite(n) ? n : null;
};

/** Newer Plotly packs arrays as base64 with a numpy type. */
function decodeTyped(o: Obj): unknown[] {
  try {
    const bytes = Uint8Array.from(atob(String(o['bdata'])), (c) => c.charCodeAt(0)).buffer;
    const make: Record<string, (b: ArrayBuffer) => ArrayLike<number>> = {
      f8: (b) => new Float64Array(b),
      f4: (b) => new Float32Array(b),
      i4: (b) => new Int32Array(b),
      u4: (b) => new Uint32Array(b),
      i2: (b) => new Int16Array(b),
      u2: (b) => new Uint16Array(b),
      i1: (b) => new Int8Array(b),
      u1: (b) => new Uint8Array(b),
    };
    const flat = Array.from(make[String(o['dtype'])]?.(bytes) ?? []);
    const shape = String(o['shape'] ?? '')
      .split(',')
      .map(Number);
    if (shape.length !== 2 || !shape[1]) return flat;
    const w = shape[1];
    return Array.from({ length: shape[0] ?? 0 }, (_, i) => flat.slice(i * w, (i + 1) * w));
  } catch {
    return [];
  }
}
/** Figures often bring axis titles and annotations as the class names: ticktext wins over x and y. */
function labels(given: unknown, axis: Obj, n: number): string[] {
  const g = arr(given),
    tt = arr(axis['ticktext']);
  const src = g.length >= n ? g : tt.length >= n ? tt : Array.from({ length: n }, (_, i) => i);
  return src.slice(0, n).map((v) => text(v));
}

function heat(trace: Obj, layout: Obj, title: string): Figure {
  const z = arr(trace['z']).map((r) => arr(r).map(num));
  const w = Math.max(0, ...z.map((r) => r.length)),
    xa = obj(layout['xaxis']),
    ya = obj(layout['yaxis']);
  if (z.length === 0 || w === 0) return { kind: 'other', title, why: 'The heat map is empty.' };
  if (z.length * w > MAX_POINTS) return { kind: 'other', title, why: `A heat map of ${z.length} × ${w} cells is too large to draw here.` };
  return {
    kind: 'heat',
    title,
    x: labels(trace['x'], xa, w),
    y: labels(trace['y'], ya, z.length),
    z,
    xTitle: text(xa['title']),
    yTitle: text(ya['title']),
    upward: ya['autorange'] !== 'reversed',
  };
}
function xy(traces: Obj[], layout: Obj, title: string): Figure {
  const out: XYTrace[] = [];
  let points = 0;
  for (const t of traces) {
    const y = arr(t['y']).map(num),
      x = arr(t['x']);
    const mode = String(t['mode'] ?? (y.length <= 20 ? 'lines+markers' : 'lines'));
    points += y.length;
    out.push({
      name: text(t['name']),
      mode:
        t['type'] === 'bar' || t['type'] === 'histogram'
          ? 'bar'
          : mode.includes('lines')
            ? mode.includes('markers')
              ? 'both'
              : 'line'
            : 'marks',
      x: y.map((_, i) => {
        const v = x[i];
        return typeof v === 'number'
          ? v
          : typeof v === 'string'
            ? Number.isFinite(Number(v)) && v.trim() !== ''
              ? Number(v)
              : strip(v)
            : i;
      }),
      y,
    });
  }
  if (points === 0) return { kind: 'other', title, why: 'The plot has no points.' };
  if (points > MAX_POINTS) return { kind: 'other', title, why: `${points.toLocaleString('en')} points are too many to draw here.` };
  return { kind: 'xy', title, traces: out, xTitle: text(obj(layout['xaxis'])['title']), yTitle: text(obj(layout['yaxis'])['title']) };
}
function table(t: Obj, title: string): Figure {
  const head = arr(obj(t['header'])['values']).map((v) => text(Array.isArray(v) ? v[0] : v));
  const cols = arr(obj(t['cells'])['values']).map((c) => arr(c));
  const n = Math.max(0, ...cols.map((c) => c.length));
  return { kind: 'table', title, head, rows: Array.from({ length: n }, (_, i) => cols.map((c) => text(c[i]))) };
}

const XY = ['scatter', 'scattergl', 'bar', 'line'];
export function parseFigure(plot: string | undefined, name: string): Figure {
  if (!plot) return { kind: 'other', title: name, why: 'The server sent no figure.' };
  if (plot.length > MAX_TEXT)
    return { kind: 'other', title: name, why: `The figure is ${Math.round(plot.length / 1e6)} MB; figures over 32 MB are not drawn.` };
  let fig: Obj;
  try {
    fig = obj(JSON.parse(plot));
  } catch {
    return { kind: 'other', title: name, why: 'The figure is not valid JSON.' };
  }
  const layout = obj(fig['layout']),
    traces = arr(fig['data']).map(obj),
    title = text(layout['title']) || name;
  const types = [...new Set(traces.map((t) => String(t['type'] ?? 'scatter')))];
  if (traces.length === 0)
    return {
      kind: 'other',
      title,
      why: arr(layout['images']).length ? 'A picture inside a figure: open it from the task’s files.' : 'The figure has no data.',
    };
  if (types.length === 1 && types[0] === 'heatmap' && traces[0]) return heat(traces[0], layout, title);
  if (types.length === 1 && types[0] === 'table' && traces[0]) return table(traces[0], title);
  if (types.every((t) => XY.includes(t) || (t === 'histogram' && traces.every((x) => arr(x['y']).length > 0))))
    return xy(traces, layout, title);
  return { kind: 'other', title, why: `Plots of type ${types.join(', ')} are not drawn on this page yet.` };
}
