// What the machines of the workers do just now: processor, memory and GPUs, from the statistics their agents report.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ApiError, call } from './call';

/** Percentages 0 to 100, memory in MB (2^20 bytes). Null: not reported in the last minutes. */
export interface Load {
  cpu: number;
  used: number;
  total: number;
  gpus: Array<{ name: string; usage: number }>;
}
/** The answer of workers.get_stats, as far as it is read here. */
export interface StatsAnswer {
  workers?: Array<{
    worker: string;
    metrics: Array<{
      metric: string;
      stats: Array<{ values: number[]; resource_series?: Array<{ name: string; values: number[] }> }>;
    }>;
  }>;
}
const INTERVAL_S = 40;
const BACK_S = 240;
const KEYS = ['cpu_usage', 'memory_used', 'memory_free', 'gpu_usage'];

/**
 * The newest stretch that holds a report, by worker. Stretches without one are all zeros on the wire; used memory never
 * is, so it tells which they are.
 */
export function loadsOf(d: StatsAnswer): Map<string, Load> {
  const out = new Map<string, Load>();
  for (const w of d.workers ?? []) {
    const stat = (key: string) => w.metrics.find((m) => m.metric === key)?.stats[0];
    const used = stat('memory_used')?.values ?? [];
    const at = used.reduce((last, v, i) => (v > 0 ? i : last), -1);
    if (at < 0) continue;
    const gpu = stat('gpu_usage'),
      each = gpu?.resource_series ?? [];
    out.set(w.worker, {
      cpu: stat('cpu_usage')?.values[at] ?? 0,
      used: used[at] ?? 0,
      total: (used[at] ?? 0) + (stat('memory_free')?.values[at] ?? 0),
      gpus: each.length
        ? each.map((s) => ({ name: `GPU ${s.name}`, usage: s.values[at] ?? 0 }))
        : gpu
          ? [{ name: 'GPU', usage: gpu.values[at] ?? 0 }]
          : [],
    });
  }
  return out;
}

export const useWorkerLoads = (on: boolean) =>
  useQuery<Map<string, Load>>({
    queryKey: ['workers.get_stats'],
    enabled: on,
    queryFn: async ({ signal }) => {
      const now = Date.now() / 1000;
      try {
        const d = await call(
          'workers.get_stats',
          {
            from_date: now - BACK_S,
            to_date: now + INTERVAL_S,
            interval: INTERVAL_S,
            items: KEYS.map((key) => ({ key, aggregation: 'avg' })),
            split_by_resource: true,
          },
          { signal },
        );
        return loadsOf(d as StatsAnswer);
      } catch (e) {
        if (e instanceof ApiError && (e.code === 404 || e.code === 400)) return new Map();
        throw e;
      }
    },
    refetchInterval: 10_000,
    placeholderData: keepPreviousData,
  });
