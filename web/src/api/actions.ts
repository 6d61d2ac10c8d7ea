// What can be done to a task, when, and why not: one row an action, used by buttons, menus and the bulk bar alike.
import { call } from './call';
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

/** After any change: the lists are fetched again, and the task itself unless it is gone. */
export async function refresh(id: string | null): Promise<void> {
  const keys: string[][] = [
    ['tasks.get_all_ex'],
    ['tasks.by_id'],
    ['queues.get_all_ex'],
    ['projects.get_all_ex'],
    ...(id
      ? [
          ['task', id],
          ['x_tasks.timeline', id],
        ]
      : []),
  ];
  await Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })));
}

const BY = 'set in the web page';
export async function act(name: Exclude<ActionName, 'clone' | 'enqueue'>, t: Task, opt: { clearAll?: boolean } = {}): Promise<void> {
  const base = { task: t.id, status_reason: BY };
  switch (name) {
    case 'dequeue':
      await call('tasks.dequeue', base);
      break;
    case 'abort':
      await call('tasks.stop', base);
      break;
    case 'reset':
      await call('tasks.reset', { ...base, clear_all: opt.clearAll ?? false, delete_output_models: true, delete_external_artifacts: true });
      break;
    case 'publish':
      await call('tasks.publish', { ...base, publish_model: true });
      break;
    case 'archive':
      await call('tasks.archive', { tasks: [t.id] });
      break;
    case 'unarchive':
      await call('tasks.edit', { task: t.id, system_tags: (t.system_tags ?? []).filter((s) => s !== 'archived'), force: true });
      break;
    case 'delete':
      await call('tasks.delete', { task: t.id, force: true, delete_output_models: true, delete_external_artifacts: true });
      break;
  }
  await refresh(name === 'delete' ? null : t.id);
}

export async function enqueue(t: Pick<Task, 'id'>, queue: string): Promise<{ queue_watched?: boolean }> {
  const d = await call('tasks.enqueue', { task: t.id, queue, verify_watched_queue: true });
  await refresh(t.id);
  return d;
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
  await refresh(null);
  return d.id;
}
