// A server made of made-up data, inside Vite's dev server: `npm run dev -- --mode mock`. Never part of a build.
import type { Connect, Plugin } from 'vite';
import type { Task } from '../src/api/types.ts';
import { logLine, me, plots, projects, queues, scalars, T0, tasks, workers } from './mock-data.ts';

type Body = Record<string, unknown>;
class Refusal extends Error {
  constructor(
    readonly code: number,
    text: string,
    readonly sub = 0,
  ) {
    super(text);
  }
}
let open = true;
const total = (): number => 9600 + Math.floor((Date.now() - T0) / 800);
const line = (n: number) => ({ n, t: T0 - (9600 - n) * 380, level: 'info', text: logLine(n) });
const find = (id: unknown): Task => {
  const t = tasks.find((x) => x.id === id);
  if (!t) throw new Refusal(400, `Invalid task id: id=${String(id)}`, 101);
  return t;
};
const sleep = (ms: number): Promise<void> =>
  new Promise((ok) => {
    setTimeout(ok, ms);
  });

function list(b: Body): Task[] {
  let out = tasks.slice();
  if (Array.isArray(b['id'])) out = out.filter((t) => (b['id'] as string[]).includes(t.id));
  if (Array.isArray(b['status'])) out = out.filter((t) => (b['status'] as string[]).includes(t.status ?? ''));
  if (Array.isArray(b['tags']))
    for (const g of b['tags'] as string[])
      out = out.filter((t) => (g.startsWith('-') ? !t.tags?.includes(g.slice(1)) : t.tags?.includes(g)));
  const any = b['_any_'] as { pattern?: string } | undefined;
  if (any?.pattern) out = out.filter((t) => new RegExp(any.pattern ?? '', 'i').test(t.name ?? ''));
  if (Array.isArray(b['project']))
    out = out.filter((t) => (b['project'] as string[]).includes(t.project?.id ?? '') || b['include_subprojects']);
  const order = (b['order_by'] as string[] | undefined)?.[0] ?? '';
  const key = order.replace('-', '');
  if (key === 'name' || key === 'started' || key === 'status')
    out.sort((x, y) => String(x[key] ?? '').localeCompare(String(y[key] ?? '')) * (order.startsWith('-') ? -1 : 1));
  const size = Number(b['page_size'] ?? 500),
    page = Number(b['page'] ?? 0);
  return out.slice(page * size, (page + 1) * size);
}

