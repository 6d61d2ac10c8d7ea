// The task table: header with sorting, virtual rows, roving focus; cards on a phone. Rows are always 32 px (cards 85 px).
import { Checkbox } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useMemo, useRef, useState, type CSSProperties } from 'react';
import { Mid } from '../../components/bits';
import { useKeys } from '../../lib/keys';
import { useNarrow } from '../../lib/media';
import { keepSpot, spotOf } from '../../lib/scroll';
import { betterIs } from '../../lib/task';
import { useWidth } from '../../lib/width';
import { cameBack, navigate, taskPath } from '../../router';
import { useSparks } from '../../api/sparks';
import { fitColumns, nextOrder, SPARKED, wordsOf, type Columns, type Found } from './columns';
import { TaskCard, TaskRow, type RowView } from './row';

export interface GridProps {
  rows: RowView[];
  cols: Columns;
  found: Found;
  order: string;
  setOrder: (o: string) => void;
  /** The columns were chosen for the user: what does not fit may be left out. */
  auto: boolean;
  wide: boolean;
  total: number | null;
  selected: Set<string>;
  setSelected: (s: Set<string>) => void;
  /** Keys of the row: an action for the chosen tasks, or for the one under the cursor when none is. */
  act: (what: RowAction, under: RowView) => void;
  more: boolean;
  loadMore: () => void;
}
export type RowAction = 'archive' | 'clone' | 'tags' | 'menu';
const ROW = 32,
  CARD = 85;

/** For each metric column the task with the best value among the rows on hand; finite numbers only, and only where there is a choice. */
export function bestOf(rows: RowView[], metrics: string[]): Map<string, string> {
  const out = new Map<string, string>();
  for (const k of metrics) {
    const low = betterIs(k) === 'min';
    let id = '',
      best = NaN,
      n = 0;
    for (const r of rows) {
      const v = r.metrics.get(k)?.value;
      if (v === null || v === undefined || !Number.isFinite(v)) continue;
      n++;
      if (id === '' || (low ? v < best : v > best)) {
        id = r.task.id;
        best = v;
      }
    }
    if (n > 1) out.set(k, id);
  }
  return out;
}

/** Least widths of the columns that every table has. */
const CHECK = 36,
  NAME = 220,
  STATUS = 168,
  PROJECT = 136,
  STARTED = 82,
  DURATION = 84;

const clamp = (lo: number, hi: number, v: number): number => Math.round(Math.min(hi, Math.max(lo, v)));
/** A parameter column is as wide as its head and first values need, within limits. */
const paramWidth = (rows: RowView[], key: string): number =>
  clamp(
    52,
    132,
    17 + Math.max((key.split('/').pop() ?? key).length * 7.2, ...rows.slice(0, 40).map((r) => (r.params.get(key)?.length ?? 0) * 7.3)),
  );
/** Wide enough for the names, as far as they are usual ones. */
const userWidth = (rows: RowView[]): number =>
  clamp(60, 110, 17 + Math.max(0, ...rows.slice(0, 40).map((r) => (r.task.user?.name?.length ?? 0) * 6.8)));

function Head({
  label,
  field,
  order,
  setOrder,
  cls = '',
  note,
  tip,
}: {
  label: string;
  field: string | null;
  order: string;
  setOrder: (o: string) => void;
  cls?: string;
  note?: string;
  tip?: string;
}) {
  const desc = order === `-${field}`,
    on = desc || order === field;
  const inner = (
    <>
      <Mid>{label}</Mid>
      {note && <small title={note === 'max' ? 'higher is better' : 'lower is better'}>{note}</small>}
      {on && (desc ? <IconArrowDown size={13} stroke={2} /> : <IconArrowUp size={13} stroke={2} />)}
    </>
  );
  return (
    <div
      role="columnheader"
      className={`c ${cls}${on ? ' sort' : ''}`}
      title={tip}
      aria-sort={on ? (desc ? 'descending' : 'ascending') : undefined}
    >
      {field ? (
        <button type="button" onClick={() => setOrder(nextOrder(field, order))}>
          {inner}
        </button>
      ) : (
        inner
      )}
    </div>
  );
}

