// Formats, links out of user data, the query box, typed parameters, CSV, diffs, task words.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Task } from '../src/api/types';
import { artifactItems } from '../src/lib/artifacts';
import { csvCell } from '../src/lib/csv';
import {
  byName,
  formatAgo,
  formatBytes,
  formatClock,
  formatDate,
  formatDuration,
  formatNumber,
  formatTick,
  inZone,
  ordinal,
  parseTime,
  plural,
} from '../src/lib/format';
import { badValue, typeToStore } from '../src/lib/hyper';
import { parseQuery, queryFilter, removeToken, setToken } from '../src/lib/query';
import { betterIs, metricsOf, paramsOf, progressOf, reasonOf, statusOf, whyWords } from '../src/lib/task';
import { fileName, repositoryHref, safeHref, tellFilesUrl } from '../src/lib/url';
import { refusal } from '../src/api/actions';
import { listPause } from '../src/api/queries';
import { splitName } from '../src/components/bits';
import { splitDiff } from '../src/pages/task/diff';
import { changesBetween } from '../src/pages/task/changes';
import { packagesTitle } from '../src/pages/task/execution';
import { loadsOf } from '../src/api/workerload';
import { nextPath } from '../src/pages/login/next';
import { groupCurves, matches } from '../src/pages/task/tree';
import { findColumns, firstChoice, fitColumns, nextOrder, wordsOf } from '../src/pages/tasks/columns';
import { whyWaits } from '../src/pages/queues/workerstate';
import { ApiError } from '../src/api/call';
import { isGone } from '../src/components/states';
import { keepSpot, spotOf } from '../src/lib/scroll';
import { inOrder } from '../src/pages/task/stages';
import { niceTicks } from '../src/charts/figure/ticks';
import { parseFigure } from '../src/charts/figure/parse';

describe('numbers', () => {
  it.each([
    [0.79621, '0.7962'],
    [0, '0'],
    [-0.0112, '−0.01120'],
    [42480, '42,480'],
    [1.04e-4, '1.04e−4'],
    [1e-8, '1e−8'],
    [1234.56, '1,234.6'],
    [12345678, '1.235e7'],
    [NaN, 'NaN'],
    [Infinity, '∞'],
    [-Infinity, '−∞'],
    [null, '–'],
    [3, '3'],
  ])('%s is %s', (v, s) => expect(formatNumber(v)).toBe(s));
  it.each([
    [0, '0'],
    [1500, '1.5k'],
    [42000, '42k'],
    [2e6, '2M'],
    [0.25, '0.25'],
    [1e-4, '1e−4'],
    [-3, '−3'],
  ])('tick %s is %s', (v, s) => expect(formatTick(v)).toBe(s));
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [4100, '4.1 kB'],
    [328e6, '328 MB'],
    [999_950, '1 MB'],
    [null, '–'],
    [-1, '–'],
  ])('%s bytes are %s', (v, s) => expect(formatBytes(v)).toBe(s));
  it.each([
    [40, '40 ms'],
    [900, '0.9 s'],
    [12_400, '12 s'],
    [251_000, '4 m 11 s'],
    [3_720_000, '1 h 02 m'],
    [273_600_000, '3 d 4 h'],
    [NaN, '–'],
    [-5, '–'],
  ])('%s ms are %s', (v, s) => expect(formatDuration(v)).toBe(s));
  it('reads server times with and without a zone', () => {
    expect(parseTime('2026-11-29T18:23:55.692000+00:00')).toBe(Date.UTC(2026, 10, 29, 18, 23, 55, 692));
    expect(parseTime('2026-11-29T18:23:55')).toBe(Date.UTC(2026, 10, 29, 18, 23, 55));
    expect(parseTime('')).toBeNaN();
  });
  it('gives all times in one zone, and names it', () => {
    const before = process.env['TZ'],
      t = Date.UTC(2026, 10, 29, 22, 30, 5);
    process.env['TZ'] = 'Europe/Moscow';
    try {
      expect([formatDate(t), formatClock(t), formatAgo(t, t + 40 * 86_400_000)]).toEqual([
        '2026-11-30 01:30:05 GMT+3',
        '01:30:05',
        '2026-11-30',
      ]);
      expect(inZone('Auto-generated at 2026-11-29 22:30:05 UTC by root@vm')).toBe('Auto-generated at 2026-11-30 01:30:05 GMT+3 by root@vm');
      expect(inZone('from 2026-11-29T22:30:05.123Z on')).toBe('from 2026-11-30 01:30:05 GMT+3 on');
      for (const text of ['2026-11-29 22:30:05', '2026-99-99 22:30:05 UTC', 'at 22:30 UTC']) expect(inZone(text)).toBe(text);
    } finally {
      if (before === undefined) delete process.env['TZ'];
      else process.env['TZ'] = before;
    }
  });
  it('says ages', () =>
    expect([formatAgo(0, 3000), formatAgo(0, 125_000), formatAgo(0, 7_200_000), formatAgo(0, 2 * 86_400_000)]).toEqual([
      'now',
      '2 m ago',
      '2 h ago',
      '2 d ago',
    ]));
  it('counts in words', () =>
    expect([ordinal(1), ordinal(2), ordinal(11), ordinal(23), plural(1, 'task'), plural(2, 'task')]).toEqual([
      '1st',
      '2nd',
      '11th',
      '23rd',
      '1 task',
      '2 tasks',
    ]));
  it('makes round ticks', () => expect(niceTicks(0, 1)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]));
});

