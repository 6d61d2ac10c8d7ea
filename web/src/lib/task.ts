// What a task says of itself, in our words: status, reason, progress, times, metrics, parameters.
import type { LastMetric, Task } from '../api/types';
import { wireNumber } from '../api/call';
import { byName, parseTime } from './format';

export type Status = 'draft' | 'queued' | 'running' | 'stopping' | 'completed' | 'failed' | 'aborted' | 'published' | 'unknown';

export function statusOf(t: Pick<Task, 'status' | 'status_message'>): Status {
  switch (t.status) {
    case 'created':
      return 'draft';
    case 'queued':
      return 'queued';
    case 'in_progress':
      return t.status_message === 'stopping' ? 'stopping' : 'running';
    case 'completed':
    case 'closed':
      return 'completed';
    case 'failed':
      return 'failed';
    case 'stopped':
      return 'aborted';
    case 'published':
    case 'publishing':
      return 'published';
    default:
      return 'unknown';
  }
}

/** 0–100 as the SDK reports it in runtime.progress, else null. */
export function progressOf(t: Task): number | null {
  const v = Number(t.runtime?.['progress'] ?? NaN);
  return Number.isFinite(v) ? Math.max(0, Math.min(100, v)) : null;
}

// "Changed by …" is what clients write when they have nothing to say.
const NOISE =
  /^changed by |^(ok|reset|publish|published|completed|stopping|queued|enqueued|in_progress|created|running|dequeued|started|stopped|aborted)?$/i;

/** The reason in words, when the server has one that says more than the status does. */
export function reasonOf(t: Task): string {
  const msg = (t.status_message ?? '').trim(),
    why = (t.status_reason ?? '').trim();
  const s = statusOf(t);
  if (s === 'queued') return t.execution?.queue?.name ? `in ${t.execution.queue.name}` : '';
  if (s === 'draft' || s === 'running' || s === 'completed' || s === 'published') return '';
  if (!NOISE.test(msg)) return msg;
  return NOISE.test(why) ? '' : why;
}

/** The server's "failed: reason (message)" without the state, which stands beside it, and without a message that says nothing. */
export function whyWords(text: string | undefined): string {
  const m = /^\w+: ([\s\S]*?)(?: \(([\s\S]+)\))?$/.exec(text ?? '');
  const said = !m ? (text ?? '') : m[2] && !NOISE.test(m[2]) ? m[2] : (m[1] ?? '');
  return NOISE.test(said) ? '' : said;
}

/** Milliseconds the task has run: the server's own count, else from start to end or now. */
export function durationOf(t: Task, now: number = Date.now()): number | null {
  const start = parseTime(t.started);
  if (statusOf(t) === 'running' || statusOf(t) === 'stopping') return Number.isFinite(start) ? Math.max(0, now - start) : null;
  // The server counts whole seconds; for a shorter run its two times say more.
  if (t.active_duration) return t.active_duration * 1000;
  const end = parseTime(t.completed);
  return Number.isFinite(start) && Number.isFinite(end) ? Math.max(0, end - start) : t.active_duration === 0 ? 0 : null;
}

export interface Metric {
  key: string;
  hash: string;
  metric: string;
  variant: string;
  value: number | null;
  min: number | null;
  max: number | null;
  minAt: number;
  maxAt: number;
  count: number;
  /** Reported once for the whole run, at no iteration. */
  single: boolean;
}
const isNum = wireNumber;
/** The iteration that the wire gives to a value without one. */
const NO_ITERATION = -(2 ** 31);
function toMetric(hash: string, m: LastMetric): Metric {
  const metric = m.metric ?? '',
    variant = m.variant ?? '';
  return {
    key: metric === variant || !variant ? metric : `${metric}/${variant}`,
    hash,
    metric,
    variant,
    value: isNum(m.value),
    min: isNum(m.min_value),
    max: isNum(m.max_value),
    minAt: m.min_value_iteration ?? 0,
    maxAt: m.max_value_iteration ?? 0,
    count: m.count ?? 0,
    single: m.min_value_iteration === NO_ITERATION,
  };
}
/** The last values of a task, machine monitors left out unless asked for. */
export function metricsOf(t: Task, monitors = false): Metric[] {
  const out: Metric[] = [];
  for (const [mh, vs] of Object.entries(t.last_metrics ?? {})) {
    for (const [vh, m] of Object.entries(vs))
      if (monitors || !(m.metric ?? '').startsWith(':monitor:')) out.push(toMetric(`${mh}.${vh}`, m));
  }
  return out.sort((a, b) => byName(a.key, b.key));
}

const LOWER = /loss|err(or)?|perplex|ppl|mse|mae|rmse|wer|cer|fid|nll|latency|time|_ms|grad_norm/i;
/** Which direction is better, guessed from the name; said in the column head so that nobody has to guess along. */
export const betterIs = (key: string): 'min' | 'max' => (LOWER.test(key) ? 'min' : 'max');
/** Metrics of interest first: quality before speed, validation before training. */
export function rankMetric(key: string): number {
  const k = key.toLowerCase();
  let s = 0;
  if (/val|test|eval/.test(k)) s -= 4;
  if (/acc|iou|f1|auc|map|dice|bleu|rouge|score/.test(k)) s -= 3;
  if (/loss/.test(k)) s -= 2;
  if (/lr|learning_rate|per_s|speed|time|grad|epoch/.test(k)) s += 3;
  return s;
}

/** Parameters flat as "section/name"; the most usual section "General" and "Args" keep their bare names. */
export function paramsOf(t: Task): Map<string, string> {
  const out = new Map<string, string>();
  for (const [section, ps] of Object.entries(t.hyperparams ?? {})) {
    if (section === 'properties') continue;
    for (const [name, p] of Object.entries(ps))
      out.set(section === 'General' || section === 'Args' ? name : `${section}/${name}`, p.value ?? '');
  }
  return out;
}
export const isArchived = (t: Task): boolean => (t.system_tags ?? []).includes('archived');
export const parentId = (t: Task): string | null => (typeof t.parent === 'string' ? t.parent : (t.parent?.id ?? null));
export const shortId = (id: string): string => id.slice(0, 8);
