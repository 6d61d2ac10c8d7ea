// Stages of a task's life as the bar draws them: from the server's timeline, or from the task's own times.
import type { Stage, Task } from '../../api/types';
import { parseTime } from '../../lib/format';
import { statusOf } from '../../lib/task';

/** What an older server's task says of its own times. */
export function fromTask(t: Task): Stage[] {
  const s = statusOf(t),
    live = s === 'running' || s === 'stopping';
  if (s === 'queued') return [{ name: 'queued', started: t.status_changed ?? '' }];
  if (!t.started) return [];
  const out: Stage[] = [];
  if (t.execution?.queue && t.created && parseTime(t.started) > parseTime(t.created))
    out.push({ name: 'before start', started: t.created, ended: t.started });
  out.push({
    name: 'running',
    started: t.started,
    ...(live ? {} : { ended: t.completed ?? t.status_changed ?? t.started }),
    ok: s !== 'failed',
  });
  return out;
}
export interface Part {
  name: string;
  started: number;
  ended: number | null;
  ok: boolean;
  detail: string;
}
export function part(s: Stage): Part | null {
  const started = parseTime(s.started),
    ended = parseTime(s.ended);
  return Number.isFinite(started)
    ? { name: s.name ?? '', started, ended: Number.isFinite(ended) ? ended : null, ok: s.ok !== false, detail: s.detail ?? '' }
    : null;
}
/** In order of begin; a "running" that spans what its agent did first begins where those stages end. */
export function inOrder(parts: Part[]): Part[] {
  const sorted = [...parts].sort((a, b) => a.started - b.started);
  const out = sorted.map((p) => {
    if (p.name !== 'running') return p;
    const inside = sorted.filter((o) => o !== p && o.started >= p.started && o.ended !== null && (p.ended === null || o.ended <= p.ended));
    return { ...p, started: inside.reduce((t, o) => Math.max(t, o.ended ?? 0), p.started) };
  });
  return out.sort((a, b) => a.started - b.started);
}
