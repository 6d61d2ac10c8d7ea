// What a chart draws: buckets with true extremes, gaps where there is no number, counts of what is not drawn.
import { describe, expect, it } from 'vitest';
import { singleValues } from '../src/api/scalars';
import { sparkKey, sparksOf } from '../src/api/sparks';
import type { Task } from '../src/api/types';
import { metricsOf } from '../src/lib/task';
import {
  align,
  footNote,
  fromHistogram,
  fromSeries,
  lonePoints,
  oddOf,
  oddWords,
  oddMarks,
  positive,
  smooth,
  thin,
  type Curve,
} from '../src/charts/curves';

const curve = (p: Partial<Curve>): Curve => ({
  key: 'k',
  metric: 'm',
  variant: 'v',
  x: [0, 1, 2],
  mean: [1, 2, 3],
  min: [1, 2, 3],
  max: [1, 2, 3],
  nan: [0, 0, 0],
  up: [0, 0, 0],
  down: [0, 0, 0],
  total: 3,
  last: 3,
  lastIter: 2,
  band: true,
  ...p,
});

describe('fromSeries', () => {
  const c = fromSeries({
    metric: 'loss',
    variant: 'train',
    interval: 10,
    x: [0, 10, 20],
    y: [1, null, 'NaN'],
    min: [0.5, null, null],
    max: [9, null, 'Infinity'],
    nan: [0, 4, 2],
    inf: [0, 0, 3],
    minus_inf: [0, 0, 2],
    total_points: 300,
    last: 'NaN',
    last_iter: 20,
  });
  it('keeps a gap a gap', () => expect(c.mean).toEqual([1, null, null]));
  it('keeps the true maximum of a bucket, and no infinity', () => expect(c.max).toEqual([9, null, null]));
  it('keeps counts and a last value that is no number', () =>
    expect([c.nan, c.up, c.down, c.total, c.last]).toEqual([[0, 4, 2], [0, 0, 1], [0, 0, 2], 300, NaN]));
});
it('reads the reference answer, iterations or ISO times', () => {
  const [c] = fromHistogram({ loss: { train: { x: [1, 2], y: [0.5, null] } } });
  expect([c?.mean, c?.nan, c?.band]).toEqual([[0.5, null], [0, 1], false]);
  const [t] = fromHistogram({ loss: { train: { x: ['2026-11-29T00:00:00Z'], y: [1] } } });
  expect(t?.x).toEqual([Date.parse('2026-11-29T00:00:00Z')]);
});

it('reads values reported once, also those that are no number', () => {
  const values = [
    { metric: 'Summary', variant: 'params', value: 47.25 },
    { metric: 'Summary', variant: 'loss', value: 'NaN' },
    { metric: 'best', variant: '', value: null },
  ];
  expect(singleValues([{ task: 't', values }]).map((v) => [v.name, v.value])).toEqual([
    ['params', 47.25],
    ['loss', NaN],
    ['best', null],
  ]);
});

describe('smooth', () => {
  it('leaves a constant a constant', () => expect(smooth([3, 3, 3, 3], 0.9).every((v) => Math.abs((v ?? 0) - 3) < 1e-12)).toBe(true));
  it('starts at the first value (debiased)', () => expect(smooth([8, 0, 0], 0.9)[0]).toBeCloseTo(8, 12));
  it('forgets a first value far off (noise around 5 after 100, weight 0.99)', () => {
    const y = Array.from({ length: 1001 }, (_, i) => (i === 0 ? 100 : 5 + Math.sin(i * 12.9898)));
    const s = smooth(y, 0.99);
    expect(s[0]).toBeCloseTo(100, 9);
    for (const i of [400, 700, 1000]) expect(Math.abs((s[i] ?? 0) - 5)).toBeLessThan(0.05);
  });
  it('follows numpy for a short series', () => {
    const w = 0.6,
      y = [1, 2, 4];
    let s = 0;
    const want = y.map((v, i) => {
      s = w * s + (1 - w) * v;
      return s / (1 - w ** (i + 1));
    });
    smooth(y, w).forEach((v, i) => expect(v).toBeCloseTo(want[i] ?? NaN, 12));
  });
  it('breaks at a gap but keeps its state', () => {
    const [a, gap, b] = smooth([4, null, 4], 0.5);
    expect([a, gap, b]).toEqual([4, null, 4]);
  });
  it('does nothing at weight 0', () => {
    const y = [1, null, 2];
    expect(smooth(y, 0)).toBe(y);
  });
});

