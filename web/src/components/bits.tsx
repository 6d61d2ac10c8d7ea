// The small marks of every list: status with icon and word, colour dot, tag, progress bar, spark line, copy button.
import { ActionIcon, Tooltip } from '@mantine/core';
import {
  IconBan,
  IconCheck,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconClock,
  IconCopy,
  IconHelpCircle,
  IconLock,
  IconPlayerStop,
} from '@tabler/icons-react';
import { useEffect, useState, type ComponentPropsWithoutRef, type ReactNode } from 'react';
import { runColor } from '../lib/color';
import { copyText } from '../lib/clipboard';
import { formatAgo, formatDate } from '../lib/format';
import type { Status } from '../lib/task';
import './bits.css';

export const I = { size: 16, stroke: 1.6 } as const;

const STATUS: Record<Status, { label: string; icon: ReactNode }> = {
  draft: { label: 'Draft', icon: <IconCircleDashed {...I} /> },
  queued: { label: 'Queued', icon: <IconClock {...I} /> },
  running: { label: 'Running', icon: null },
  stopping: { label: 'Stopping', icon: <IconPlayerStop {...I} /> },
  completed: { label: 'Completed', icon: <IconCircleCheck {...I} /> },
  failed: { label: 'Failed', icon: <IconCircleX {...I} /> },
  aborted: { label: 'Aborted', icon: <IconBan {...I} /> },
  published: { label: 'Published', icon: <IconLock {...I} /> },
  unknown: { label: 'Unknown', icon: <IconHelpCircle {...I} /> },
};
export const statusLabel = (s: Status): string => STATUS[s].label;

