// A task's state, heard of when it changes: our call that waits. What else a task reports is polled.
import { useEffect, useRef } from 'react';
import { sleep, whenSeen, whileSeen } from '../lib/seen';
import { refresh } from './actions';
import { ApiError, call } from './call';
import { activeStatus } from './queries';
import type { Task } from './types';

const WAIT = 20_000;

/** While a task is active and the page is seen. An older server has no such call: polling alone then has to do. */
export function useWatch(t: Task | undefined): void {
  const known = useRef(t);
  known.current = t;
  const id = t?.id,
    on = activeStatus(t?.status);
  useEffect(() => {
    if (!id || !on) return;
    const stop = new AbortController();
    const watch = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        await whenSeen(stop.signal);
        const now = known.current;
        const seen = whileSeen(stop.signal);
        try {
          const d = await call(
            'x_tasks.watch',
            { task: id, status: now?.status ?? '', status_message: now?.status_message ?? '', wait_ms: WAIT },
            { signal: seen, timeoutMs: WAIT + 15_000 },
          );
          if (stop.signal.aborted) return;
          if (d.status !== now?.status || (d.status_message ?? '') !== (now?.status_message ?? '')) await refresh(id);
          // Whatever the server answers, it is not asked in a tight loop.
          await sleep(500, stop.signal);
        } catch (e) {
          if (stop.signal.aborted) return;
          if (e instanceof ApiError && e.code >= 400 && e.code < 500) return;
          if (!seen.aborted) await sleep(5_000, stop.signal);
        }
      }
    };
    void watch();
    return () => stop.abort();
  }, [id, on]);
}