const calls: Record<string, (b: Body) => unknown> = {
  'login.supported_modes': () => ({ authenticated: open }),
  'auth.login': () => {
    open = true;
    return { token: 'x' };
  },
  'auth.logout': () => {
    open = false;
    return {};
  },
  'users.get_current_user': () => {
    if (!open) throw new Refusal(401, 'Unauthorized (missing credentials)', 20);
    return { user: { ...me, role: 'admin' } };
  },
  'server.info': () => ({
    version: '2.3.0',
    x_version: '0.1.0',
    x_features: { scalars: 1, timeline: 1 },
    x_files_url: 'http://127.0.0.1:8081',
  }),
  'projects.get_all_ex': (b) => ({
    projects: projects.filter((p) => {
      const parent = projects.find((o) => o.id === (b['parent'] as string[] | undefined)?.[0])?.name ?? '';
      const pattern = (b['_any_'] as { pattern: string } | undefined)?.pattern;
      if (parent && !p.name.startsWith(`${parent}/`)) return false;
      if (pattern) return new RegExp(pattern, 'i').test(p.name);
      return (
        !b['shallow_search'] || !projects.some((o) => o.name !== parent && o.name.startsWith(parent) && p.name.startsWith(`${o.name}/`))
      );
    }),
  }),
  'projects.get_by_id': (b) => ({ project: projects.find((p) => p.id === b['project']) }),
  'tasks.get_all_ex': (b) => {
    if (!open) throw new Refusal(401, 'Unauthorized (missing credentials)', 20);
    return { tasks: list(b) };
  },
  'tasks.clone': (b) => {
    const t = find(b['task']);
    const id = `${Date.now().toString(16)}`.padStart(32, '0');
    tasks.unshift({
      ...structuredClone(t),
      id,
      name: String(b['new_task_name']),
      status: 'created',
      started: undefined as never,
      completed: undefined as never,
      last_metrics: {},
    });
    return { id };
  },
  'tasks.enqueue': (b) => {
    find(b['task']).status = 'queued';
    return { updated: 1, queued: 1 };
  },
  'tasks.dequeue': (b) => {
    find(b['task']).status = 'created';
    return { updated: 1 };
  },
  'tasks.stop': (b) => {
    find(b['task']).status_message = 'stopping';
    return { updated: 1 };
  },
  'tasks.reset': (b) => {
    find(b['task']).status = 'created';
    return { updated: 1 };
  },
  'tasks.publish': (b) => {
    find(b['task']).status = 'published';
    return { updated: 1 };
  },
  'tasks.archive': (b) => {
    for (const id of b['tasks'] as string[]) find(id).system_tags = ['archived'];
    return { archived: 1 };
  },
  'tasks.delete': (b) => {
    tasks.splice(tasks.indexOf(find(b['task'])), 1);
    return { deleted: true };
  },
  'tasks.edit': (b) => {
    Object.assign(find(b['task']), { comment: b['comment'] });
    return { updated: 1 };
  },
  'tasks.edit_hyper_params': (b) => {
    const t = find(b['task']);
    for (const p of b['hyperparams'] as Array<{ section: string; name: string }>) ((t.hyperparams ??= {})[p.section] ??= {})[p.name] = p;
    return { updated: 1 };
  },
  'queues.get_all_ex': () => ({ queues }),
  'queues.get_default': () => ({ id: queues[0]?.id, name: queues[0]?.name }),
  'workers.get_all': () => ({ workers }),
  'models.get_all_ex': (b) => ({
    models: (b['id'] as string[]).map((id, i) => ({
      id,
      name: i ? 'mit-b3-imagenet' : 'checkpoint-50',
      uri: 'http://127.0.0.1:8081/vision/checkpoint-50.pt',
      framework: 'PyTorch',
      created: new Date(T0 - 120_000).toISOString(),
    })),
  }),
  'x_models.versions': () => ({
    versions: [50, 40, 30].map((n, i) => ({
      uri: `http://127.0.0.1:8081/vision/checkpoint-${n}.pt`,
      current: i === 0,
      size: 112_000_000,
      ...(i ? { replaced: new Date(T0 - i * 900_000).toISOString(), user: 'u1' } : {}),
    })),
  }),
  'x_events.scalars': (b) => ({
    series: (find(b['task']).last_iteration ? scalars : []).map((s) =>
      b['key'] === 'timestamp' ? { ...s, x: (s.x ?? []).map((v) => T0 - 3_600_000 + v * 80) } : s,
    ),
  }),
  'events.get_task_single_value_metrics': (b) => ({
    tasks: [{ task: (b['tasks'] as string[])[0], values: [{ metric: 'Summary', variant: 'params_m', value: 47.2 }] }],
  }),
  'events.scalar_metrics_iter_histogram': () =>
    Object.fromEntries(
      [...new Set(scalars.map((s) => s.metric))].map((m) => [
        m,
        Object.fromEntries(
          scalars
            .filter((s) => s.metric === m)
            .map((s) => [s.variant, { name: s.variant, x: (s.x ?? []).map((v) => T0 - 3_600_000 + v * 80), y: s.y }]),
        ),
      ]),
    ),
  'x_events.log': async (b) => {
    const limit = Number(b['limit'] ?? 100);
    if (b['before']) {
      const end = Number(b['before']),
        from = Math.max(1, end - limit);
      return {
        lines: Array.from({ length: end - from }, (_, i) => line(from + i)),
        prev: from > 1 ? String(from) : '',
        total: total(),
        open: true,
      };
    }
    if (b['after']) {
      const from = Number(b['after']);
      for (let i = 0; i < 40 && total() < from; i++) await sleep(250);
      const n = Math.min(limit, Math.max(0, total() - from + 1));
      return { lines: Array.from({ length: n }, (_, i) => line(from + i)), next: String(from + n), total: total(), open: true };
    }
    const end = total() + 1,
      from = Math.max(1, end - limit);
    return {
      lines: Array.from({ length: end - from }, (_, i) => line(from + i)),
      prev: String(from),
      next: String(end),
      total: total(),
      open: true,
    };
  },
  'x_tasks.timeline': (b) => {
    const t = find(b['task']),
      s = Date.parse(t.started ?? ''),
      iso = (ms: number) => new Date(ms).toISOString(),
      e = t.status === 'in_progress' ? null : s + (t.active_duration ?? 0) * 1000;
    return {
      stages: t.started
        ? [
            { name: 'queued', started: iso(s - 16_600), ended: iso(s - 4_200), ok: true },
            { name: 'repository', started: iso(s - 4_200), ended: iso(s - 900), detail: 'commit 9e41c2d', ok: true },
            { name: 'environment', started: iso(s - 900), ended: iso(s), detail: 'reused', ok: true },
            { name: 'running', started: iso(s), ...(e ? { ended: iso(e) } : {}), ok: t.status !== 'failed' },
          ]
        : [],
      why: t.status === 'failed' ? { text: t.status_message, exit_code: 1 } : null,
    };
  },
  'events.get_task_plots': () => ({ plots }),
  'events.debug_images': () => ({
    metrics: [
      {
        iterations: [
          {
            iter: 42000,
            events: ['pred', 'truth', 'overlay'].map((variant) => ({
              metric: 'val',
              variant,
              iter: 42000,
              url: `http://127.0.0.1:8081/img/${variant}.svg`,
            })),
          },
        ],
      },
    ],
  }),
};

