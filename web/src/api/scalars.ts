// Curves of a task: our min/max-true call where the server has it, else the reference's means.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { fromHistogram, fromSeries, type Curve } from '../charts/curves';
import { ApiError, call, wireNumber } from './call';
import { activeStatus } from './queries';
import type { Documents } from './types';

let own: boolean | null = null;
/** A value reported once for the whole run. */
export interface Single {
  key: string;
  name: string;
  value: number | null;
}
export interface Scalars {
  curves: Curve[];
  singles: Single[];
}

async function loadCurves(task: string, key: 'iter' | 'timestamp', signal: AbortSignal): Promise<Curve[]> {
  const body = { task, key, samples: 500 },
    options = { signal, timeoutMs: 60_000 };
  if (own !== false) {
    try {
      const d = await call('x_events.scalars', body, options);
      own = true;
      return (d.series ?? []).map(fromSeries);
    } catch (e) {
      if (!(e instanceof ApiError) || e.code !== 404 || own === true) throw e;
      own = false;
    }
  }
  return fromHistogram(await call('events.scalar_metrics_iter_histogram', body, options));
}

async function loadSingles(task: string, signal: AbortSignal): Promise<Single[]> {
  try {
    const d = await call('events.get_task_single_value_metrics', { tasks: [task] }, { signal });
    return singleValues(d.tasks ?? []);
  } catch (e) {
    if (e instanceof ApiError && (e.code === 404 || e.code === 400)) return []; // a server of before they were
    throw e;
  }
}
export const singleValues = (tasks: Documents['events.get_task_single_value_metrics']['tasks']): Single[] =>
  tasks.flatMap((t) =>
    t.values.map((v) => ({ key: `${v.metric}\u0000${v.variant}`, name: v.variant || v.metric, value: wireNumber(v.value) })),
  );

async function load(task: string, key: 'iter' | 'timestamp', signal: AbortSignal): Promise<Scalars> {
  const [curves, singles] = await Promise.all([loadCurves(task, key, signal), loadSingles(task, signal)]);
  return { curves, singles };
}

/** `status` is part of the key: when a run ends, its curves are read once more. */
export function useScalars(task: string, key: 'iter' | 'timestamp', status: string | undefined) {
  const live = activeStatus(status);
  return useQuery<Scalars>({
    queryKey: ['scalars', task, key, status],
    queryFn: ({ signal }) => load(task, key, signal),
    refetchInterval: live ? 4_000 : false,
    staleTime: live ? 2_000 : 60_000,
    placeholderData: keepPreviousData,
  });
}
