// The metric tree: groups by metric, a check box for each variant with its last value.
import { Checkbox } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { useState } from 'react';
import type { Curve } from '../../charts/curves';
import { Mid } from '../../components/bits';
import { byName, formatNumber, plural } from '../../lib/format';

export interface Group {
  metric: string;
  curves: Curve[];
}
const FOLD = 12;

export function groupCurves(curves: Curve[]): Group[] {
  const by = new Map<string, Curve[]>();
  for (const c of curves) by.set(c.metric, [...(by.get(c.metric) ?? []), c]);
  return [...by].map(([metric, cs]) => ({ metric, curves: cs.sort((a, b) => byName(a.variant, b.variant)) }));
}

/** "loss*, iou": any of the words; * stands for anything, else the word may be anywhere. */
export function matches(c: Pick<Curve, 'metric' | 'variant'>, find: string): boolean {
  const words = find
    .split(',')
    .map((s) => s.trim().toLowerCase())
    .filter(Boolean);
  if (words.length === 0) return true;
  const name = `${c.metric}/${c.variant}`.toLowerCase();
  return words.some((w) =>
    w.includes('*')
      ? new RegExp(
          `^${w
            .split('*')
            .map((p) => p.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
            .join('.*')}$`,
        ).test(name) ||
        name.split('/').some((part) =>
          new RegExp(
            `^${w
              .split('*')
              .map((p) => p.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
              .join('.*')}$`,
          ).test(part),
        )
      : name.includes(w),
  );
}

export function MetricTree({ groups, on, set, find }: { groups: Group[]; on: Set<string>; set: (s: Set<string>) => void; find: string }) {
  const [closed, setClosed] = useState<Record<string, boolean>>({});
  const [long, setLong] = useState<Record<string, boolean>>({});
  const total = groups.reduce((a, g) => a + g.curves.length, 0);
  const flip = (keys: string[], want: boolean): void => {
    const next = new Set(on);
    for (const k of keys)
      if (want) next.add(k);
      else next.delete(k);
    set(next);
  };
  return (
    <>
      <div className="thd">
        <span>{plural(total, 'curve')}</span>
        <span>{[...on].length} shown</span>
      </div>
      {groups.map((g) => {
        const cs = g.curves.filter((c) => matches(c, find));
        if (cs.length === 0) return null;
        const shut = closed[g.metric] ?? (g.metric.startsWith(':monitor:') && !find);
        const keys = cs.map((c) => c.key),
          n = keys.filter((k) => on.has(k)).length;
        const list = long[g.metric] || find ? cs : cs.slice(0, FOLD);
        return (
          <div key={g.metric} className="tg">
            <div className="tgh">
              <button type="button" aria-expanded={!shut} onClick={() => setClosed({ ...closed, [g.metric]: !shut })}>
                {shut ? <IconChevronRight size={13} stroke={1.8} /> : <IconChevronDown size={13} stroke={1.8} />}
                <b title={g.metric}>
                  <Mid>{g.metric}</Mid>
                </b>
              </button>
              <span className="neutral">
                <Checkbox
                  checked={n === keys.length}
                  indeterminate={n > 0 && n < keys.length}
                  onChange={() => flip(keys, n < keys.length)}
                  aria-label={`All of ${g.metric}`}
                />
              </span>
            </div>
            {!shut &&
              list.map((c) => (
                <label key={c.key} className="ti neutral">
                  <Checkbox checked={on.has(c.key)} onChange={(e) => flip([c.key], e.currentTarget.checked)} />
                  <span className="cut" title={c.variant}>
                    {c.variant || c.metric}
                  </span>
                  <em>{formatNumber(c.last)}</em>
                </label>
              ))}
            {!shut && list.length < cs.length && (
              <button type="button" className="tmore" onClick={() => setLong({ ...long, [g.metric]: true })}>
                {cs.length - list.length} more
              </button>
            )}
          </div>
        );
      })}
    </>
  );
}