const handle: Connect.NextHandleFunction = (req, res, next) => {
  if (req.url?.startsWith('/files/img/')) {
    res.setHeader('Content-Type', 'image/svg+xml');
    res.end(
      '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="200"><rect width="320" height="200" fill="#6b7f94"/><rect y="120" width="320" height="80" fill="#7a3a7b"/><circle cx="110" cy="100" r="34" fill="#c30049"/><rect x="190" y="80" width="90" height="60" fill="#3c90c4"/></svg>',
    );
    return;
  }
  const m = /^\/api\/(?:v[\d.]+\/)?([\w]+\.[\w]+)/.exec(req.url ?? '');
  if (!m) {
    next();
    return;
  }
  let text = '';
  req.on('data', (c: Buffer) => {
    text += c.toString();
  });
  req.on('end', () => {
    void (async () => {
      const meta = { id: '8f9be196ad2442f3b56a2d9d3241dd90', result_code: 200, result_subcode: 0, result_msg: 'OK' };
      let data: unknown = {};
      try {
        const f = calls[m[1] ?? ''];
        if (!f) throw new Refusal(404, `No such call: ${m[1]}`);
        data = await f(JSON.parse(text || '{}') as Body);
      } catch (e) {
        const r = e instanceof Refusal ? e : new Refusal(500, String(e));
        Object.assign(meta, { result_code: r.code, result_subcode: r.sub, result_msg: r.message });
      }
      res.statusCode = meta.result_code;
      res.setHeader('Content-Type', 'application/json');
      res.end(JSON.stringify({ meta, data }));
    })();
  });
};
export function mock(): Plugin {
  return {
    name: 'mock-server',
    configureServer: (s) => {
      s.middlewares.use(handle);
    },
    configurePreviewServer: (s) => {
      s.middlewares.use(handle);
    },
  };
}