describe('safeHref', () => {
  const at = 'http://127.0.0.1:8080';
  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' java\nscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    's3://bucket/a',
    '//evil.example',
    '/etc/passwd',
    'http://',
    '',
    'ftp://h/x',
    'blob:http://x/y',
  ])('refuses %j', (u) => expect(safeHref(u, at)).toBeNull());
  it('keeps http and https, without credentials', () =>
    expect(safeHref('https://user:pw@example.org/a b', at)).toBe('https://example.org/a%20b'));
  it('turns addresses of the own file server into own paths', () => {
    expect(safeHref('http://localhost:8081/vision/a.png', at)).toBe('/files/vision/a.png');
    expect(safeHref('http://127.0.0.1:8081/a%20b/c.png?x=1', at)).toBe('/files/a%20b/c.png?x=1');
    expect(safeHref('http://ml.example.org:9002/a.png', 'http://ml.example.org:9000')).toBe('/files/a.png');
    expect(safeHref('http://ml.example.org:9000/files/a.png', 'http://ml.example.org:9000')).toBe('/files/a.png');
  });
  describe('told the address of the file server', () => {
    it.each([
      // told, page, address, wanted
      ['http://127.0.0.1:20907', 'http://127.0.0.1:21000', 'http://localhost:20907/a%2Fb/c.png', '/files/a%2Fb/c.png'],
      ['https://files.lab.example', 'https://lab.example', 'https://files.lab.example/p%20q/x.pt?v=1', '/files/p%20q/x.pt?v=1'],
      ['https://lab.example/files/', 'https://lab.example', 'https://lab.example/files/x.pt', '/files/x.pt'],
      ['https://lab.example/store', 'https://lab.example', 'https://lab.example/store/files/x.pt', '/files/files/x.pt'],
      ['http://localhost:8081', 'http://lab:8080', 'http://lab:8081/x.pt', '/files/x.pt'], // listens everywhere, knows no name
      ['http://localhost:8081', 'http://lab:9080', 'http://lab:9082/x.pt', '/files/x.pt'], // and its ports are mapped
      ['http://127.0.0.1:20907', 'http://127.0.0.1:8080', 'http://127.0.0.1:8081/x.pt', 'http://127.0.0.1:8081/x.pt'],
      ['http://127.0.0.1:20907', 'http://127.0.0.1:8080', 'http://127.0.0.1:9000/files/x', 'http://127.0.0.1:9000/files/x'],
      ['https://files.lab.example', 'https://lab.example', 'https://files.lab.example:8443/x', 'https://files.lab.example:8443/x'],
      ['https://lab.example/store', 'https://lab.example', 'https://lab.example/stores/x', 'https://lab.example/stores/x'],
      ['https://files.lab.example', 'https://lab.example', 'https://lab.example:8081/x', 'https://lab.example:8081/x'],
    ])('%s, page %s: %s is %s', (files, page, address, want) => expect(safeHref(address, page, new URL(files))).toBe(want));
    it('uses it from then on, and guesses again when there is none', () => {
      const own = 'http://127.0.0.1:20907/a.png';
      tellFilesUrl('http://127.0.0.1:20907');
      expect(safeHref(own, at)).toBe('/files/a.png');
      tellFilesUrl('no address');
      expect([safeHref(own, at), safeHref('http://127.0.0.1:8081/a.png', at)]).toEqual([own, '/files/a.png']);
      tellFilesUrl(undefined);
      expect(safeHref(own, at)).toBe(own);
    });
  });
  it('does not take a foreign host for its own', () =>
    expect(safeHref('http://other.example:8081/a.png', at)).toBe('http://other.example:8081/a.png'));
});
it('names files by the last part of their address, decoded once', () =>
  expect(['http://h/a/epoch%2020.pt?x=1', 's3://b/w%2Bx', 'http://h/100%', 'plain', 'http://h/a%252Fb'].map(fileName)).toEqual([
    'epoch 20.pt',
    'w+x',
    '100%',
    'plain',
    'a%2Fb',
  ]));