describe('align', () => {
  it('shares an equal axis as it is', () => {
    const x = [1, 2];
    expect(
      align([
        { x, cols: [[1, 2]] },
        { x: [1, 2], cols: [[3, 4]] },
      ]).x,
    ).toBe(x);
  });
  it('tells a missing bucket (drawn through) from a gap (broken)', () => {
    const a = align([
      { x: [0, 2], cols: [[1, null]] },
      { x: [1], cols: [[5]] },
    ]);
    expect(a.x).toEqual([0, 1, 2]);
    expect(a.cols).toEqual([[[1, undefined, null]], [[undefined, 5, undefined]]]);
  });
});
it('puts one NaN mark on each run of buckets', () => {
  expect(oddMarks([0, 1, 2, 3, 4, 5], [0, 2, 1, 1, 0, 7])).toEqual([2, 5]);
  expect(oddMarks([0, 1], [0, 0])).toEqual([]);
});
it('hides what a log axis cannot show, and counts it', () =>
  expect(positive([1, 0, -2, null, 3])).toEqual({ y: [1, null, null, null, 3], hidden: 2 }));
it('thins a curve for a spark line and keeps gaps', () => {
  expect(thin([1, 2], 8)).toEqual([1, 2]);
  expect(thin([1, 3, null, null], 2)).toEqual([2, null]);
});
describe('footNote', () => {
  it('says points and buckets', () => expect(footNote([curve({ total: 42480 })]).text).toBe('42,480 points in 3 buckets'));
  it('says each for several alike', () => expect(footNote([curve({}), curve({})]).text).toBe('3 points each'));
  it('says in all for several unlike', () => expect(footNote([curve({}), curve({ total: 5 })]).text).toBe('8 points in all'));
  it('counts what is no number', () =>
    expect(footNote([curve({ nan: [0, 3, 1], up: [2, 0, 0], down: [0, 0, 1] })]).odd).toEqual({ nan: 4, up: 2, down: 1 }));
  it('owns up to means only', () => expect(footNote([curve({ band: false })]).text).toContain('no min–max'));
});

it('takes small curves out of the answer for many tasks', () => {
  const task = { id: 'a', last_metrics: { m: { v: { metric: 'loss', variant: 'val', value: 1, count: 3 } } } } as unknown as Task;
  const answer = { loss: { val: { a: { y: [3, 'NaN', 1] }, b: { y: [9] } } } };
  expect([...sparksOf(answer, { task, metrics: metricsOf(task) })]).toEqual([[sparkKey('a', 'loss/val'), [3, null, 1]]]);
  expect([...sparksOf({}, { task, metrics: metricsOf(task) })]).toEqual([[sparkKey('a', 'loss/val'), []]]);
});

it('a value between two gaps is a point, a line needs two', () => {
  expect(lonePoints([1])).toEqual([0]);
  expect(lonePoints([1, 2])).toEqual([]);
  expect(lonePoints([null, 1, null, 2, 3, null, 4])).toEqual([1, 6]);
  expect(lonePoints([1, undefined, undefined, 2])).toEqual([]);
  expect(lonePoints([1, undefined, null, undefined, 2])).toEqual([0, 4]);
  expect(lonePoints([1, 2, 3, null])).toEqual([]);
  expect(lonePoints([])).toEqual([]);
});

describe('what is no number', () => {
  const none = { nan: 0, up: 0, down: 0 };
  it('is told by its kind', () => expect(oddWords({ nan: 1200, up: 1, down: 2 })).toBe('1,200 NaN, 1 plus infinity, 2 minus infinity'));
  it('stands for the mean of a bucket without numbers', () => {
    expect(oddOf({ ...none, down: 1 }, true)).toEqual({ value: 'minus infinity', also: '' });
    expect(oddOf({ ...none, up: 3 }, true)).toEqual({ value: 'plus infinity', also: '3 times' });
    expect(oddOf({ ...none, nan: 1, up: 1 }, true)).toEqual({ value: 'no number', also: '1 NaN, 1 plus infinity' });
  });
  it('stands beside the mean of one with numbers', () => {
    expect(oddOf({ ...none, nan: 2 }, false)).toEqual({ value: '', also: '2 NaN' });
    expect(oddOf(none, false)).toEqual({ value: '', also: '' });
  });
});
