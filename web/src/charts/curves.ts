// Curves as the wall draws them: buckets with mean, true min and max, and what is no number counted apart; smoothing and alignment.
import { wireNumber } from '../api/call';
import type { XSeries } from '../api/types';

export interface Curve {
  key: string;
  metric: string;
  variant: string;
  x: number[];
  /** null = this bucket holds no finite value: a gap. */
  mean: Array<number | null>;
  min: Array<number | null>;
  max: Array<number | null>;
  /** How many values of each bucket are NaN, plus and minus infinity. */
  nan: number[];
  up: number[];
  down: number[];
  total: number;
  last: number | null;
  lastIter: number | null;
  /** false = only means are known (older server); no band is drawn then. */
  band: boolean;
}
const finite = (v: unknown): number | null => {
  const n = wireNumber(v);
  return n !== null && Number.isFinite(n) ? n : null;
};
const sum = (a: number[]): number => a.reduce((x, y) => x + y, 0);

export function fromSeries(s: XSeries): Curve {
  const x = s.x ?? [],
    zero = x.map(() => 0);
  const down = s.minus_inf ?? zero;
  const list = (v: unknown): Array<number | null> => (Array.isArray(v) ? v.map(finite) : x.map(() => null));
  return {
    key: `${s.metric}\u0000${s.variant}`,
    metric: s.metric,
    variant: s.variant,
    x,
    mean: list(s.y),
    min: list(s.min),
    max: list(s.max),
    nan: s.nan ?? zero,
    up: (s.inf ?? zero).map((n, i) => n - (down[i] ?? 0)),
    down,
    total: s.total_points,
    last: wireNumber(s.last),
    lastIter: s.last_iter ?? null,
    band: true,
  };
}

export type Histogram = Record<string, Record<string, { name?: string; x: Array<number | string>; y: unknown[] }>>;
/** The reference's answer: averaged values only, a null where the mean is no number. */
export function fromHistogram(h: Histogram): Curve[] {
  const out: Curve[] = [];
  for (const [metric, vs] of Object.entries(h)) {
    for (const [variant, s] of Object.entries(vs)) {
      const x = s.x.map((v) => (typeof v === 'string' ? Date.parse(v) : v));
      const mean = s.y.map(finite);
      const lastAt = x.length - 1;
      out.push({
        key: `${metric}\u0000${variant}`,
        metric,
        variant,
        x,
        mean,
        min: mean,
        max: mean,
        nan: mean.map((v) => (v === null ? 1 : 0)),
        up: x.map(() => 0),
        down: x.map(() => 0),
        total: x.length,
        last: wireNumber(s.y[lastAt]),
        lastIter: x[lastAt] ?? null,
        band: false,
      });
    }
  }
  return out;
}

/** Exponential moving average, debiased; a gap breaks the line but keeps the state. w = 0 changes nothing. */
export function smooth(y: Array<number | null>, w: number): Array<number | null> {
  if (w <= 0) return y;
  const k = Math.min(w, 0.999);
  let s = 0,
    n = 0;
  return y.map((v) => {
    if (v === null) return null;
    n++;
    s = k * s + (1 - k) * v;
    return s / (1 - k ** n);
  });
}

export type Cell = number | null | undefined;
/** One x axis for several curves. `undefined` = this curve has no bucket here (drawn through), null = its own gap (line broken). */
export function align(curves: Array<{ x: number[]; cols: Array<Array<number | null>> }>): { x: number[]; cols: Cell[][][] } {
  const first = curves[0];
  if (first && curves.every((c) => c.x === first.x || (c.x.length === first.x.length && c.x.every((v, i) => v === first.x[i]))))
    return { x: first.x, cols: curves.map((c) => c.cols) };
  const x = [...new Set(curves.flatMap((c) => c.x))].sort((a, b) => a - b);
  const at = new Map(x.map((v, i) => [v, i]));
  const cols = curves.map((c) =>
    c.cols.map((col) => {
      const out: Cell[] = new Array<Cell>(x.length).fill(undefined);
      c.x.forEach((v, i) => {
        const k = at.get(v);
        if (k !== undefined) out[k] = col[i] ?? null;
      });
      return out;
    }),
  );
  return { x, cols };
}

