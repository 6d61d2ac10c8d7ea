// Folds runs of progress-bar lines to their last state and marks errors, warnings and tracebacks. Works on what is loaded.
import { plainText } from './ansi';

export interface LogLine {
  n: number;
  t: number;
  level: string;
  text: string;
}
export type Mark = 'error' | 'warn' | 'trace' | '';
export interface LogRow {
  line: LogLine;
  plain: string;
  mark: Mark;
  folded: number;
  progress: Progress | null;
}
export interface Progress {
  before: string;
  pct: number;
  after: string;
}

// tqdm and friends: "eval: 62%|███   | 527/850 [00:57<00:35, 9.3it/s]"
const BAR = /^(.*?)(\d{1,3})\s?%\s?[|[]([^|\]]*)[|\]]\s*(.*)$/;

export function parseProgress(plain: string): Progress | null {
  const m = BAR.exec(plain);
  if (!m) return null;
  const pct = Number(m[2]);
  const bar = m[3] ?? '';
  if (pct > 100 || !/^[\s#=>.\-\u2580-\u259f█▏▎▍▌▋▊▉━╸╺0-9]*$/.test(bar)) return null;
  return { before: (m[1] ?? '').trimEnd(), pct, after: m[4] ?? '' };
}

const ERROR = /\b(ERROR|CRITICAL|FATAL)\b|^\s*(\w+\.)*\w*(Error|Exception)\b(:|\()|^Killed\b|CUDA out of memory/;
const WARN = /\bWARN(ING)?\b|\b\w*Warning:/;

export function markOf(level: string, plain: string): Mark {
  const l = level.toLowerCase();
  if (l === 'error' || l === 'critical' || l === 'fatal' || ERROR.test(plain)) return 'error';
  if (l === 'warning' || l === 'warn' || WARN.test(plain)) return 'warn';
  return '';
}

/** Rows to show: with `fold`, a bar's earlier states vanish into a count; frames of a Python traceback are tied to their error. */
export function foldLog(lines: LogLine[], fold: boolean): LogRow[] {
  const out: LogRow[] = [];
  let trace = false;
  for (const line of lines) {
    const plain = plainText(line.text);
    const progress = parseProgress(plain);
    const prev = out[out.length - 1];
    if (fold && progress && prev?.progress && prev.progress.before === progress.before && progress.pct >= prev.progress.pct) {
      out[out.length - 1] = { line: { ...line, n: prev.line.n }, plain, mark: '', folded: prev.folded + 1, progress };
      continue;
    }
    let mark = progress ? '' : markOf(line.level, plain);
    if (/^Traceback \(most recent call last\)/.test(plain)) {
      trace = true;
      mark = 'trace';
    } else if (trace && /^\s/.test(plain)) mark = 'trace';
    else if (trace) {
      trace = false;
      if (/^[\w.]+(:|$)/.test(plain)) mark = 'error';
    }
    out.push({ line, plain, mark, folded: 0, progress });
  }
  return out;
}
