// Models by id: a task names only ids, their files stand in the models themselves.
import { useQuery } from '@tanstack/react-query';
import { ApiError, call } from './call';
import type { Task } from './types';

export function useModels(t: Task) {
  const ids = [...(t.models?.input ?? []), ...(t.models?.output ?? [])]
    .map((r) => (typeof r.model === 'string' ? r.model : r.model?.id))
    .filter((x): x is string => !!x);
  return useQuery({
    queryKey: ['models', [...new Set(ids)].sort()],
    enabled: ids.length > 0,
    staleTime: 30_000,
    queryFn: async ({ signal }) => {
      const all = await call('models.get_all_ex', { id: [...new Set(ids)] }, { signal }).then(
        (d) => d.models,
        async (e: unknown) => {
          if (!(e instanceof ApiError) || e.code !== 404) throw e;
          return Promise.all([...new Set(ids)].map((model) => call('models.get_by_id', { model }, { signal }).then((d) => d.model)));
        },
      );
      return new Map(all.map((m) => [m.id, m]));
    },
  });
}

/** Files the model had before another took the place of its uri, the last replaced first. */
export function useVersions(model: string | null) {
  return useQuery({
    queryKey: ['x_models.versions', model],
    enabled: model !== null,
    staleTime: 30_000,
    queryFn: ({ signal }) =>
      call('x_models.versions', { model: model ?? '' }, { signal }).then(
        (d) => d.versions.filter((v) => !v.current),
        (e: unknown) => {
          if (e instanceof ApiError && e.code === 404) return []; // a server without them
          throw e;
        },
      ),
  });
}
