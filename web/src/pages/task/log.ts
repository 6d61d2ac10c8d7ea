// The console's data: newest lines first on screen, then a long poll for what comes and pages back for what was. One store a task.
import { ApiError, call } from '../../api/call';
import type { XEventsLine } from '../../api/generated';
import type { LogEvent } from '../../api/types';
import type { LogLine } from '../../lib/logfold';
import { sleep, whenSeen, whileSeen } from '../../lib/seen';

export interface LogState {
  lines: LogLine[];
  /** Lines the server holds, when it says so. */
  total: number | null;
  /** Earlier lines exist that are not loaded. */
  earlier: boolean;
  loading: boolean;
  error: unknown;
  /** The task may still write. */
  open: boolean;
}
const PAGE = 2000;
const KEEP = 300_000;
const WAIT = 20_000;

interface Source {
  tail(signal: AbortSignal): Promise<{ lines: LogLine[]; earlier: boolean; total: number | null; open: boolean }>;
  next(signal: AbortSignal): Promise<{ lines: LogLine[]; total: number | null; open: boolean }>;
  before(signal: AbortSignal): Promise<{ lines: LogLine[]; earlier: boolean }>;
}

/** Our calls: cursors both ways, and an answer that waits for new lines. */
function ownSource(task: string): Source {
  let next = '',
    prev = '';
  const line = (l: XEventsLine): LogLine => ({ n: l.n, t: l.t, level: l.level ?? '', text: l.text });
  return {
    async tail(signal) {
      const d = await call('x_events.log', { task, limit: PAGE }, { signal });
      next = d.next ?? '';
      prev = d.prev ?? '';
      const lines = (d.lines ?? []).map(line);
      return { lines, earlier: prev !== '' && (lines[0]?.n ?? 0) > 1, total: d.total ?? null, open: d.open ?? false };
    },
    async next(signal) {
      const d = await call(
        'x_events.log',
        { task, ...(next ? { after: next } : {}), limit: PAGE, wait_ms: WAIT },
        { signal, timeoutMs: WAIT + 15_000 },
      );
      if (d.next) next = d.next;
      return { lines: (d.lines ?? []).map(line), total: d.total ?? null, open: d.open ?? false };
    },
    async before(signal) {
      const d = await call('x_events.log', { task, before: prev, limit: PAGE }, { signal });
      const lines = (d.lines ?? []).map(line);
      prev = d.prev ?? '';
      return { lines, earlier: lines.length > 0 && prev !== '' && (lines[0]?.n ?? 0) > 1 };
    },
  };
}

/** The reference's calls: pages by time stamp and a poll every two seconds. Line numbers count from what the server says in total. */
function referenceSource(task: string): Source {
  let firstTs = 0,
    lastTs = 0,
    seen = new Set<string>(),
    n = 0,
    top = 1;
  const flat = (events: LogEvent[]): Array<Omit<LogLine, 'n'>> =>
    events.flatMap((e) =>
      e.msg
        .replace(/\n$/, '')
        .split('\n')
        .map((text) => ({ t: e.timestamp, level: e.level ?? '', text })),
    );
  const ask = (body: object, signal: AbortSignal) =>
    call('events.get_task_log', { task, batch_size: PAGE, order: 'asc', ...body }, { signal });
  return {
    async tail(signal) {
      const d = await ask({ navigate_earlier: true }, signal);
      firstTs = d.events[0]?.timestamp ?? 0;
      lastTs = d.events[d.events.length - 1]?.timestamp ?? 0;
      seen = new Set(d.events.filter((e) => e.timestamp === lastTs).map((e) => e.msg));
      const ls = flat(d.events);
      top = Math.max(1, (d.total ?? 0) - d.events.length + 1);
      n = top + ls.length;
      return {
        lines: ls.map((l, i) => ({ n: top + i, ...l })),
        earlier: d.events.length < (d.total ?? 0),
        total: d.total ?? null,
        open: true,
      };
    },
    async next(signal) {
      await sleep(2_000, signal);
      const d = await ask({ navigate_earlier: false, from_timestamp: lastTs }, signal);
      const fresh = d.events.filter((e) => e.timestamp > lastTs || !seen.has(e.msg));
      const newest = fresh[fresh.length - 1]?.timestamp ?? lastTs;
      if (newest > lastTs) {
        lastTs = newest;
        seen = new Set();
      }
      d.events.filter((e) => e.timestamp === lastTs).forEach((e) => seen.add(e.msg));
      return { lines: flat(fresh).map((l) => ({ n: n++, ...l })), total: d.total ?? null, open: true };
    },
    async before(signal) {
      const d = await ask({ navigate_earlier: true, from_timestamp: firstTs }, signal);
      const old = d.events.filter((e) => e.timestamp < firstTs);
      firstTs = old[0]?.timestamp ?? firstTs;
      const ls = flat(old);
      top = Math.max(1, top - ls.length);
      return { lines: ls.map((l, i) => ({ n: top + i, ...l })), earlier: old.length > 0 && top > 1 };
    },
  };
}