it('links repositories by https only', () => {
  expect(repositoryHref('git@github.com:acme/seg.git')).toBe('https://github.com/acme/seg');
  expect(repositoryHref('ssh://git@host.example:2222/acme/seg.git')).toBe('https://host.example/acme/seg');
  expect(repositoryHref('https://token@github.com/acme/seg.git')).toBe('https://github.com/acme/seg');
  expect(repositoryHref('/srv/git/seg')).toBeNull();
  expect(repositoryHref('javascript:alert(1)//x@y:z')).toBeNull();
});
it('goes back only to paths of its own', () => {
  expect(nextPath('?next=%2Fprojects%3Fq%3Da')).toBe('/projects?q=a');
  for (const bad of ['?next=https://evil', '?next=//evil', '?next=/\\evil', '?next=/login?next=x', '']) expect(nextPath(bad)).toBe('/');
});

describe('query box', () => {
  it('reads tokens and words', () => {
    const q = parseQuery('status:failed tag:a,b !tag:old resnet "x');
    expect(q.tokens.map((t) => [t.key, t.values, t.not])).toEqual([
      ['status', ['failed'], false],
      ['tag', ['a', 'b'], false],
      ['tag', ['old'], true],
    ]);
    expect(q.words).toBe('resnet "x');
  });
  it('makes filters of the API', () => {
    expect(queryFilter(parseQuery('status:running,draft tag:a !tag:b user:me net(1)'), 'u1')).toEqual({
      system_tags: ['-archived'],
      status: ['in_progress', 'created'],
      tags: ['a', '-b'],
      user: ['u1'],
      _any_: { pattern: 'net\\(1\\)', fields: ['name', 'id', 'comment'] },
    });
    expect(queryFilter(parseQuery('archived:yes'), null)).toEqual({ system_tags: ['archived'] });
    expect((queryFilter(parseQuery('!status:failed'), null)['status'] as string[]).includes('failed')).toBe(false);
  });
  it('sets and removes tokens without touching the rest', () => {
    expect(setToken('net status:failed', 'status', ['running', 'queued'])).toBe('net status:running,queued');
    expect(setToken('net status:failed', 'status', [])).toBe('net');
    const q = parseQuery('!tag:a tag:a x');
    expect(removeToken('!tag:a tag:a x', q.tokens[1] ?? q.tokens[0]!)).toBe('!tag:a x');
  });
});
it('keeps types of parameters', () => {
  expect([
    badValue('bool', 'True'),
    badValue('bool', 'tru'),
    badValue('int', '12'),
    badValue('int', '1.5'),
    badValue('float', '1e-4'),
    badValue('float', 'x'),
    badValue('list', '[1, 2]'),
    badValue('list', '1, 2'),
    badValue('str', 'anything'),
    badValue('int', ''),
    badValue(undefined, 'x'),
  ]).toEqual([null, 'True or False', null, 'A whole number', null, 'A number', null, 'A list: [1, 2]', null, null, null]);
});
it.each([
  ['int', '1', '[600, 500]', 'int'], // the recorded type stays
  ['list/int', '[1, 2]', '[600, 500]', 'list/int'],
  ['legacy', '', '[600, 500]', 'legacy'],
  [undefined, '', '[600, 500]', 'list'], // recorded as null
  ['NoneType', '', '[600, 500]', 'list'],
  [undefined, undefined, "['a', 'b']", 'list'],
  [undefined, '', '(1, 2)', 'tuple'],
  [undefined, '', "{'a': 1}", 'dict'],
  [undefined, '', '600', 'int'],
  [undefined, '', '1e-4', 'float'],
  [undefined, '', 'True', 'bool'],
  [undefined, '', 'resnet50', 'str'],
  [undefined, '', '"5"', 'str'],
  [undefined, '', 'None', undefined],
  [undefined, '0.1', '0.2', undefined], // a client that records no types
])('a %s parameter of %j edited to %j is stored as %s', (type, old, value, want) =>
  expect(typeToStore({ type, value: old }, value)).toBe(want),
);
it('takes types with the type of their items', () =>
  expect([
    badValue('list/int', '600, 500'),
    badValue('list/int', '[600]'),
    badValue('tuple/int', '[1, 2]'),
    badValue('dict/str', '1'),
  ]).toEqual(['A list: [1, 2]', null, null, "A dict: {'a': 1}"]));
