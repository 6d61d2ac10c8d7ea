// Every read the pages make, as query hooks. Key = [action, body]; lists stay on screen while they are fetched again.
import { keepPreviousData, QueryClient, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { LogLine } from '../lib/logfold';
import { literal } from '../lib/query';
import { tellFilesUrl } from '../lib/url';
import { ApiError, call } from './call';
import type { Json } from './generated';
import type { ImageEvent, PlotEvent, Project, Queue, Task, Timeline, Worker } from './types';

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      gcTime: 300_000,
      refetchOnWindowFocus: true,
      // Only a network failure is worth another try; a refusal stays a refusal.
      retry: (n, e) => e instanceof ApiError && (e.code === 0 || e.code === 503) && n < 2,
      retryDelay: (n) => 400 * 2 ** n + Math.random() * 200,
    },
  },
});

const LIST_FIELDS = [
  'name',
  'type',
  'status',
  'status_reason',
  'status_message',
  'status_changed',
  'tags',
  'system_tags',
  'user.name',
  'project.name',
  'created',
  'started',
  'completed',
  'last_update',
  'active_duration',
  'last_iteration',
  'last_metrics',
  'hyperparams',
  'runtime.progress',
  'execution.queue.name',
  'comment',
  'last_worker',
];
/** All of one task. Names of what it refers to come only when asked for by a dotted field. */
const TASK_FIELDS = [
  ...LIST_FIELDS,
  'published',
  'last_change',
  'last_worker_report',
  'parent.name',
  'execution.artifacts',
  'execution.docker_cmd',
  'container',
  'output.destination',
  'models.input',
  'models.output',
  'script',
  'configuration',
  'runtime',
].filter((f) => f !== 'runtime.progress');
export const PAGE = 100;

/** A list is polled the more rarely the more pages of it are loaded, each a call; a very long one not at all. */
export const listPause = (pages: number, ms: number): number | false => (pages <= MOST_POLLED ? Math.max(1, pages) * ms : false);
const MOST_POLLED = 10;
/** When a list is fetched again by itself: by the clock while the page is seen, and when it is seen or connected again. */
const polled = (ms: number, on = true) => {
  const may = (q: { state: { data: { pages: unknown[] } | undefined } }): number | false =>
    on && listPause(q.state.data?.pages.length ?? 0, ms);
  return {
    refetchInterval: may,
    refetchOnWindowFocus: (q: Parameters<typeof may>[0]) => may(q) !== false,
    refetchOnReconnect: (q: Parameters<typeof may>[0]) => may(q) !== false,
  };
};

export const useUser = () =>
  useQuery({
    queryKey: ['users.get_current_user'],
    queryFn: ({ signal }) => call('users.get_current_user', {}, { signal }).then((d) => d.user),
    staleTime: 300_000,
  });

/** What the server says of itself; from then on addresses of its files are known for its own. */
export const useServer = () =>
  useQuery({
    queryKey: ['server.info'],
    queryFn: async ({ signal }) => {
      const d = await call('server.info', {}, { signal });
      tellFilesUrl(d.x_files_url);
      return d;
    },
    staleTime: Infinity,
  });

const PROJECTS = { include_stats: true, check_own_contents: true, x_count_children: true, order_by: ['-last_update'] };
/** The projects that changed last, for what needs many at hand; a page of one level asks for its own. */
export function useProjects() {
  return useQuery<Project[]>({
    queryKey: ['projects.get_all_ex'],
    queryFn: ({ signal }) => call('projects.get_all_ex', { ...PROJECTS, page: 0, page_size: 500 }, { signal }).then((d) => d.projects),
    refetchInterval: 10_000,
    placeholderData: keepPreviousData,
  });
}