/** Values between two gaps: a line needs two, so these are drawn as points. */
export function lonePoints(col: Cell[]): number[] {
  const out: number[] = [];
  let before: number | null = null,
    last = -1;
  for (let i = 0; i <= col.length; i++) {
    const v = i < col.length ? col[i] : null;
    if (v === undefined) continue;
    if (v === null && last >= 0 && before === null) out.push(last);
    before = v === null ? null : last >= 0 ? 1 : null;
    last = v === null ? -1 : i;
  }
  return out;
}

/** Where marks of what is no number stand: one for each run of neighbouring buckets that hold any, at its middle. */
export function oddMarks(x: number[], nan: number[]): number[] {
  const out: number[] = [];
  let start = -1;
  for (let i = 0; i <= nan.length; i++) {
    if ((nan[i] ?? 0) > 0) {
      if (start < 0) start = i;
    } else if (start >= 0) {
      out.push(x[Math.floor((start + i - 1) / 2)] ?? 0);
      start = -1;
    }
  }
  return out;
}

/** Values a log axis can show; what it cannot is a gap and counted. */
export function positive(y: Array<number | null>): { y: Array<number | null>; hidden: number } {
  let hidden = 0;
  return {
    y: y.map((v) => {
      if (v !== null && v <= 0) {
        hidden++;
        return null;
      }
      return v;
    }),
    hidden,
  };
}

/** What is no number, everywhere it is told: key in a curve, mark, short and in words. */
export const ODD = [
  { key: 'nan', mark: '\u25b2', short: 'NaN', words: 'NaN' },
  { key: 'up', mark: '\u25b3', short: '+\u221e', words: 'plus infinity' },
  { key: 'down', mark: '\u25bd', short: '\u2212\u221e', words: 'minus infinity' },
] as const;
export type OddCounts = Record<(typeof ODD)[number]['key'], number>;
/** "3 NaN, 1 minus infinity"; nothing when all are numbers. */
export const oddWords = (n: OddCounts): string =>
  ODD.filter((o) => n[o.key] > 0)
    .map((o) => `${n[o.key].toLocaleString('en')} ${o.words}`)
    .join(', ');
/** Of one bucket: what stands for its mean when it holds no number, and what else it holds. */
export function oddOf(n: OddCounts, empty: boolean): { value: string; also: string } {
  const some = ODD.filter((o) => n[o.key] > 0);
  const one = some.length === 1 ? some[0] : undefined;
  if (empty && one) return { value: one.words, also: n[one.key] > 1 ? `${n[one.key].toLocaleString('en')} times` : '' };
  return { value: empty ? 'no number' : '', also: oddWords(n) };
}

/** The sentence under a chart: how many points, in how many buckets, and what is not drawn. */
export function footNote(curves: Curve[]): { text: string; odd: OddCounts } {
  const totals = curves.map((c) => c.total),
    buckets = Math.max(0, ...curves.map((c) => c.x.length));
  const odd = {
    nan: sum(curves.map((c) => sum(c.nan))),
    up: sum(curves.map((c) => sum(c.up))),
    down: sum(curves.map((c) => sum(c.down))),
  };
  const same = totals.every((t) => t === totals[0]);
  const n = same ? (totals[0] ?? 0) : sum(totals);
  const each = curves.length > 1 ? (same ? ' each' : ' in all') : '';
  const text = curves.some((c) => !c.band)
    ? `${n.toLocaleString('en')} mean${n === 1 ? '' : 's'}${each}, no min–max on this axis`
    : n > buckets && same
      ? `${n.toLocaleString('en')} points${each} in ${buckets.toLocaleString('en')} buckets`
      : `${n.toLocaleString('en')} point${n === 1 ? '' : 's'}${each}`;
  return { text, odd };
}

/** At most n values for a spark line, each the mean of its part; a part without numbers stays a gap. */
export function thin(y: Array<number | null>, n: number): Array<number | null> {
  if (y.length <= n) return y;
  return Array.from({ length: n }, (_, i) => {
    const part = y.slice(Math.floor((i * y.length) / n), Math.floor(((i + 1) * y.length) / n)).filter((v): v is number => v !== null);
    return part.length ? sum(part) / part.length : null;
  });
}