it('writes cells that no spreadsheet runs', () =>
  expect(['=cmd()', '+1', '-0.5', '@x', 'a,b', 'say "x"', '1e-4'].map(csvCell)).toEqual([
    "'=cmd()",
    '+1',
    '-0.5',
    "'@x",
    '"a,b"',
    '"say ""x"""',
    '1e-4',
  ]));
it('splits a patch into files', () => {
  const f = splitDiff('diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@\n-a\n+b\n+c\ndiff --git a/y b/y\n+z');
  expect(f.map((x) => [x.name, x.add, x.del])).toEqual([
    ['x.py', 2, 1],
    ['y', 1, 0],
  ]);
});
it('matches metrics by words and stars', () => {
  const m = (f: string) => matches({ metric: 'loss', variant: 'train' }, f);
  expect([m(''), m('lo'), m('loss*'), m('*train'), m('acc'), m('acc, tr'), m('t*n'), m('x*')]).toEqual([
    true,
    true,
    true,
    true,
    false,
    true,
    true,
    false,
  ]);
});

describe('task words', () => {
  const t = (p: Partial<Task>): Task => ({ id: 'x', ...p });
  it('says states', () =>
    expect([
      statusOf(t({ status: 'created' })),
      statusOf(t({ status: 'in_progress', status_message: 'stopping' })),
      statusOf(t({ status: 'closed' })),
      statusOf(t({ status: 'stopped' })),
      statusOf(t({})),
    ]).toEqual(['draft', 'stopping', 'completed', 'aborted', 'unknown']));
  it('gives the reason only where it says more', () => {
    expect(reasonOf(t({ status: 'failed', status_message: 'CUDA out of memory', status_reason: 'exit 1' }))).toBe('CUDA out of memory');
    expect(reasonOf(t({ status: 'completed', status_message: 'anything' }))).toBe('');
    expect(reasonOf(t({ status: 'queued', execution: { queue: { id: 'q', name: 'gpu' } } }))).toBe('in gpu');
  });
  it('takes the telling part of the why', () => {
    expect([
      whyWords("failed: exit code 1 (KeyError: 'x')"),
      whyWords('failed: worker execution exit code 1 (Changed by stoker agent vm:0)'),
      whyWords('stopped: by mara'),
      whyWords('plain'),
      whyWords(undefined),
    ]).toEqual(["KeyError: 'x'", 'worker execution exit code 1', 'by mara', 'plain', '']);
  });
  it('reads progress, metrics and parameters', () => {
    expect([progressOf(t({ runtime: { progress: '62' } })), progressOf(t({})), progressOf(t({ runtime: { progress: 140 } }))]).toEqual([
      62,
      null,
      100,
    ]);
    const m = metricsOf(
      t({
        last_metrics: {
          a: {
            b: { metric: 'loss', variant: 'val', value: 'NaN', min_value: 1, max_value: 2 },
            c: { metric: ':monitor:gpu', variant: 'x', value: 1 },
          },
        },
      }),
    );
    expect(m.map((x) => [x.key, x.hash, x.value])).toEqual([['loss/val', 'a.b', NaN]]);
    expect([
      ...paramsOf(
        t({ hyperparams: { General: { lr: { value: '1' } }, aug: { mix: { value: 'True' } }, properties: { p: { value: 'x' } } } }),
      ),
    ]).toEqual([
      ['lr', '1'],
      ['aug/mix', 'True'],
    ]);
    expect([betterIs('val/loss'), betterIs('val/mIoU')]).toEqual(['min', 'max']);
  });
  it('knows a value that belongs to no iteration', () => {
    const m = (i: number) => ({ metric: 'Summary', variant: 'acc', value: 1, min_value: 1, max_value: 1, min_value_iteration: i });
    expect(metricsOf(t({ last_metrics: { a: { b: m(-2147483648) } } })).map((x) => x.single)).toEqual([true]);
    expect(metricsOf(t({ last_metrics: { a: { b: m(0) } } })).map((x) => x.single)).toEqual([false]);
  });
  it('names what changed against the parent, and not what an agent installed', () => {
    const asked = 'numpy == 2.3.5\ntorch == 2.8.0';
    const parent = t({ script: { requirements: { pip: asked } } });
    const ran = t({ script: { requirements: { org_pip: asked, pip: 'attrs==26.1.0\nnumpy==2.3.5\ntorch==2.8.0' } } });
    expect(changesBetween(parent, ran)).toEqual([]);
    const edited = t({ script: { requirements: { org_pip: 'numpy == 2.3.5\ntorch == 2.8.1', pip: 'numpy==2.3.5' } } });
    expect(changesBetween(parent, edited)).toEqual([{ key: 'torch', kind: 'package', before: '2.8.0', after: '2.8.1' }]);
  });
  it('says which list of packages is which', () => {
    expect(['pip', 'org_pip', 'conda', 'org_conda'].map((k) => packagesTitle(k, true))).toEqual([
      'Packages installed',
      'Packages asked for',
      'Packages (conda)',
      'Packages (org conda)',
    ]);
    expect(packagesTitle('pip', false)).toBe('Packages');
  });
  it('reads the newest load of a worker, not the empty stretches after it', () => {
    const m = (metric: string, values: number[], gpus?: number[][]) => ({
      metric,
      stats: [{ values, resource_series: (gpus ?? []).map((v, i) => ({ name: String(i), values: v })) }],
    });
    const d = {
      workers: [
        {
          worker: 'a:0',
          metrics: [
            m('cpu_usage', [5, 0, 0]),
            m('memory_used', [10, 2048, 0]),
            m('memory_free', [10, 1024, 0]),
            m(
              'gpu_usage',
              [1, 50, 0],
              [
                [1, 90, 0],
                [1, 10, 0],
              ],
            ),
          ],
        },
        { worker: 'b:0', metrics: [m('memory_used', [0, 0, 0])] },
      ],
    };
    expect([...loadsOf(d)]).toEqual([
      [
        'a:0',
        {
          cpu: 0,
          used: 2048,
          total: 3072,
          gpus: [
            { name: 'GPU 0', usage: 90 },
            { name: 'GPU 1', usage: 10 },
          ],
        },
      ],
    ]);
  });
  it('refuses what a state does not allow, with the reason', () => {
    expect(refusal('enqueue', t({ status: 'created' }))).toBeNull();
    expect(refusal('enqueue', t({ status: 'completed' }))).toMatch(/reset or cloned/);
    expect(refusal('delete', t({ status: 'published' }))).not.toBeNull();
    expect(refusal('archive', t({ status: 'failed', system_tags: ['archived'] }))).not.toBeNull();
  });
});