/** What lies directly in a project (null: at the top), or, with words, all below it whose name holds them. */
export function useProjectLevel(parent: string | null, words: string) {
  const body = {
    ...PROJECTS,
    system_tags: ['-archived'],
    ...(parent ? { parent: [parent] } : {}),
    ...(words ? { _any_: { pattern: literal(words), fields: ['name'] } } : { shallow_search: true }),
    page_size: PAGE,
  };
  return useInfiniteQuery({
    queryKey: ['projects.get_all_ex', body],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) => call('projects.get_all_ex', { ...body, page: pageParam }, { signal }).then((d) => d.projects),
    getNextPageParam: (last, pages) => (last.length === PAGE ? pages.length : undefined),
    ...polled(10_000),
    placeholderData: keepPreviousData,
  });
}

/** The project a page is about; '*' is no project of the server. */
export function useProject(id: string) {
  return useQuery({
    queryKey: ['projects.get_by_id', id],
    queryFn: ({ signal }) => call('projects.get_by_id', { project: id }, { signal }).then((d) => d.project),
    enabled: id !== '*' && id !== '',
    // Asked again now and then: somebody else may delete it while its page is open.
    refetchInterval: 15_000,
    staleTime: 60_000,
  });
}

type Filter = Record<string, unknown>;
const within = (project: string, filter: Filter): Filter => ({
  ...filter,
  ...(project === '*' ? {} : { project: [project], include_subprojects: true }),
});

export function useTasks(project: string, filter: Filter, order: string, live: boolean) {
  const body = {
    ...within(project, filter),
    order_by: [order],
    only_fields: LIST_FIELDS,
    page_size: PAGE,
  };
  return useInfiniteQuery({
    queryKey: ['tasks.get_all_ex', body],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) => call('tasks.get_all_ex', { ...body, page: pageParam }, { signal }).then((d) => d.tasks),
    getNextPageParam: (last, pages) => (last.length === PAGE ? pages.length : undefined),
    ...polled(5_000, live),
    placeholderData: keepPreviousData,
  });
}

/** How many tasks match; null while unknown, or for ever with a server that does not count. */
export function useTaskCount(project: string, filter: Filter, on: boolean): number | null {
  const body = within(project, filter);
  const q = useQuery<number | null>({
    queryKey: ['tasks.count', body],
    queryFn: ({ signal }) =>
      call('organization.get_entities_count', { tasks: body as Json }, { signal }).then(
        (d) => d.tasks ?? null,
        (e: unknown) => {
          if (e instanceof ApiError && (e.code === 404 || e.code === 400)) return null;
          throw e;
        },
      ),
    enabled: on,
    staleTime: 30_000,
  });
  return on ? (q.data ?? null) : null;
}

/** So many tasks can be chosen at once. */
export const MOST_CHOSEN = 10_000;
/** The tasks that match, in their order, with what actions need to know; `progress` hears how many there are so far. */
export async function readTasks(project: string, filter: Filter, order: string, progress: (n: number) => void): Promise<Task[]> {
  const size = 500;
  const body = {
    ...within(project, filter),
    order_by: [order],
    only_fields: ['name', 'status', 'status_reason', 'status_message', 'system_tags', 'tags', 'project.name'],
    page_size: size,
  };
  const out = new Map<string, Task>();
  for (let page = 0; out.size < MOST_CHOSEN; page++) {
    const { tasks } = await call('tasks.get_all_ex', { ...body, page });
    tasks.forEach((t) => out.set(t.id, t));
    progress(out.size);
    if (tasks.length < size) break;
  }
  return [...out.values()].slice(0, MOST_CHOSEN);
}

export const activeStatus = (s: string | undefined): boolean => s === 'in_progress' || s === 'queued' || s === 'publishing';

export function useTask(id: string) {
  return useQuery({
    queryKey: ['task', id],
    queryFn: ({ signal }) =>
      call('tasks.get_all_ex', { id: [id], search_hidden: true, only_fields: TASK_FIELDS }, { signal }).then((d) => {
        const t = d.tasks[0];
        if (!t) throw new ApiError('There is no task with this id', 404, 0, '', 'tasks.get_all_ex');
        return t;
      }),
    refetchInterval: (q) => (activeStatus(q.state.data?.status) ? 3_000 : 15_000),
  });
}