/** Runs until aborted: loads the tail, then follows. `onChange` gets a new state object each time. */
export class LogReader {
  state: LogState = { lines: [], total: null, earlier: false, loading: true, error: null, open: true };
  private source: Source;
  private stop = new AbortController();
  private busy = false;
  private own = true;
  constructor(
    private task: string,
    private onChange: (s: LogState) => void,
  ) {
    this.source = ownSource(task);
  }

  private set(p: Partial<LogState>): void {
    if (this.stop.signal.aborted) return;
    this.state = { ...this.state, ...p };
    this.onChange(this.state);
  }
  async start(): Promise<void> {
    const { signal } = this.stop;
    try {
      const d = await this.source.tail(signal).catch((e: unknown) => {
        if (!(e instanceof ApiError) || e.code !== 404) throw e;
        this.own = false;
        this.source = referenceSource(this.task);
        return this.source.tail(signal);
      });
      this.set({ ...d, loading: false, error: null });
    } catch (e) {
      this.set({ loading: false, error: e });
      return;
    }
    await this.follow();
  }
  private async follow(): Promise<void> {
    const { signal } = this.stop;
    let pause = 500;
    while (!signal.aborted) {
      // Nobody looks: the lines wait on the server, the cursor stays.
      await whenSeen(signal);
      const began = Date.now(),
        seen = whileSeen(signal);
      try {
        const d = await this.source.next(seen);
        pause = 500;
        if (d.lines.length) {
          const all = [...this.state.lines, ...d.lines];
          const over = all.length - KEEP;
          this.set({
            lines: over > 0 ? all.slice(over) : all,
            earlier: over > 0 || this.state.earlier,
            total: d.total ?? this.state.total,
            open: d.open,
            error: null,
          });
        } else if (d.open !== this.state.open || this.state.error) this.set({ open: d.open, error: null });
        // Neither a server that answers at once with nothing nor a chatty run makes a storm of calls: of lines, a page can
        // be told every quarter of a second.
        if (d.lines.length > 0) await sleep(250, signal);
        else if (Date.now() - began < 1_000) await sleep(d.open ? 1_000 : 10_000, signal);
      } catch (e) {
        if (signal.aborted) return;
        if (seen.aborted) continue;
        this.set({ error: e });
        await sleep(pause, signal);
        pause = Math.min(10_000, pause * 2);
      }
    }
  }
  /** One page further back; true when lines came. */
  async loadEarlier(): Promise<boolean> {
    if (this.busy || !this.state.earlier || this.state.lines.length >= KEEP) return false;
    this.busy = true;
    try {
      const d = await this.source.before(this.stop.signal);
      this.set({ lines: [...d.lines, ...this.state.lines], earlier: d.earlier });
      return d.lines.length > 0;
    } catch (e) {
      this.set({ error: e });
      return false;
    } finally {
      this.busy = false;
    }
  }
  /** Every line from the first to the newest, read anew: the screen holds what was looked at, and of a long log never all. */
  async whole(): Promise<LogLine[]> {
    const { signal } = this.stop;
    const source = this.own ? ownSource(this.task) : referenceSource(this.task);
    const last = await source.tail(signal);
    const pages = [last.lines];
    for (let { earlier } = last; earlier;) {
      const page = await source.before(signal);
      pages.push(page.lines);
      earlier = page.earlier;
    }
    return pages.reverse().flat();
  }
  end(): void {
    this.stop.abort();
  }
}