describe('artifactItems', () => {
  beforeAll(() => vi.stubGlobal('location', { origin: 'http://127.0.0.1:8080' }));
  afterAll(() => vi.unstubAllGlobals());
  const t: Task = {
    id: 't',
    models: {
      input: [{ name: 'start', model: 'm1' }],
      output: ['w1', 'w2', 'w3'].map((name) => ({ name, model: 'm1' })).concat({ name: 'other', model: 'm2' }),
    },
  };
  it('shows a model once, however often the client named it', () => {
    const models = new Map([['m1', { id: 'm1', name: 'the weights', uri: 's3://b/w3.pt' }]]);
    expect(artifactItems(t, models).map((i) => [i.group, i.key, i.uri])).toEqual([
      ['output model', 'the weights', 's3://b/w3.pt'],
      ['output model', 'other', ''],
      ['input model', 'the weights', 's3://b/w3.pt'],
    ]);
  });
});

describe('parseFigure', () => {
  it('reads a heat map with class names', () =>
    expect(
      parseFigure(
        JSON.stringify({
          data: [{ type: 'heatmap', x: ['a', 'b'], y: ['c'], z: [[1, 'NaN']] }],
          layout: { title: { text: 'CM<br>x' }, xaxis: { title: 'pred' } },
        }),
        'n',
      ),
    ).toMatchObject({ kind: 'heat', title: 'CM x', x: ['a', 'b'], y: ['c'], z: [[1, null]], xTitle: 'pred' }));
  it('reads packed arrays', () =>
    expect(
      parseFigure(
        JSON.stringify({
          data: [
            { type: 'scatter', mode: 'lines', y: { dtype: 'f8', bdata: Buffer.from(new Float64Array([1, 2]).buffer).toString('base64') } },
          ],
          layout: {},
        }),
        'n',
      ),
    ).toMatchObject({ kind: 'xy', traces: [{ mode: 'line', x: [0, 1], y: [1, 2] }] }));
  it('reads a table by columns', () =>
    expect(
      parseFigure(
        JSON.stringify({
          data: [
            {
              type: 'table',
              header: { values: ['k', 'v'] },
              cells: {
                values: [
                  ['a', 'b'],
                  [1, 2],
                ],
              },
            },
          ],
        }),
        'n',
      ),
    ).toMatchObject({
      kind: 'table',
      head: ['k', 'v'],
      rows: [
        ['a', '1'],
        ['b', '2'],
      ],
    }));
  it('never throws, and says why it cannot draw', () => {
    for (const bad of [undefined, '', '{', '[]', '{"data":7}', '{"data":[{"type":"surface"}]}', '{"data":[{"type":"heatmap","z":[]}]}'])
      expect(parseFigure(bad, 'n')).toMatchObject({ kind: 'other' });
  });
  it('keeps markup out of titles', () =>
    expect(parseFigure('{"data":[{"y":[1]}],"layout":{"title":"<img src=x onerror=alert(1)>hi"}}', 'n').title).toBe('hi'));
});
describe('stages', () => {
  const part = (name: string, started: number, ended: number | null) => ({ name, started, ended, ok: true, detail: '' });
  it('lets running begin where the stages inside it end', () => {
    expect(
      inOrder([part('fetch', 10, 11), part('environment', 11, 20), part('queued', 0, 10), part('running', 10, null)]).map((p) => [
        p.name,
        p.started,
      ]),
    ).toEqual([
      ['queued', 0],
      ['fetch', 10],
      ['environment', 11],
      ['running', 20],
    ]);
    expect(inOrder([part('running', 5, 9)]).map((p) => p.started)).toEqual([5]);
  });
});

