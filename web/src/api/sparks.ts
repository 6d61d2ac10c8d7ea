// Small curves beside the numbers of a task table: means over the run, read for the rows in sight, once per state of a task.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { thin } from '../charts/curves';
import type { Metric } from '../lib/task';
import { ApiError, call, wireNumber } from './call';
import type { Task } from './types';

/** Values of one curve, by task and metric: sparkKey (task id, metric's key in the table). */
export type Sparks = ReadonlyMap<string, Array<number | null>>;
export const sparkKey = (task: string, metric: string): string => `${task}\u0000${metric}`;
export const POINTS = 36;
const MOST_TASKS = 100;

/** What is asked for: a task in its present state, and which of its metrics. */
export interface SparkWish {
  task: Task;
  metrics: Metric[];
}
interface Entry {
  state: string;
  values: Sparks;
}
const known = new Map<string, Entry>();
const MOST_KNOWN = 2000;
/** Another state of the task is another curve. */
const stateOf = (w: SparkWish): string => `${w.task.status} ${w.task.last_iteration ?? ''} ${w.metrics.map((m) => m.key).join('\u0000')}`;

/** metric, then variant, then task. */
type Answer = Record<string, Record<string, Record<string, { y?: unknown[] }>>>;

/** The curves of one task out of the answer for many; a value that is no finite number is a gap. */
export function sparksOf(answer: Answer, w: SparkWish): Sparks {
  const out = new Map<string, Array<number | null>>();
  for (const m of w.metrics) {
    const y = answer[m.metric]?.[m.variant]?.[w.task.id]?.y ?? [];
    const finite = y.map((v) => {
      const n = wireNumber(v);
      return n !== null && Number.isFinite(n) ? n : null;
    });
    out.set(sparkKey(w.task.id, m.key), thin(finite, POINTS));
  }
  return out;
}

async function load(wishes: SparkWish[], signal: AbortSignal): Promise<Sparks> {
  const missing = wishes.filter((w) => known.get(w.task.id)?.state !== stateOf(w)).slice(0, MOST_TASKS);
  if (missing.length > 0) {
    if (known.size > MOST_KNOWN) known.clear();
    const variants = new Map<string, Set<string>>();
    for (const m of missing.flatMap((w) => w.metrics)) {
      const of = variants.get(m.metric) ?? new Set();
      variants.set(m.metric, of.add(m.variant));
    }
    try {
      const d = await call(
        'events.multi_task_scalar_metrics_iter_histogram',
        {
          tasks: missing.map((w) => w.task.id),
          samples: POINTS,
          metrics: [...variants].map(([metric, v]) => ({ metric, variants: [...v] })),
        },
        { signal },
      );
      for (const w of missing) known.set(w.task.id, { state: stateOf(w), values: sparksOf((d.metrics ?? {}) as Answer, w) });
    } catch (e) {
      // A server that refuses (an old one, a task that just went) costs the small curves, not the table.
      if (!(e instanceof ApiError) || e.code === 0 || e.code >= 500) throw e;
    }
  }
  return new Map(wishes.flatMap((w) => [...(known.get(w.task.id)?.values ?? [])]));
}

export function useSparks(wishes: SparkWish[]): Sparks {
  const asked = wishes.filter((w) => w.metrics.length > 0);
  const q = useQuery<Sparks>({
    queryKey: ['sparks', asked.map((w) => `${w.task.id} ${stateOf(w)}`)],
    enabled: asked.length > 0,
    queryFn: ({ signal }) => load(asked, signal),
    staleTime: Infinity,
    retry: false,
    placeholderData: keepPreviousData,
  });
  return q.data ?? NONE;
}
const NONE: Sparks = new Map();