export function TaskGrid(p: GridProps) {
  const { rows, selected, setSelected } = p;
  const narrow = useNarrow();
  const box = useRef<HTMLDivElement>(null);
  const room = useWidth(box);
  const [spot] = useState(() => (cameBack() ? spotOf(location.pathname + location.search) : null));
  const [cur, setCur] = useState(spot?.row ?? 0);
  // A range goes from the row touched last; keys that stretch it leave alone what was chosen before.
  const anchor = useRef<number>(0);
  const range = useRef<{ from: number; before: Set<string> } | null>(null);
  const rest = CHECK + NAME + STATUS + (p.wide ? PROJECT : 0) + STARTED + DURATION + userWidth(rows) + 8;
  const cols = useMemo(
    () =>
      fitColumns(
        p.cols,
        {
          metrics: p.cols.metrics.map((k, i) => (i < SPARKED ? 124 : clamp(96, 124, 44 + k.length * 6.6))),
          params: p.cols.params.map((k) => paramWidth(rows, k)),
        },
        room || Infinity,
        rest,
        p.auto,
      ),
    [p.cols, p.auto, rows, room, rest],
  );
  const words = useMemo(() => wordsOf(rows, p.cols.params), [rows, p.cols.params]);
  const best = useMemo(() => bestOf(rows, p.cols.metrics), [rows, p.cols.metrics]);
  const size = narrow ? CARD : ROW;
  const virt = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => size,
    overscan: 12,
    scrollPaddingStart: 32,
    initialOffset: spot?.top ?? 0,
  });
  // The place is kept under the address of this list, which has changed already when the list goes.
  const place = useRef({ address: '', row: 0 });
  useEffect(() => {
    place.current = { address: location.pathname + location.search, row: cur };
  });
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    if (spot) el.scrollTop = spot.top;
    let top = el.scrollTop;
    const scrolled = (): void => {
      top = el.scrollTop;
    };
    el.addEventListener('scroll', scrolled, { passive: true });
    return () => {
      el.removeEventListener('scroll', scrolled);
      keepSpot(place.current.address, { top, row: place.current.row });
    };
  }, [spot]);
  useEffect(() => virt.measure(), [size, virt]);
  const items = virt.getVirtualItems();
  const lastShown = items[items.length - 1]?.index ?? 0;
  const sparked = narrow ? [] : cols.metrics.slice(0, SPARKED);
  const sparks = useSparks(
    items.flatMap((v) => {
      const r = rows[v.index];
      if (!r) return [];
      return [{ task: r.task, metrics: sparked.flatMap((k) => r.metrics.get(k) ?? []).filter((m) => !m.single && m.count !== 1) }];
    }),
  );
  useEffect(() => {
    if (p.more && lastShown >= rows.length - 20) p.loadMore();
  }, [lastShown, rows.length, p.more]); // eslint-disable-line

  const idsBetween = useCallback(
    (a: number, b: number): string[] => rows.slice(Math.min(a, b), Math.max(a, b) + 1).map((r) => r.task.id),
    [rows],
  );
  const pick = useCallback(
    (id: string, toHere: boolean): void => {
      const i = rows.findIndex((r) => r.task.id === id);
      const next = new Set(selected);
      if (toHere) idsBetween(anchor.current, i).forEach((x) => next.add(x));
      else if (next.has(id)) next.delete(id);
      else next.add(id);
      anchor.current = i;
      range.current = null;
      setSelected(next);
    },
    [rows, selected, setSelected, idsBetween],
  );

  const focusRow = useCallback(
    (i: number): void => {
      const k = Math.max(0, Math.min(rows.length - 1, i));
      setCur(k);
      virt.scrollToIndex(k);
      requestAnimationFrame(() =>
        requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-index="${k}"]`)?.focus({ preventScroll: true })),
      );
    },
    [rows.length, virt],
  );
  const keys = useMemo(() => {
    const at = (): RowView | undefined => rows[cur];
    const open = (): void => {
      const r = at();
      if (r) navigate(taskPath(r.task.project?.id ?? '*', r.task.id));
    };
    // Enter belongs to whatever has the focus; with none it opens the current row, also while the focus is on its way there.
    const enter = (): void | false => (document.activeElement === document.body ? open() : false);
    const inGrid = (): boolean => !!box.current?.contains(document.activeElement);
    const to =
      (place: (now: number) => number) =>
      (e: KeyboardEvent): void => {
        const next = Math.max(0, Math.min(rows.length - 1, place(cur)));
        if (e.shiftKey) {
          range.current ??= { from: cur, before: selected };
          setSelected(new Set([...range.current.before, ...idsBetween(range.current.from, next)]));
          anchor.current = next;
        } else range.current = null;
        focusRow(next);
      };
    const step =
      (d: number) =>
      (e: KeyboardEvent): void =>
        inGrid() ? to((now) => now + d)(e) : focusRow(cur);
    const toggle = (e: KeyboardEvent): void => {
      const r = at();
      if (r) pick(r.task.id, e.shiftKey);
    };
    const act = (what: RowAction) => (): void => {
      const r = at();
      if (r) p.act(what, r);
    };
    return {
      j: step(1),
      J: step(1),
      k: step(-1),
      K: step(-1),
      ArrowDown: step(1),
      ArrowUp: step(-1),
      PageDown: step(15),
      PageUp: step(-15),
      Home: to(() => 0),
      End: to(() => rows.length - 1),
      o: open,
      Enter: enter,
      x: toggle,
      X: toggle,
      ' ': toggle,
      a: act('archive'),
      n: act('clone'),
      t: act('tags'),
      '.': act('menu'),
    };
  }, [rows, cur, focusRow, pick, selected, setSelected, idsBetween, p.act]);
  useKeys(keys, rows.length > 0);

  if (narrow) {
    return (
      <div className="gridwrap" ref={box}>
        <div className="cards" role="list" aria-label="Tasks" style={{ height: virt.getTotalSize() }}>
          {items.map((v) => {
            const r = rows[v.index];
            return r && <TaskCard key={r.task.id} view={r} cols={p.cols} best={best} top={v.start} showProject={p.wide} />;
          })}
        </div>
      </div>
    );
  }
  const fixed = [...cols.metricWidths, ...cols.paramWidths, STARTED, DURATION, userWidth(rows)];
  const template = [
    `${CHECK}px`,
    `minmax(${NAME}px, 1.2fr)`,
    `minmax(${STATUS}px, .8fr)`,
    ...(p.wide ? [`minmax(${PROJECT}px, .5fr)`] : []),
    ...fixed.map((w) => `${w}px`),
  ].join(' ');
  const min = rest + cols.metricWidths.concat(cols.paramWidths).reduce((a, w) => a + w, 0);
  const hash = new Map(p.found.metrics.map((m) => [m.key, m.hash]));
  const all = rows.length > 0 && rows.every((r) => selected.has(r.task.id));
  return (
    <div className="gridwrap" ref={box}>
      <div
        className="grid"
        role="grid"
        aria-rowcount={(p.total ?? rows.length) + 1}
        aria-label="Tasks"
        aria-multiselectable
        style={{ '--cols': template, minWidth: min } as CSSProperties}
      >
        <div role="rowgroup" className="thg">
          <div role="row" aria-rowindex={1} className="tr th">
            <div role="columnheader" className="c chk">
              <Checkbox
                checked={all}
                indeterminate={!all && selected.size > 0}
                onChange={() => setSelected(all ? new Set() : new Set(rows.map((r) => r.task.id)))}
                aria-label="Select all shown"
              />
            </div>
            <Head label="Name" field="name" order={p.order} setOrder={p.setOrder} cls="hname" />
            <Head label="Status" field="status" order={p.order} setOrder={p.setOrder} />
            {p.wide && <Head label="Project" field={null} order={p.order} setOrder={p.setOrder} />}
            {cols.metrics.map((k) => (
              <Head
                key={k}
                label={k}
                field={hash.has(k) ? `last_metrics.${hash.get(k)}.value` : null}
                order={p.order}
                setOrder={p.setOrder}
                cls="num"
                note={betterIs(k)}
                tip={k}
              />
            ))}
            {cols.params.map((k, i) => (
              <Head
                key={k}
                label={k.split('/').pop() ?? k}
                field={null}
                order={p.order}
                setOrder={p.setOrder}
                cls={`${words.has(k) ? '' : 'num'}${i === 0 ? ' p1' : ''}`}
                tip={k}
              />
            ))}
            <Head label="Started" field="started" order={p.order} setOrder={p.setOrder} />
            <Head label="Duration" field="active_duration" order={p.order} setOrder={p.setOrder} cls="num" />
            <Head label="User" field={null} order={p.order} setOrder={p.setOrder} />
          </div>
        </div>
        <div role="rowgroup" className="vrows" style={{ height: virt.getTotalSize() }}>
          {items.map((v) => {
            const r = rows[v.index];
            return (
              r && (
                <TaskRow
                  key={r.task.id}
                  view={r}
                  index={v.index}
                  cols={cols}
                  best={best}
                  words={words}
                  sparks={sparks}
                  selected={selected.has(r.task.id)}
                  current={v.index === Math.min(cur, rows.length - 1)}
                  wide={p.wide}
                  top={v.start}
                  height={ROW}
                  onSelect={pick}
                  onFocus={setCur}
                />
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}
