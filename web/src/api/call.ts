// The one fetch wrapper: POST to our own origin, envelope unwrapped, failures as typed errors, 401 sends to the login page.

import type { Calls } from './generated';
import type { Documents } from './types';

export type CallName = keyof Calls;
/** What a call answers; where the description says only "a document", the members the page reads of it. */
export type Answer<K extends CallName> = K extends keyof Documents
  ? Omit<Calls[K]['out'], keyof Documents[K]> & Documents[K]
  : Calls[K]['out'];

export class ApiError extends Error {
  override name = 'ApiError';
  constructor(
    message: string,
    /** HTTP status; 0 = the server was not reached. */
    readonly code: number,
    readonly subcode: number = 0,
    readonly requestId: string = '',
    readonly action: string = '',
  ) {
    super(message);
  }
}

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  headers?: Record<string, string>;
  /** login itself must see its 401 */ keep401?: boolean;
}
interface Envelope {
  meta?: { id?: string; result_code?: number; result_subcode?: number; result_msg?: string };
  data?: unknown;
}

export const API_ROOT = '/api/v2.34/';
const unauthorised = new Set<() => void>();
const reach = new Set<(ok: boolean) => void>();

/** Called on every 401 that is not a login attempt. */
export const onUnauthorised = (f: () => void): (() => void) => {
  unauthorised.add(f);
  return () => unauthorised.delete(f);
};
/** Called with false when the server cannot be reached, with true when it answers again. */
export const onReach = (f: (ok: boolean) => void): (() => void) => {
  reach.add(f);
  return () => reach.delete(f);
};

const WORDS: Record<number, string> = {
  403: 'Not allowed',
  404: 'Not found',
  413: 'Too large for the server',
  429: 'Too many requests, wait a moment',
  502: 'The proxy got no answer from the server',
  503: 'The server is starting or busy',
  504: 'The server took too long',
};

/** Message of the server without the framework's "Invalid task id: …" prefix noise; never empty. */
const words = (msg: string | undefined, status: number): string =>
  msg && msg !== 'OK' ? msg : (WORDS[status] ?? `The server answered ${status}`);

export async function call<K extends CallName>(action: K, body: Calls[K]['in'], opt: CallOptions = {}): Promise<Answer<K>> {
  const timeout = AbortSignal.timeout(opt.timeoutMs ?? 30_000);
  const signal = opt.signal ? AbortSignal.any([opt.signal, timeout]) : timeout;
  let res: Response;
  let text: string;
  try {
    res = await fetch(API_ROOT + action, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Stoker-Request': '1', ...opt.headers },
      body: JSON.stringify(body),
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal,
    });
    text = await res.text();
  } catch (e) {
    if (opt.signal?.aborted) throw e;
    reach.forEach((f) => f(false));
    throw new ApiError(timeout.aborted ? 'The server did not answer in time' : 'The server cannot be reached', 0, 0, '', action);
  }
  reach.forEach((f) => f(true));
  let env: Envelope;
  try {
    env = JSON.parse(text) as Envelope;
  } catch {
    env = {};
  }
  const meta = env.meta ?? {};
  if (res.ok && env.data !== undefined) return env.data as Answer<K>;
  const error = new ApiError(
    res.ok ? 'The answer is not JSON of this API' : words(meta.result_msg, res.status),
    res.ok ? 502 : res.status,
    meta.result_subcode ?? 0,
    meta.id ?? '',
    action,
  );
  if (res.status === 401 && !opt.keep401) unauthorised.forEach((f) => f());
  throw error;
}

/** Numbers as our own calls send them: null is missing, the three words are what JSON cannot say. */
export function wireNumber(v: unknown): number | null {
  if (typeof v === 'number') return v;
  if (v === 'NaN') return NaN;
  if (v === 'Infinity') return Infinity;
  if (v === '-Infinity') return -Infinity;
  return null;
}

/** Basic header value for a name and secret; UTF-8 safe. */
export function basic(user: string, secret: string): string {
  const bytes = new TextEncoder().encode(`${user}:${secret}`);
  let bin = '';
  bytes.forEach((b) => {
    bin += String.fromCharCode(b);
  });
  return `Basic ${btoa(bin)}`;
}
