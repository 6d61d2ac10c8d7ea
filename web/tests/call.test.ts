// The fetch wrapper: what goes out, how answers and refusals come back.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError, basic, call, onReach, onUnauthorised, wireNumber } from '../src/api/call';

const answer = (status: number, body: unknown) =>
  vi.fn<(url: string, init: RequestInit) => Promise<Response>>(
    async () => new Response(typeof body === 'string' ? body : JSON.stringify(body), { status }),
  );
const use = (f: ReturnType<typeof answer>): ReturnType<typeof answer> => {
  vi.stubGlobal('fetch', f);
  return f;
};
afterEach(() => {
  vi.unstubAllGlobals();
});
const failure = async (p: Promise<unknown>): Promise<ApiError> =>
  p.then(
    () => {
      throw new Error('it passed');
    },
    (e: unknown) => e as ApiError,
  );

describe('call', () => {
  it('posts JSON to the own origin with the header that a cookie needs', async () => {
    const f = use(answer(200, { meta: { result_code: 200 }, data: { tasks: [1] } }));
    expect(await call('tasks.get_all_ex', { page: 0 })).toEqual({ tasks: [1] });
    const [url, init] = f.mock.calls[0] ?? [];
    expect(url).toBe('/api/v2.34/tasks.get_all_ex');
    expect(init?.method).toBe('POST');
    expect(init?.body).toBe('{"page":0}');
    expect(init?.headers).toMatchObject({ 'X-Stoker-Request': '1', 'Content-Type': 'application/json' });
    expect(init?.credentials).toBe('same-origin');
    expect(init?.redirect).toBe('error');
  });
  it('turns a refusal into words, codes and a request id', async () => {
    use(answer(400, { meta: { id: 'abc', result_code: 400, result_subcode: 101, result_msg: 'Invalid task id' }, data: {} }));
    const e = await failure(call('tasks.get_by_id', { task: 'x' }));
    expect(e).toBeInstanceOf(ApiError);
    expect([e.message, e.code, e.subcode, e.requestId, e.action]).toEqual(['Invalid task id', 400, 101, 'abc', 'tasks.get_by_id']);
  });
  it('tells of a 401 once, but not while logging in', async () => {
    use(answer(401, { meta: { result_msg: 'Unauthorized' }, data: {} }));
    const heard = vi.fn();
    const off = onUnauthorised(heard);
    await failure(call('users.get_current_user', {}));
    await failure(call('auth.login', {}, { keep401: true }));
    off();
    expect(heard).toHaveBeenCalledTimes(1);
  });
  it('tells when the server cannot be reached and when it is back', async () => {
    const seen: boolean[] = [];
    const off = onReach((ok) => seen.push(ok));
    vi.stubGlobal(
      'fetch',
      vi.fn(async () => {
        throw new TypeError('Failed to fetch');
      }),
    );
    const e = await failure(call('debug.ping', {}));
    use(answer(200, { meta: {}, data: {} }));
    await call('debug.ping', {});
    off();
    expect(e.code).toBe(0);
    expect(seen).toEqual([false, true]);
  });
  it('does not call a broken answer a success', async () => {
    use(answer(200, '<html>proxy</html>'));
    expect((await failure(call('debug.ping', {}))).code).toBe(502);
    use(answer(503, 'busy'));
    const e = await failure(call('debug.ping', {}));
    expect(e.code).toBe(503);
    expect(e.message).not.toBe('');
  });
  it('passes an abort on as an abort', async () => {
    vi.stubGlobal(
      'fetch',
      vi.fn(async (_u: string, init: RequestInit) => {
        init.signal?.throwIfAborted();
        return new Response('{}');
      }),
    );
    const stop = new AbortController();
    stop.abort();
    expect(await failure(call('debug.ping', {}, { signal: stop.signal }))).not.toBeInstanceOf(ApiError);
  });
});
it('reads the three words that JSON numbers cannot be', () => {
  expect([wireNumber(1.5), wireNumber('NaN'), wireNumber('Infinity'), wireNumber('-Infinity'), wireNumber(null), wireNumber('7')]).toEqual([
    1.5,
    NaN,
    Infinity,
    -Infinity,
    null,
    null,
  ]);
});
it('makes a Basic header from any text', () =>
  expect(basic('müller', 'ß:€')).toBe(`Basic ${Buffer.from('müller:ß:€', 'utf8').toString('base64')}`));
