// Curves of a task: our min/max-true call where the server has it, else the reference's means.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { fromHistogram, fromSeries, SINGLE, type Curve } from '../charts/curves';
import { ApiError, call } from './call';
import { activeStatus } from './queries';

let own: boolean | null = null;
export interface Scalars {
  curves: Curve[];
  singles: Curve[];
}
/** Single values are no curves. On a time axis they are told only by having one point. */
function split(all: Curve[], byTime = false): Scalars {
  const single = (c: Curve): boolean => c.x[0] === SINGLE || (byTime && c.x.length === 1);
  return { curves: all.filter((c) => !single(c)), singles: all.filter(single) };
}

async function load(task: string, key: 'iter' | 'timestamp', signal: AbortSignal): Promise<Scalars> {
  if (key === 'iter' && own !== false) {
    try {
      const d = await call('x_events.scalars', { task, samples: 500 }, { signal, timeoutMs: 60_000 });
      own = true;
      return split((d.series ?? []).map(fromSeries));
    } catch (e) {
      if (!(e instanceof ApiError) || e.code !== 404 || own === true) throw e;
      own = false;
    }
  }
  return split(
    fromHistogram(await call('events.scalar_metrics_iter_histogram', { task, key, samples: 500 }, { signal, timeoutMs: 60_000 })),
    key === 'timestamp',
  );
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
