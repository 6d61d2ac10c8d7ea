// What can be done to a task, when, and why not: one row an action, used by buttons, menus and the bulk bar alike.
import { ApiError, call } from './call';
import { client } from './queries';
import type { Task } from './types';
import { isArchived, statusOf, type Status } from '../lib/task';

export type ActionName = 'enqueue' | 'dequeue' | 'abort' | 'reset' | 'publish' | 'clone' | 'archive' | 'unarchive' | 'delete';
interface Rule {
  label: string;
  from: Status[] | 'any';
  why: string;
}

export const RULES: Record<ActionName, Rule> = {
  enqueue: { label: 'Enqueue', from: ['draft', 'aborted', 'failed'], why: 'Completed tasks must be reset or cloned first' },
  dequeue: { label: 'Dequeue', from: ['queued'], why: 'It waits in no queue' },
  abort: { label: 'Abort', from: ['running', 'queued', 'stopping'], why: 'It is not running' },
  reset: { label: 'Reset', from: ['completed', 'failed', 'aborted', 'queued'], why: 'Only a task that has ended can be reset' },
  publish: { label: 'Publish', from: ['completed', 'aborted'], why: 'Only a completed task can be published' },
  clone: { label: 'Clone', from: 'any', why: '' },
  archive: { label: 'Archive', from: 'any', why: 'It is archived already' },
  unarchive: { label: 'Restore', from: 'any', why: 'It is not archived' },
  delete: {
    label: 'Delete',
    from: ['draft', 'completed', 'failed', 'aborted'],
    why: 'Running, queued and published tasks cannot be deleted',
  },
};

/** null when the action fits this task, else the reason why it does not. */
export function refusal(name: ActionName, t: Task): string | null {
  const r = RULES[name];
  if (name === 'archive' && isArchived(t)) return r.why;
  if (name === 'unarchive' && !isArchived(t)) return r.why;
  if (r.from !== 'any' && !r.from.includes(statusOf(t))) return r.why;
  return null;
}

/** After any change: the lists are fetched again, and the tasks themselves unless they are gone. */
export async function refresh(...ids: string[]): Promise<void> {
  const keys: string[][] = [
    ['tasks.get_all_ex'],
    ['tasks.count'],
    ['tasks.by_id'],
    ['queues.get_all_ex'],
    ['projects.get_all_ex'],
    ...(ids.length > 1 ? [['task'], ['x_tasks.timeline']] : []),
    ...(ids.length === 1
      ? ids.flatMap((id) => [
          ['task', id],
          ['x_tasks.timeline', id],
        ])
      : []),
  ];
  await Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })));
}

const BY = 'set in the web page';
/** What was not done, with the server's reason. */
export interface Refused {
  id: string;
  why: string;
}
interface ManyAnswer {
  failed?: unknown;
}
export type ManyName = Exclude<ActionName, 'clone' | 'enqueue'>;
const MANY: Record<ManyName, (ids: string[], clearAll: boolean) => Promise<ManyAnswer>> = {
  dequeue: (ids) => call('tasks.dequeue_many', { ids, status_reason: BY }),
  abort: (ids) => call('tasks.stop_many', { ids, status_reason: BY }),
  reset: (ids, clear_all) => call('tasks.reset_many', { ids, clear_all, delete_output_models: true, delete_external_artifacts: true }),
  publish: (ids) => call('tasks.publish_many', { ids, status_reason: BY, publish_model: true }),
  archive: (ids) => call('tasks.archive_many', { ids }),
  unarchive: (ids) => call('tasks.unarchive_many', { ids }),
  delete: (ids) => call('tasks.delete_many', { ids, force: true, delete_output_models: true, delete_external_artifacts: true }),
};
/** So many tasks go with one call: each call is soon done, and the page can tell how far it is. */
const BATCH = 100;

/** Calls for a hundred ids at a time; what one call refuses stops no other. */
async function inBatches(
  ids: string[],
  send: (ids: string[]) => Promise<ManyAnswer>,
  progress?: (done: number) => void,
): Promise<Refused[]> {
  const refused: Refused[] = [];
  for (let i = 0; i < ids.length; i += BATCH) {
    const part = ids.slice(i, i + BATCH);
    try {
      const d = await send(part);
      for (const f of (d.failed ?? []) as Array<{ id: string; error?: { msg?: string } }>)
        refused.push({ id: f.id, why: f.error?.msg ?? 'no reason given' });
    } catch (e) {
      // Nothing of this part was done; a server that does not answer is asked no more.
      const why = e instanceof Error ? e.message : String(e);
      const lost = e instanceof ApiError && e.code === 0 ? ids.slice(i) : part;
      refused.push(...lost.map((id) => ({ id, why })));
      if (lost !== part) break;
    }
    progress?.(Math.min(ids.length, i + BATCH));
  }
  return refused;
}

export async function actMany(
  name: ManyName,
  ids: string[],
  opt: { clearAll?: boolean; progress?: (done: number) => void } = {},
): Promise<Refused[]> {
  const refused = await inBatches(ids, (part) => MANY[name](part, opt.clearAll ?? false), opt.progress);
  await (name === 'delete' ? refresh() : refresh(...ids));
  return refused;
}

/** One task; refused is an error with the server's reason. */
export async function act(name: ManyName, id: string): Promise<void> {
  const [no] = await actMany(name, [id]);
  if (no) throw new Error(no.why);
}

export async function enqueueMany(ids: string[], queue: string, progress?: (done: number) => void): Promise<Refused[]> {
  const refused = await inBatches(ids, (part) => call('tasks.enqueue_many', { ids: part, queue, verify_watched_queue: true }), progress);
  await refresh(...ids);
  return refused;
}

export async function enqueue(t: Pick<Task, 'id'>, queue: string): Promise<{ queue_watched?: boolean }> {
  const d = await call('tasks.enqueue', { task: t.id, queue, verify_watched_queue: true });
  await refresh(t.id);
  return d;
}

export async function editTags(ids: string[], add: string[], remove: string[]): Promise<void> {
  for (let i = 0; i < ids.length; i += BATCH)
    await call('tasks.update_tags', { ids: ids.slice(i, i + BATCH), add_tags: add, remove_tags: remove });
  await refresh(...ids);
}

export interface CloneWish {
  name: string;
  comment: string;
  params: Record<string, Record<string, { section: string; name: string; value: string; type?: string }>> | null;
}
export async function clone(t: Task, wish: CloneWish): Promise<string> {
  const d = await call('tasks.clone', {
    task: t.id,
    new_task_name: wish.name,
    new_task_comment: wish.comment,
    new_task_parent: t.id,
    ...(wish.params ? { new_task_hyperparams: wish.params } : {}),
  });
  await refresh();
  return d.id;
}
