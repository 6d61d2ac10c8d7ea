// Which columns a task table shows: metrics and parameters found in the loaded rows, with a first choice that needs no setting up.
import { useMemo, useState } from 'react';
import type { Task } from '../../api/types';
import { metricsOf, paramsOf, rankMetric } from '../../lib/task';

/** So many metric columns, from the left, show a small curve beside the number. */
export const SPARKED = 2;

/** The order after a click on a head: names from A, numbers and times from the largest; a second click turns it round. */
export function nextOrder(field: string, order: string): string {
  if (order === field) return `-${field}`;
  if (order === `-${field}`) return field;
  return field === 'name' || field === 'status' ? field : `-${field}`;
}

export interface Columns {
  metrics: string[];
  params: string[];
}
export interface Found {
  metrics: Array<{ key: string; hash: string; count: number }>;
  /** `varies`: several values among the tasks that have it; `differs`: that, or some tasks lack it. */
  params: Array<{ key: string; varies: boolean; differs: boolean; count: number }>;
}

/** Everything that could be a column. Metrics by how many tasks have them, then by interest; parameters that differ first. */
export function findColumns(tasks: Task[]): Found {
  const metrics = new Map<string, { hash: string; count: number }>();
  const params = new Map<string, { values: Set<string>; count: number }>();
  for (const t of tasks) {
    for (const m of metricsOf(t)) {
      const e = metrics.get(m.key) ?? { hash: m.hash, count: 0 };
      e.count++;
      metrics.set(m.key, e);
    }
    for (const [k, v] of paramsOf(t)) {
      const e = params.get(k) ?? { values: new Set<string>(), count: 0 };
      e.values.add(v);
      e.count++;
      params.set(k, e);
    }
  }
  const byInterest = (a: { key: string; count: number }, b: { key: string; count: number }): number =>
    Math.round(Math.log2(b.count / a.count)) || rankMetric(a.key) - rankMetric(b.key) || (a.key < b.key ? -1 : 1);
  return {
    metrics: [...metrics].map(([key, m]) => ({ key, ...m })).sort(byInterest),
    params: [...params]
      .map(([key, p]) => ({
        key,
        varies: p.values.size > 1,
        differs: p.values.size > 1 || p.count < tasks.length,
        count: p.count,
      }))
      .sort(
        (a, b) =>
          Number(b.varies) - Number(a.varies) || Number(b.differs) - Number(a.differs) || b.count - a.count || (a.key < b.key ? -1 : 1),
      ),
  };
}
export const firstChoice = (f: Found): Columns => ({
  metrics: f.metrics.slice(0, 3).map((m) => m.key),
  params: (f.params.some((p) => p.differs) ? f.params.filter((p) => p.differs) : f.params).slice(0, 3).map((p) => p.key),
});

/** The columns of a project's table, kept in this browser once the user has changed them; whether he has. */
export function useColumns(project: string, found: Found): [Columns, (c: Columns | null) => void, boolean] {
  const key = `stoker-columns-${project}`;
  const [own, setOwn] = useState<Columns | null>(() => {
    try {
      const v = JSON.parse(localStorage.getItem(key) ?? 'null') as Columns | null;
      return v && Array.isArray(v.metrics) && Array.isArray(v.params) ? v : null;
    } catch {
      return null;
    }
  });
  const set = (c: Columns | null): void => {
    setOwn(c);
    try {
      if (c) localStorage.setItem(key, JSON.stringify(c));
      else localStorage.removeItem(key);
    } catch {
      /* not kept */
    }
  };
  const auto = useMemo(() => firstChoice(found), [found]);
  return [own ?? auto, set, own !== null];
}

/** Widths in px of what a table shows beside its name and status: one for each metric and parameter. */
export interface Fitted extends Columns {
  metricWidths: number[];
  paramWidths: number[];
}
const NARROW = 68;
const sum = (a: number[]): number => a.reduce((x, y) => x + y, 0);

/** Takes `over` px from the widest, level by level, none below `floor`; what is left to take. */
function level(widths: number[], over: number, floor: number): number {
  while (over > 0) {
    const top = Math.max(...widths);
    if (top <= floor) return over;
    const next = Math.max(floor, ...widths.filter((w) => w < top));
    const wide = widths.flatMap((w, i) => (w === top ? [i] : []));
    const by = Math.min(top - next, Math.ceil(over / wide.length));
    for (const i of wide) widths[i] = top - by;
    over -= by * wide.length;
  }
  return 0;
}

/**
 * Columns that fit into `room` px beside `rest` px of others. Wide parameters give way first. Of columns that nobody asked
 * for (`auto`) those that still do not fit are left out, parameters before metrics; those of the user's choice stay, and
 * the table scrolls.
 */
export function fitColumns(
  cols: Columns,
  need: { metrics: number[]; params: number[] },
  room: number,
  rest: number,
  auto: boolean,
): Fitted {
  let m = cols.metrics.length,
    p = cols.params.length;
  for (;;) {
    const paramWidths = need.params.slice(0, p),
      metricWidths = need.metrics.slice(0, m);
    const left = level(paramWidths, rest + sum(metricWidths) + sum(paramWidths) - room, NARROW);
    if (left <= 0 || !auto || m + p <= 1)
      return { metrics: cols.metrics.slice(0, m), params: cols.params.slice(0, p), metricWidths, paramWidths };
    if (p > 1 || m <= 1) p--;
    else m--;
  }
}

/** The parameters whose values are words, at least one of them: they stand left, numbers right. */
export const wordsOf = (rows: Array<{ params: Map<string, string> }>, params: string[]): Set<string> =>
  new Set(params.filter((k) => rows.some((r) => r.params.get(k) && Number.isNaN(Number(r.params.get(k))))));