// What a task reports is asked for once more when its state changes: the state is part of the key, old data stays meanwhile.
export function useTimeline(id: string, status: string | undefined) {
  return useQuery<Timeline | null>({
    queryKey: ['x_tasks.timeline', id, status],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      call('x_tasks.timeline', { task: id }, { signal }).catch((e: unknown) => {
        // An older server has no such call: the page then draws what the task's own times say.
        if (e instanceof ApiError && (e.code === 404 || e.code === 400)) return null;
        throw e;
      }),
    refetchInterval: activeStatus(status) ? 3_000 : false,
  });
}

export function usePlots(task: string, status: string | undefined) {
  return useQuery<PlotEvent[]>({
    queryKey: ['events.get_task_plots', task, status],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      call('events.get_task_plots', { task, iters: 1, no_scroll: true }, { signal, timeoutMs: 60_000 }).then((d) => d.plots),
    refetchInterval: activeStatus(status) ? 10_000 : false,
  });
}

export function useImages(task: string, iters: number, status: string | undefined) {
  return useQuery<ImageEvent[]>({
    queryKey: ['events.debug_images', task, iters, status],
    queryFn: ({ signal }) =>
      call('events.debug_images', { metrics: [{ task }], iters }, { signal }).then((d) =>
        (d.metrics ?? []).flatMap((m) => m.iterations.flatMap((i) => i.events)),
      ),
    refetchInterval: activeStatus(status) ? 10_000 : false,
    placeholderData: keepPreviousData,
  });
}

export const useQueues = () =>
  useQuery<Queue[]>({
    queryKey: ['queues.get_all_ex'],
    queryFn: ({ signal }) => call('queues.get_all_ex', { page: 0, page_size: 500, order_by: ['name'] }, { signal }).then((d) => d.queues),
    refetchInterval: 5_000,
    placeholderData: keepPreviousData,
  });
export const useWorkers = () =>
  useQuery<Worker[]>({
    queryKey: ['workers.get_all'],
    queryFn: ({ signal }) => call('workers.get_all', { last_seen: 3600 }, { signal }).then((d) => d.workers),
    refetchInterval: 5_000,
    placeholderData: keepPreviousData,
  });

/** Tasks by id with few fields, for lists that hold only ids (queues, workers). */
export function useTasksById(ids: string[]) {
  const key = [...new Set(ids)].sort();
  return useQuery<Map<string, Task>>({
    queryKey: ['tasks.by_id', key],
    enabled: key.length > 0,
    queryFn: ({ signal }) =>
      call(
        'tasks.get_all_ex',
        {
          id: key,
          only_fields: [
            'name',
            'status',
            'user.name',
            'project.name',
            'created',
            'status_changed',
            'runtime.progress',
            'started',
            'last_iteration',
          ],
        },
        { signal },
      ).then((d) => new Map(d.tasks.map((t) => [t.id, t]))),
    refetchInterval: 5_000,
    placeholderData: keepPreviousData,
  });
}

/** The last lines of a console as plain records, for the summary. */
export function useLogTail(task: string, status: string | undefined, n: number) {
  return useQuery<LogLine[]>({
    queryKey: ['log-tail', task, status, n],
    queryFn: ({ signal }) =>
      call('x_events.log', { task, limit: n }, { signal }).then(
        (d) => (d.lines ?? []).map((l) => ({ n: l.n, t: l.t, level: l.level ?? '', text: l.text })),
        async (e: unknown) => {
          if (!(e instanceof ApiError) || e.code !== 404) throw e;
          const d = await call('events.get_task_log', { task, batch_size: n, order: 'asc', navigate_earlier: true }, { signal });
          return d.events
            .flatMap((v) =>
              v.msg
                .replace(/\n$/, '')
                .split('\n')
                .map((text) => ({ n: 0, t: v.timestamp, level: v.level ?? '', text })),
            )
            .slice(-n);
        },
      ),
    refetchInterval: activeStatus(status) ? 3_000 : false,
    placeholderData: keepPreviousData,
  });
}
