// Numbers, times and sizes as people read them: 4 significant digits, U+2212 minus, short ages, exact values kept for tool tips.

const minus = (s: string): string => s.replace(/-/g, '\u2212');

/** A metric value in a table or tip: 4 significant digits unless told, scientific below 1e-3 and above 1e6, words for what is no number. */
export function formatNumber(v: number | null | undefined, digits = 4): string {
  if (v === null || v === undefined) return '\u2013';
  if (Number.isNaN(v)) return 'NaN';
  if (!Number.isFinite(v)) return v > 0 ? '\u221e' : '\u2212\u221e';
  if (v === 0) return '0';
  const a = Math.abs(v);
  if (a < 0.001) return minus(v.toExponential(2).replace(/\.?0+e/, 'e'));
  if (a >= 1e6)
    return minus(
      v
        .toExponential(3)
        .replace(/\.?0+e/, 'e')
        .replace('e+', 'e'),
    );
  if (Number.isInteger(v)) return minus(v.toLocaleString('en'));
  return minus(a >= 1000 ? v.toLocaleString('en', { maximumFractionDigits: 1 }) : v.toPrecision(digits));
}

/** A whole number with thousands separators. */
export const formatCount = (n: number): string => n.toLocaleString('en');

/** An axis label: 1.5k, 42k, 2M, 1e−4; no digits that say nothing. */
export function formatTick(v: number): string {
  const a = Math.abs(v);
  if (v === 0) return '0';
  if (a < 0.001) return minus(v.toExponential(1).replace('.0e', 'e'));
  if (a >= 1e9) return minus(v.toExponential(0).replace('e+', 'e'));
  if (a >= 1e6) return minus(`${+(v / 1e6).toFixed(2)}M`);
  if (a >= 1000) return minus(`${+(v / 1000).toFixed(2)}k`);
  return minus(String(+v.toFixed(4)));
}

/** Bytes as kB, MB, GB (powers of 1000, as disks and downloads are sold). */
export function formatBytes(n: number | null | undefined): string {
  if (n === null || n === undefined || n < 0) return '\u2013';
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let v = n;
  let i = 0;
  while (v >= 999.5 && i < units.length - 1) {
    v /= 1000;
    i++;
  }
  return `${i === 0 || v >= 100 ? Math.round(v) : +v.toFixed(1)} ${units[i]}`;
}

/** A length of time from milliseconds: 40 ms, 3.3 s, 4 m 11 s, 1 h 02 m, 3 d 4 h. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms) || ms < 0) return '\u2013';
  if (ms < 100) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  const two = (n: number): string => String(n).padStart(2, '0');
  if (s < 3600) return `${Math.floor(s / 60)} m ${two(Math.floor(s % 60))} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} m`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

/** A tick on an axis of elapsed time: 30s, 5m, 1.5h. */
export function formatSpan(ms: number): string {
  const s = ms / 1000;
  if (s === 0) return '0';
  if (s < 60) return `${+s.toFixed(1)}s`;
  return s < 3600 ? `${+(s / 60).toFixed(1)}m` : `${+(s / 3600).toFixed(2)}h`;
}

/** The server's time strings (microseconds, with or without zone = UTC) as epoch ms; NaN when there is none. */
export function parseTime(s: string | null | undefined): number {
  if (!s) return NaN;
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(s) ? s : `${s}Z`);
}

/** How long ago, for lists: now, 12 s ago, 3 m ago, 5 h ago, 2 d ago, else the date. */
export function formatAgo(t: number, now: number = Date.now()): string {
  if (!Number.isFinite(t)) return '';
  const s = Math.max(0, (now - t) / 1000);
  if (s < 5) return 'now';
  if (s < 60) return `${Math.floor(s)} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} m ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  if (s < 30 * 86400) return `${Math.floor(s / 86400)} d ago`;
  return formatDay(t);
}

const pad = (n: number, w = 2): string => String(n).padStart(w, '0');

/** The day in the browser's zone, 2026-11-29. */
const formatDay = (t: number): string => {
  const d = new Date(t);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`;
};

/** Wall clock of the browser's zone, 14:02:11. */
export function formatClock(t: number): string {
  const d = new Date(t);
  return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

/** Full date and time with zone, for tool tips and facts. */
export function formatDate(t: number): string {
  if (!Number.isFinite(t)) return '\u2013';
  const d = new Date(t);
  const zone =
    new Intl.DateTimeFormat('en', { timeZoneName: 'short' }).formatToParts(d).find((p) => p.type === 'timeZoneName')?.value ?? '';
  return `${formatDay(t)} ${formatClock(t)} ${zone}`;
}

/** Times that a text gives in UTC ("2026-11-29 18:23:55 UTC", as the SDK writes into comments), in the zone of all others. */
export const inZone = (text: string): string =>
  text.replace(/\b(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)? ?(?:UTC|Z)\b/g, (all, day: string, time: string) => {
    const t = Date.parse(`${day}T${time}Z`);
    return Number.isNaN(t) ? all : formatDate(t);
  });

/** 1st, 2nd, 3rd, 11th. */
export function ordinal(n: number): string {
  const r = n % 100;
  const end = r >= 11 && r <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th');
  return `${n}${end}`;
}

/** Right form of a noun: plural(1, 'task') = "1 task". */
export const plural = (n: number, noun: string): string => `${formatCount(n)} ${noun}${n === 1 ? '' : 's'}`;

const collator = new Intl.Collator('en', { numeric: true });
/** Order of names as people read them: layer_9 before layer_10. */
export const byName = (a: string, b: string): number => collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
