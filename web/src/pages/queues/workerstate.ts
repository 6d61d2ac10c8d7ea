// Whether a worker is there, and from that why a task in a queue waits.
import type { Worker } from '../../api/types';
import { parseTime, plural } from '../../lib/format';

export type WorkerState = 'busy' | 'free' | 'lost';
const LOST_MS = 120_000;
export function workerState(w: Worker, now: number = Date.now()): WorkerState {
  const seen = Math.max(parseTime(w.last_activity_time) || 0, parseTime(w.last_report_time) || 0);
  if (seen && now - seen > LOST_MS) return 'lost';
  return w.task?.id ? 'busy' : 'free';
}

/** Why the task with `i` others before it waits; a worker that is lost starts nothing. */
export function whyWaits(i: number, workers: Worker[], now: number = Date.now()): string {
  if (workers.length === 0) return 'no worker listens to this queue';
  const there = workers.filter((w) => workerState(w, now) !== 'lost');
  if (there.length === 0) return workers.length === 1 ? 'its worker is lost' : `all ${workers.length} workers are lost`;
  if (i > 0) return `after ${plural(i, 'task')}`;
  const free = there.filter((w) => workerState(w, now) === 'free').length;
  if (free) return `about to start: ${plural(free, 'free worker')}`;
  return there.length === 1 ? 'the only worker is busy' : `all ${there.length} workers are busy`;
}
