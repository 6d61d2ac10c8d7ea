// Console: follows by long poll, virtual lines with ANSI classes, search over loaded lines, levels, folded progress bars, a tick gutter.
import { SegmentedControl, Switch } from '@mantine/core';
import { IconArrowDown, IconDownload, IconFold, IconTextWrap } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import type { Task } from '../../api/types';
import { I, IconBtn } from '../../components/bits';
import { Empty, Failed, LoadingRows } from '../../components/states';
import { toastError } from '../../components/toast';
import { plainText } from '../../lib/ansi';
import { saveText } from '../../lib/clipboard';
import { formatCount, parseTime, plural } from '../../lib/format';
import { useKeys } from '../../lib/keys';
import { foldLog, type LogLine, type LogRow } from '../../lib/logfold';
import { useNarrow } from '../../lib/media';
import { activeStatus } from '../../api/queries';
import { useParam } from '../../router';
import { Line, type Stamp } from './line';
import { LogReader, type LogState } from './log';
import { LogSearch } from './logsearch';
import './console.css';

type Level = 'all' | 'warn' | 'error';
const levelOk = (r: LogRow, l: Level): boolean =>
  l === 'all' || (l === 'warn' ? r.mark === 'warn' : r.mark === 'error' || r.mark === 'trace');

function useLog(task: string): [LogState, () => Promise<boolean>, () => Promise<LogLine[]>, () => void] {
  const [round, setRound] = useState(0);
  const [state, setState] = useState<LogState>({ lines: [], total: null, earlier: false, loading: true, error: null, open: true });
  const reader = useRef<LogReader | null>(null);
  useEffect(() => {
    const r = new LogReader(task, setState);
    reader.current = r;
    void r.start();
    return () => r.end();
  }, [task, round]);
  return [
    state,
    useCallback(() => reader.current?.loadEarlier() ?? Promise.resolve(false), []),
    useCallback(() => reader.current?.whole() ?? Promise.resolve([]), []),
    () => setRound(round + 1),
  ];
}

function Gutter({ rows, hits, top, part }: { rows: LogRow[]; hits: number[]; top: number; part: number }) {
  const at = (i: number): string => `${(100 * i) / Math.max(1, rows.length)}%`;
  const step = Math.max(1, Math.ceil(hits.length / 200));
  const marks: Array<[number, string]> = [];
  rows.forEach((r, i) => {
    if (r.mark === 'error') marks.push([i, 'e']);
    else if (r.mark === 'warn') marks.push([i, 'w']);
  });
  const few = Math.max(1, Math.ceil(marks.length / 300));
  return (
    <div className="gut" aria-hidden>
      {part < 1 && <span className="vp" style={{ top: `${top * 100}%`, height: `${Math.max(1.5, part * 100)}%` }} />}
      {hits
        .filter((_, i) => i % step === 0)
        .map((h) => (
          <i key={`h${h}`} className="h" style={{ top: at(h) }} />
        ))}
      {marks
        .filter((_, i) => i % few === 0)
        .map(([i, c]) => (
          <i key={`m${i}`} className={c} style={{ top: at(i) }} />
        ))}
    </div>
  );
}