describe('what a list shows first', () => {
  it('orders names as people read them', () => {
    expect(['layer_10', 'layer_9', 'b', 'a2', 'a10'].sort(byName)).toEqual(['a2', 'a10', 'b', 'layer_9', 'layer_10']);
    const curve = (variant: string) => ({ metric: 'm', variant }) as never;
    expect(groupCurves([curve('v10'), curve('v9'), curve('v1')])[0]?.curves.map((c) => c.variant)).toEqual(['v1', 'v9', 'v10']);
  });
  it('gives columns to parameters that vary before those that some tasks lack', () => {
    const task = (p: Record<string, string>): Task =>
      ({
        id: JSON.stringify(p),
        hyperparams: { General: Object.fromEntries(Object.entries(p).map(([name, value]) => [name, { section: 'General', name, value }])) },
      }) as never;
    const found = findColumns([
      task({ amp: 'True', batch: '8', epochs: '20', lr: '0.1' }),
      task({ amp: 'True', batch: '8', epochs: '20', lr: '0.2' }),
      task({}),
    ]);
    expect(firstChoice(found).params).toEqual(['lr', 'amp', 'batch']);
  });
  it('sorts names from A and numbers from the largest, and turns round', () => {
    expect([nextOrder('name', '-started'), nextOrder('name', 'name'), nextOrder('name', '-name')]).toEqual(['name', '-name', 'name']);
    expect([nextOrder('started', 'name'), nextOrder('started', '-started'), nextOrder('started', 'started')]).toEqual([
      '-started',
      'started',
      '-started',
    ]);
  });
  it('keeps the place of a list under its address', () => {
    keepSpot('/a?q=1', { top: 640, row: 20 });
    expect(spotOf('/a?q=1')).toEqual({ top: 640, row: 20 });
    expect(spotOf('/a')).toBeNull();
    for (let i = 0; i < 50; i++) keepSpot(`/b${i}`, { top: i, row: 0 });
    expect(spotOf('/a?q=1')).toBeNull();
    expect(spotOf('/b0')).toEqual({ top: 0, row: 0 });
  });
});