/** A ring filled to the progress; a quarter when none is known. */
export function Ring({ pct, size = 16 }: { pct: number; size?: number }) {
  const c = 2 * Math.PI * 6;
  return (
    <svg className="ring" width={size} height={size} viewBox="0 0 16 16" aria-hidden>
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeOpacity=".25" strokeWidth="2" />
      <circle
        cx="8"
        cy="8"
        r="6"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeDasharray={`${(c * pct) / 100} ${c}`}
        strokeLinecap="round"
        transform="rotate(-90 8 8)"
      />
    </svg>
  );
}
export function StatusBadge({ s, pct }: { s: Status; pct?: number | null }) {
  return (
    <span className={`st st-${s}`}>
      {s === 'running' ? <Ring pct={pct ?? 25} /> : STATUS[s].icon}
      <span>{STATUS[s].label}</span>
    </span>
  );
}
export const Tag = ({ children }: { children: string }) => (
  <span className={`tag${children.length > 4 ? '' : ' short'}`} title={children}>
    {children}
  </span>
);
const END = 24;
/** Right-to-left letters and marks do not stand being cut apart. */
const WHOLE = /[\p{M}\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;
/** Where a name may be cut in two: before its last part, or before its last letters. */
export function splitName(name: string, most = END): [head: string, tail: string] {
  const letters = Array.from(name);
  if (letters.length <= most || WHOLE.test(name)) return [name, ''];
  const slash = letters.lastIndexOf('/');
  const at = slash > 0 && letters.length - slash <= END ? slash : letters.length - 10;
  return [letters.slice(0, at).join(''), letters.slice(at).join('')];
}
/** A name that is told from others by its end: without room for all of it the end stays. `most`: so many letters always have room. Readers hear it whole. */
export function Mid({ children: name, most }: { children: string; most?: number }) {
  const [head, tail] = splitName(name, most);
  if (!tail) return <span className="cut">{name}</span>;
  return (
    <span className="mid">
      <span className="vh">{name}</span>
      <span aria-hidden>{head}</span>
      <span aria-hidden>{tail}</span>
    </span>
  );
}
export const Dot = ({ c }: { c: number }) => <span className="dot" style={{ background: runColor(c) }} aria-hidden />;

export function Bar({ pct, tone = 'run', label = 'Progress' }: { pct: number; tone?: string; label?: string }) {
  return (
    <span className="bar" role="progressbar" aria-label={label} aria-valuenow={Math.round(pct)} aria-valuemin={0} aria-valuemax={100}>
      <i style={{ width: `${pct}%`, background: `var(--${tone})` }} />
    </span>
  );
}

/** A small curve without axes; missing values are skipped. */
export function Spark({
  v,
  w = 48,
  h = 16,
  color = 'var(--spark)',
  fill = false,
  end = false,
}: {
  v: Array<number | null>;
  w?: number;
  h?: number;
  color?: string;
  fill?: boolean;
  end?: boolean;
}) {
  const nums = v.filter((x): x is number => x !== null && Number.isFinite(x));
  if (nums.length < 2) return <svg className="spark" width={w} height={h} aria-hidden />;
  const lo = nums.reduce((a, b) => Math.min(a, b)),
    hi = nums.reduce((a, b) => Math.max(a, b)),
    k = hi - lo || 1,
    p = 2;
  const pts = v
    .map((y, i) =>
      y === null || !Number.isFinite(y) ? null : ([p + (i / (v.length - 1)) * (w - 2 * p), h - p - ((y - lo) / k) * (h - 2 * p)] as const),
    )
    .filter((x) => x !== null);
  const d = pts.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
  const first = pts[0],
    last = pts[pts.length - 1];
  return (
    <svg className="spark" width={w} height={h} viewBox={`0 0 ${w} ${h}`} preserveAspectRatio="none" aria-hidden>
      {fill && first && last && <path d={`${d}L${last[0]} ${h}L${first[0]} ${h}Z`} fill={color} opacity=".12" />}
      <path d={d} fill="none" stroke={color} strokeWidth={h > 24 ? 1.5 : 1.25} strokeLinejoin="round" vectorEffect="non-scaling-stroke" />
      {end && last && (
        <path d={`M${last[0]} ${last[1]}h0`} stroke={color} strokeWidth="5" strokeLinecap="round" vectorEffect="non-scaling-stroke" />
      )}
    </svg>
  );
}

/** An icon with a name for everybody: tool tip on hover and focus, aria-label for readers. */
export function IconBtn({
  label,
  children,
  ...rest
}: { label: string; children: ReactNode; size?: number; 'data-on'?: boolean | undefined } & ComponentPropsWithoutRef<'button'>) {
  return (
    <Tooltip label={label} events={{ hover: true, focus: true, touch: false }}>
      <ActionIcon aria-label={label} {...rest}>
        {children}
      </ActionIcon>
    </Tooltip>
  );
}

function useCopied(): [boolean, (text: string) => void] {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const t = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(t);
  }, [done]);
  return [
    done,
    (text) => {
      void copyText(text).then(setDone);
    },
  ];
}
export function Copyable({ text, shown = text }: { text: string; shown?: string }) {
  const [done, copy] = useCopied();
  return (
    <button type="button" className="copy" aria-label={done ? `Copied ${shown}` : `Copy ${shown}`} title={text} onClick={() => copy(text)}>
      <span className="mono">{shown}</span>
      {done ? <IconCheck size={13} stroke={1.6} /> : <IconCopy size={13} stroke={1.6} />}
    </button>
  );
}
export function CodeBox({ children, label, text = children }: { children: string; label: string; text?: string }) {
  const [done, copy] = useCopied();
  return (
    <div className="codebox">
      <pre tabIndex={0}>
        <code>{children}</code>
      </pre>
      <button type="button" aria-label={`Copy ${label}`} onClick={() => copy(text)}>
        {done ? <IconCheck size={14} stroke={1.6} /> : <IconCopy size={14} stroke={1.6} />}
        {done ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}
/** An age that keeps itself fresh, with the exact time in the tip. */
export function Ago({ t }: { t: number }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const id = setInterval(() => tick((n) => n + 1), 15_000);
    return () => clearInterval(id);
  }, []);
  if (!Number.isFinite(t)) return <span className="nil">–</span>;
  return (
    <time dateTime={new Date(t).toISOString()} title={formatDate(t)}>
      {formatAgo(t)}
    </time>
  );
}
