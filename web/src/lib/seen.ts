// Is the page seen? What it asks the server for rests while its tab is in the background.

export const isSeen = (): boolean => document.visibilityState !== 'hidden';

/** Resolves at once while the page is seen, else when it is seen again, or when the signal aborts. */
export const whenSeen = (signal: AbortSignal): Promise<void> =>
  new Promise((ok) => {
    const look = (): void => {
      if (!isSeen() && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      ok();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });

/** A signal that aborts with the given one, and when the page is no longer seen. */
export function whileSeen(signal: AbortSignal): AbortSignal {
  const hidden = new AbortController();
  const look = (): void => {
    if (isSeen() && !signal.aborted) return;
    document.removeEventListener('visibilitychange', look);
    signal.removeEventListener('abort', look);
    hidden.abort();
  };
  document.addEventListener('visibilitychange', look);
  signal.addEventListener('abort', look);
  look();
  return hidden.signal;
}

export const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((ok) => {
    const t = setTimeout(ok, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(t);
      ok();
    });
  });