export default function Console({ task: t }: { task: Task }) {
  const [log, loadEarlier, whole, again] = useLog(t.id);
  const narrow = useNarrow();
  const [level, setLevel] = useState<Level>('all');
  const [stamp, setStamp] = useState<Stamp>('clock');
  const [fold, setFold] = useState(true);
  const [wrapOn, setWrap] = useState(false);
  const [find, setFind] = useParam('q', '');
  const [hitLine, setHitLine] = useState<number | null>(null);
  const [follow, setFollow] = useState(() => !/^#L\d+/.test(location.hash));
  const [marked, setMarked] = useState<number>(() => Number(/^#L(\d+)/.exec(location.hash)?.[1] ?? 0));
  const [seen, setSeen] = useState(0);
  const [view, setView] = useState({ top: 0, part: 1 });
  const wrap = wrapOn || narrow;
  const box = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const auto = useRef(false);

  const all = useMemo(() => foldLog(log.lines, fold), [log.lines, fold]);
  const warns = useMemo(() => all.filter((r) => r.mark === 'warn').length, [all]);
  const errors = useMemo(() => all.filter((r) => r.mark === 'error').length, [all]);
  const rows = useMemo(() => (level === 'all' ? all : all.filter((r) => levelOk(r, level))), [all, level]);
  const hits = useMemo(() => {
    const w = find.toLowerCase();
    if (w === '') return [];
    const out: number[] = [];
    rows.forEach((r, i) => {
      if (r.plain.toLowerCase().includes(w)) out.push(i);
    });
    return out;
  }, [rows, find]);

  // The current hit is kept by its line: earlier pages that arrive shift every index.
  const hit = hitLine === null ? -1 : hits.findIndex((h) => rows[h]?.line.n === hitLine);
  const virt = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 20,
    overscan: 30,
    paddingStart: 6,
    paddingEnd: 6,
  });
  useEffect(() => virt.measure(), [wrap, virt]);
  const toEnd = useCallback(() => {
    auto.current = true;
    virt.scrollToIndex(Math.max(0, rows.length - 1), { align: 'end' });
    requestAnimationFrame(() => {
      const el = box.current;
      if (el) el.scrollTop = el.scrollHeight;
    });
  }, [rows.length, virt]);
  // New lines: stay at the end while following, count them otherwise.
  const newest = log.lines[log.lines.length - 1]?.n ?? 0;
  useEffect(() => {
    if (follow && rows.length) {
      toEnd();
      setSeen(newest);
    }
  }, [rows.length, newest, follow, toEnd]);
  // A line from the address, once it is loaded.
  const jumped = useRef(false);
  useEffect(() => {
    if (!marked || jumped.current || rows.length === 0) return;
    const i = rows.findIndex((r) => r.line.n >= marked);
    if (i > 0 || (rows[0]?.line.n ?? 0) <= marked) {
      jumped.current = true;
      virt.scrollToIndex(Math.max(0, i), { align: 'center' });
    } else void loadEarlier();
  }, [marked, rows, virt, loadEarlier]);

  // Earlier pages keep the reader's place: the rows that came in front are scrolled over.
  const first = log.lines[0]?.n ?? 0;
  const before = useRef({ first: 0, rows: 0 });
  useEffect(() => {
    const b = before.current;
    if (b.first && first < b.first && !follow) {
      const el = box.current;
      if (el) el.scrollTop += (rows.length - b.rows) * 20;
    }
    before.current = { first, rows: rows.length };
  }, [first, rows.length, follow]);

  const onScroll = (): void => {
    const el = box.current;
    if (!el) return;
    const end = el.scrollHeight - el.scrollTop - el.clientHeight < 24;
    if (!end && follow && !auto.current) setFollow(false);
    if (end) {
      auto.current = false;
      if (!follow && log.open && activeStatus(t.status)) setFollow(true);
      setSeen(newest);
    }
    if (el.scrollTop < 400) void loadEarlier();
    setView({ top: el.scrollTop / Math.max(1, el.scrollHeight), part: el.clientHeight / Math.max(1, el.scrollHeight) });
  };
  const goHit = useCallback(
    (d: number): void => {
      if (hits.length === 0) return;
      const k = hit < 0 ? (d > 0 ? hits.length - 1 : 0) : (hit + d + hits.length) % hits.length;
      setHitLine(rows[hits[k] ?? 0]?.line.n ?? null);
      setFollow(false);
      virt.scrollToIndex(hits[k] ?? 0, { align: 'center' });
    },
    [hits, hit, rows, virt],
  );
  // While something is searched, what is not loaded yet is fetched, so that the count becomes true.
  useEffect(() => {
    if (find && log.earlier) void loadEarlier();
  }, [find, log.earlier, first, loadEarlier]);
  useEffect(() => setHitLine(null), [find, level]);
  const setFollowing = useCallback(
    (on: boolean): void => {
      setFollow(on);
      if (on) {
        setLevel('all');
        toEnd();
      }
    },
    [toEnd],
  );
  useKeys(
    useMemo(
      () => ({
        '/': () => {
          search.current?.focus();
          search.current?.select();
        },
        f: () => setFollowing(!follow),
        n: () => goHit(1),
        p: () => goHit(-1),
        End: () => setFollowing(true),
        Home: () => {
          setFollow(false);
          virt.scrollToIndex(0);
        },
      }),
      [follow, setFollowing, goHit, virt],
    ),
  );
  const mark = useCallback((n: number): void => {
    setMarked(n);
    history.replaceState(null, '', `${location.pathname}${location.search}#L${n}`);
  }, []);
  const scrollKeys = (e: KeyboardEvent): void => {
    const i = rows.findIndex((r) => r.line.n === marked);
    if ((e.key === 'ArrowDown' || e.key === 'ArrowUp') && e.altKey === false && i >= 0) {
      const r = rows[Math.max(0, Math.min(rows.length - 1, i + (e.key === 'ArrowDown' ? 1 : -1)))];
      if (r) {
        e.preventDefault();
        mark(r.line.n);
        virt.scrollToIndex(rows.indexOf(r), { align: 'auto' });
      }
    }
  };
  const download = async (): Promise<void> => {
    try {
      saveText(`${t.id}.log`, `${(await whole()).map((l) => plainText(l.text)).join('\n')}\n`);
    } catch (e) {
      toastError('The log was not downloaded', e);
    }
  };
  const total = log.total ?? log.lines.length;
  const unseen = Math.max(0, newest - seen);
  const t0 = parseTime(t.started);
  return (
    <div className="body con">
      <div className="ctool">
        <LogSearch
          box={search}
          find={find}
          setFind={setFind}
          hits={hits.length}
          at={hit}
          go={goHit}
          partial={log.earlier ? log.lines.length : null}
        />
        <SegmentedControl
          data={[
            { label: 'All', value: 'all' },
            { label: `Warnings ${warns}`, value: 'warn' },
            { label: `Errors ${errors}`, value: 'error' },
          ]}
          value={level}
          onChange={(v) => setLevel(v as Level)}
          aria-label="Level"
        />
        <SegmentedControl
          className="hide-m"
          data={[
            { label: 'Clock', value: 'clock' },
            { label: 'Elapsed', value: 'elapsed' },
            { label: 'Off', value: 'off' },
          ]}
          value={stamp}
          onChange={(v) => setStamp(v as Stamp)}
          aria-label="Time stamps"
        />
        <span className="sp" />
        <span className="mut hide-s num-s nw">{plural(total, 'line')}</span>
        <IconBtn label="Fold progress bars" data-on={fold || undefined} aria-pressed={fold} onClick={() => setFold(!fold)}>
          <IconFold {...I} />
        </IconBtn>
        {!narrow && (
          <IconBtn label="Wrap lines" data-on={wrap || undefined} aria-pressed={wrap} onClick={() => setWrap(!wrap)}>
            <IconTextWrap {...I} />
          </IconBtn>
        )}
        <IconBtn
          label="Download log"
          onClick={() => {
            void download();
          }}
        >
          <IconDownload {...I} />
        </IconBtn>
        <Switch label="Follow" className="hide-s" checked={follow} onChange={(e) => setFollowing(e.currentTarget.checked)} />
      </div>
      {log.error && log.lines.length === 0 ? (
        <Failed what="The console could not be loaded" error={log.error} retry={again} />
      ) : log.loading ? (
        <LoadingRows n={16} />
      ) : log.lines.length === 0 ? (
        <Empty title={activeStatus(t.status) ? 'No line yet' : 'This task wrote nothing'}>
          {activeStatus(t.status) ? 'The first line appears here by itself.' : 'Nothing was captured from its standard output.'}
        </Empty>
      ) : rows.length === 0 ? (
        <Empty title={`No ${level === 'warn' ? 'warnings' : 'errors'} in ${formatCount(log.lines.length)} lines`} />
      ) : (
        <div className="log">
          <div
            className={`lines mono${wrap ? ' wrap' : ''} s-${stamp}`}
            ref={box}
            onScroll={onScroll}
            onKeyDown={scrollKeys}
            onWheel={() => {
              auto.current = false;
            }}
            onPointerDown={() => {
              auto.current = false;
            }}
            role="log"
            aria-label="Console"
            aria-live="off"
            tabIndex={0}
          >
            <div style={{ height: virt.getTotalSize(), position: 'relative', minWidth: '100%' }}>
              {virt.getVirtualItems().map((v) => {
                const r = rows[v.index];
                return (
                  r && (
                    <div
                      key={v.key}
                      ref={wrap ? virt.measureElement : undefined}
                      data-index={v.index}
                      className={`ln ${r.mark}${hits[hit] === v.index ? ' curln' : ''}${marked === r.line.n ? ' marked' : ''}`}
                      style={{ transform: `translateY(${v.start}px)` }}
                    >
                      <Line row={r} stamp={stamp} t0={t0} find={find} current={hits[hit] === v.index} onMark={mark} />
                    </div>
                  )
                );
              })}
            </div>
          </div>
          <Gutter rows={rows} hits={hits} top={view.top} part={view.part} />
          {!follow && unseen > 0 && (
            <button type="button" className="jump" onClick={() => setFollowing(true)}>
              <IconArrowDown size={15} stroke={2} />
              Jump to live<span>{plural(unseen, 'new line')}</span>
            </button>
          )}
        </div>
      )}
    </div>
  );
}