it('a lost worker starts nothing', () => {
  const now = Date.parse('2026-11-30T12:00:00Z');
  const w = (id: string, seen: string, task?: string) =>
    ({ id, last_activity_time: seen, ...(task ? { task: { id: task } } : {}) }) as never;
  const here = '2026-11-30T11:59:30Z',
    gone = '2026-11-30T11:00:00Z';
  expect(whyWaits(0, [], now)).toBe('no worker listens to this queue');
  expect(whyWaits(0, [w('a', gone)], now)).toBe('its worker is lost');
  expect(whyWaits(1, [w('a', gone), w('b', gone, 't')], now)).toBe('all 2 workers are lost');
  expect(whyWaits(0, [w('a', gone), w('b', here)], now)).toBe('about to start: 1 free worker');
  expect(whyWaits(0, [w('a', gone), w('b', here, 't')], now)).toBe('the only worker is busy');
  expect(whyWaits(0, [w('a', here, 't'), w('b', here, 'u')], now)).toBe('all 2 workers are busy');
  expect(whyWaits(2, [w('a', here, 't')], now)).toBe('after 2 tasks');
});

it('tells gone from not reachable', () => {
  expect(isGone(new ApiError('', 404))).toBe(true);
  expect(isGone(new ApiError('', 400, 401))).toBe(true);
  expect(isGone(new ApiError('', 400, 101))).toBe(true);
  expect(isGone(new ApiError('', 400, 12))).toBe(false);
  expect(isGone(new ApiError('', 0))).toBe(false);
  expect(isGone(new ApiError('', 500, 401))).toBe(false);
  expect(isGone(null)).toBe(false);
});

it('an abort without words has no reason to show', () => {
  expect(whyWords('stopped')).toBe('');
  expect(reasonOf({ status: 'stopped', status_message: 'stopped', status_reason: '' } as Task)).toBe('');
});

describe('columns that fit', () => {
  const cols = { metrics: ['a', 'b', 'c'], params: ['p', 'q', 'r'] };
  const need = { metrics: [124, 124, 96], params: [132, 132, 80] };
  const names = (f: { metrics: string[]; params: string[] }): string => [...f.metrics, ...f.params].join('');
  it('are as wide as they need where there is room', () =>
    expect(fitColumns(cols, need, 2000, 600, true)).toMatchObject({ metricWidths: need.metrics, paramWidths: need.params }));
  it('give way from the widest parameter, to the last pixel', () =>
    expect(fitColumns(cols, need, 600 + 344 + 280, 600, true).paramWidths).toEqual([100, 100, 80]));
  it('are left out from the last parameter on when nobody asked for them', () => {
    expect(names(fitColumns(cols, need, 600 + 344 + 140, 600, true))).toBe('abcpq');
    expect(names(fitColumns(cols, need, 600 + 248 + 70, 600, true))).toBe('abp');
    expect(names(fitColumns(cols, need, 0, 600, true))).toBe('a');
  });
  it('all stay when the user chose them', () => {
    const f = fitColumns(cols, need, 0, 600, false);
    expect([names(f), f.paramWidths]).toEqual(['abcpqr', [68, 68, 68]]);
  });
  it('may be none', () => expect(names(fitColumns({ metrics: [], params: [] }, { metrics: [], params: [] }, 0, 600, true))).toBe(''));
});

it('polls a longer list more rarely, a very long one not at all', () =>
  expect([0, 1, 4, 10, 11].map((n) => listPause(n, 5000))).toEqual([5000, 5000, 20000, 50000, false]));

describe('a long name', () => {
  it('is cut before its last part', () =>
    expect(splitName('encoder/layer_17/attention/weights')).toEqual(['encoder/layer_17/attention', '/weights']));
  it('without parts, before its last letters', () =>
    expect(splitName('resnet-152-imagenet-augmented-seed-17')).toEqual(['resnet-152-imagenet-augment', 'ed-seed-17']));
  it('is left alone when it is short, or written from right to left', () => {
    expect(splitName('vision/segmentation')).toEqual(['vision/segmentation', '']);
    expect(splitName('vision/segmentation', 14)).toEqual(['vision', '/segmentation']);
    const arabic = 'شبكة عصبية للتعرف على الصور';
    expect(splitName(arabic)).toEqual([arabic, '']);
  });
});
it('numbers stand right, words left', () => {
  const row = (p: Record<string, string>) => ({ params: new Map(Object.entries(p)) });
  expect([...wordsOf([row({ lr: '1e-4', net: 'b3', n: '' }), row({ lr: '2' })], ['lr', 'net', 'n'])]).toEqual(['net']);
});
