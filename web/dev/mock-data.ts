// Made-up tasks, curves and logs for `npm run dev -- --mode mock`: enough to look at every page without a server.
import { createHash } from 'node:crypto';
import type { Param, Project, Queue, Task, Worker, XSeries } from '../src/api/types.ts';

export function rng(seed: number): () => number {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), 1 | s);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
const md5 = (s: string): string => createHash('md5').update(s).digest('hex');
const gauss = (r: () => number): number => Math.sqrt(-2 * Math.log(r() + 1e-12)) * Math.cos(2 * Math.PI * r());
export const T0 = Date.now();
const iso = (ms: number): string => new Date(ms).toISOString().replace('Z', '000+00:00');
const H = 3_600_000;

export const projects: Project[] = ['vision', 'vision/segmentation', 'vision/detection', 'nlp/ocr', 'Demo'].map((name, i) => ({
  id: md5(name),
  name,
  basename: name.split('/').pop() ?? name,
  created: iso(T0 - 40 * 24 * H),
  last_update: iso(T0 - i * 5 * H),
  own_tasks: 0,
}));
const seg = projects[1] as Project;
const user = { id: md5('mara'), name: 'mara' };
export const me = user;

const NAMES: Array<[string, string, string[], Partial<Task>?]> = [
  ['in_progress', 'segformer-b3-aug2-lr2e4', ['sweep-14', 'aug2'], { runtime: { progress: '62' } }],
  ['in_progress', 'segformer-b3-aug2-lr4e4', ['sweep-14'], { runtime: { progress: '58' } }],
  ['queued', 'segformer-b5-2gpu-lr1e4', ['sweep-14', 'big']],
  ['queued', 'segformer-b5-2gpu-lr2e4', ['sweep-14', 'big']],
  [
    'failed',
    'segformer-b5-lr2e4-bs32',
    ['sweep-14'],
    { status_message: 'CUDA out of memory. Tried to allocate 2.44 GiB (GPU 0; 79.1 GiB total)', status_reason: 'exit code 1' },
  ],
  ['completed', 'segformer-b3-aug2-lr1e4', ['sweep-14', 'best']],
  ['completed', 'segformer-b3-aug1-lr1e4', ['sweep-14']],
  ['completed', 'segformer-b2-aug2-lr2e4', ['sweep-14']],
  ['stopped', 'segformer-b2-aug2-lr8e4', ['sweep-14'], { status_message: 'by mara' }],
  ['completed', 'segformer-b2-aug1-lr2e4', ['sweep-13']],
  ['published', 'unet-r50-baseline-v4', ['baseline', 'prod']],
  ['completed', 'unet-r50-aug2-lr3e4-s1', ['seeds']],
  ['completed', 'unet-r50-aug2-lr3e4-s2', ['seeds']],
  ['failed', 'unet-r50-aug3-lr3e4-s1', ['seeds'], { status_message: "KeyError: 'mask_path' in dataset/cityscapes.py:88" }],
  ['created', 'unet-r50-template', ['template']],
  ['completed', 'deeplab-r101-aug2-lr1e4', []],
  ['completed', 'deeplab-r101-aug1-lr1e4', []],
  ['failed', 'deeplab-r101-bs48', [], { status_message: 'Killed: out of memory, 61.8 of 62 GiB used by this task' }],
  ['completed', 'deeplab-r50-aug2-lr1e4', []],
  ['completed', 'deeplab-r50-aug1-lr1e4', []],
  ['stopped', 'mask2former-swin-t-lr1e4', ['paper'], { status_message: 'by jonas' }],
  ['completed', 'mask2former-swin-t-lr5e5', ['paper']],
  ['completed', 'mask2former-r50-lr1e4', ['paper']],
  ['completed', 'unet-r34-aug2-lr3e4', []],
  ['completed', 'unet-r34-aug1-lr3e4', []],
  ['completed', 'unet-r18-aug1-lr3e4', []],
  ['published', 'unet-r18-baseline-v3', ['baseline']],
  ['completed', 'unet-r18-smoke', ['smoke']],
];
const param = (section: string, name: string, value: string, type: string): Param => ({ section, name, value, type });
const last = (metric: string, variant: string, value: number, min: number, max: number, at: number): [string, string, object] => [
  md5(metric),
  md5(variant),
  {
    metric,
    variant,
    value,
    min_value: min,
    min_value_iteration: at,
    max_value: max,
    max_value_iteration: at - 400,
    first_value: min,
    mean_value: value,
    count: 42480,
  },
];

export const tasks: Task[] = NAMES.map(([status, name, tags, extra], i) => {
  const r = rng(1000 + i * 7),
    id = md5(name),
    lr = /lr(\de\d)/.exec(name)?.[1]?.replace('e', 'e-') ?? '3e-4';
  const ran = !['queued', 'created'].includes(status),
    has = ran && !(status === 'failed' && !name.includes('bs48'));
  const miou = 0.74 + r() * 0.09,
    loss = 0.105 + (0.86 - miou) * 1.9,
    started = T0 - (i < 2 ? 1.03 : 2 + i * 5) * H,
    dur = 2400 + Math.floor(r() * 4000);
  const metrics: Record<string, Record<string, object>> = {};
  if (has)
    for (const [m, v, e] of [
      last('val', 'mIoU', miou, 0.3, miou + 0.003, 41200),
      last('val', 'dice', miou + 0.07, 0.4, miou + 0.072, 41200),
      last('loss', 'val', loss, loss - 0.004, 1.35, 42000),
      last('loss', 'train', loss - 0.05, loss - 0.06, 1.62, 42480),
      last('speed', 'img_per_s', 148.2, 92, 151.9, 12000),
      last('optim', 'lr', 1.04e-4, 0, 2e-4, 1400),
    ])
      (metrics[m] ??= {})[v] = e;
  return {
    id,
    name,
    type: 'training',
    status: status as Task['status'],
    status_message: '',
    status_reason: '',
    status_changed: iso(T0 - (1 + i) * H),
    tags,
    system_tags: [],
    user,
    project: { id: seg.id, name: seg.name },
    comment: i === 0 ? 'Second augmentation policy, doubled learning rate. Compare with the b3 baseline before publishing.' : '',
    created: iso(started - 20_000),
    ...(ran ? { started: iso(started) } : {}),
    ...(ran && status !== 'in_progress' ? { completed: iso(started + dur * 1000), active_duration: dur } : {}),
    last_update: iso(T0 - i * H),
    last_change: iso(T0 - i * H),
    last_iteration: has ? 42480 : 0,
    last_worker: ran ? 'gpu-07:gpu2' : '',
    ...(i === 0 ? { parent: { id: md5('segformer-b3-aug2-lr1e4'), name: 'segformer-b3-aug2-lr1e4' } } : {}),
    execution: {
      queue: { id: md5('train-a100'), name: 'train-a100' },
      artifacts: has
        ? [
            {
              key: 'per_class_iou',
              type: 'pandas',
              mode: 'output',
              uri: 'http://127.0.0.1:8081/vision/per_class_iou.csv',
              content_size: 4100,
              hash: md5('a') + md5('b'),
              timestamp: Math.floor(T0 / 1000) - 130,
              type_data: { preview: 'class,iou\nroad,0.9747\nperson,0.7884\nrider,0.6021\nbicycle,0.7390' },
            },
            {
              key: 'val_grid',
              type: 'image',
              mode: 'output',
              uri: 'http://127.0.0.1:8081/vision/val_grid.png',
              content_size: 1_200_000,
              hash: md5('c') + md5('d'),
              timestamp: Math.floor(T0 / 1000) - 130,
            },
            {
              key: 'resolved_config.yaml',
              type: 'custom',
              mode: 'output',
              uri: 's3://bucket/resolved_config.yaml',
              content_size: 6800,
              hash: md5('e') + md5('f'),
              timestamp: Math.floor(T0 / 1000) - 3600,
            },
          ]
        : [],
    },
    models: has
      ? { output: [{ name: 'checkpoint-50', model: md5('model1') }], input: [{ name: 'mit-b3-imagenet', model: md5('model2') }] }
      : {},
    script: {
      repository: 'git@github.com:acme/segmentation.git',
      branch: 'main',
      version_num: md5(`commit${i % 3}`) + '00000000',
      entry_point: 'train.py',
      working_dir: '.',
      binary: 'python3.11',
      requirements: { pip: `torch==2.8.${i === 0 ? 1 : 0}\ntorchvision==0.23.0\nnumpy==2.1.3\nclearml==2.1.12` },
      diff:
        i === 0
          ? 'diff --git a/train.py b/train.py\nindex 9e41c2d..1b2c3d4 100644\n--- a/train.py\n+++ b/train.py\n@@ -41,7 +41,9 @@ def main():\n     model = build(cfg)\n-    opt = AdamW(model.parameters(), lr=1e-4)\n+    opt = AdamW(model.parameters(), lr=cfg.lr)\n+    if cfg.mixup:\n+        loader = mixup(loader)\n     for epoch in range(cfg.epochs):'
          : '',
    },
    container: { image: 'pytorch/pytorch:2.8.0-cuda12.6' },
    hyperparams: {
      General: {
        lr: param('General', 'lr', lr, 'float'),
        batch: param('General', 'batch', name.includes('b5') ? '8' : '16', 'int'),
        backbone: param('General', 'backbone', name.split('-')[1] ?? 'r50', 'str'),
        epochs: param('General', 'epochs', '80', 'int'),
        amp: param('General', 'amp', 'True', 'bool'),
      },
      aug: {
        mixup: param('aug', 'mixup', i === 0 ? 'True' : 'False', 'bool'),
        'crop/size': param('aug', 'crop/size', '[512, 1024]', 'list'),
      },
    },
    configuration: { model: { name: 'model', type: 'yaml', value: 'backbone: mit_b3\nhead:\n  channels: 256\n  dropout: 0.1\n' } },
    last_metrics: metrics as Task['last_metrics'],
    runtime: { python_version: '3.11.9', gpu_type: 'NVIDIA A100-SXM4-80GB', gpu_count: '1', cpu_cores: '16' },
    ...extra,
  } as Task;
});
for (const p of projects) {
  const own = p.name === 'vision' || p.id === seg.id ? tasks : [],
    count: Record<string, number> = {};
  for (const t of own) count[t.status ?? ''] = (count[t.status ?? ''] ?? 0) + 1;
  p.own_tasks = p.id === seg.id ? own.length : 0;
  p.stats = {
    active: {
      status_count: count,
      total_tasks: own.length,
      total_runtime: own.length * 4200,
      last_task_run: own.length ? iso(T0 - H) : null,
    },
  };
}

export const queues: Queue[] = [
  ['train-a100', 2],
  ['train-h100', 0],
  ['eval', 0],
  ['nightly', 0],
].map(([name, n]) => ({
  id: md5(String(name)),
  name: String(name),
  created: iso(T0 - 90 * 24 * H),
  entries: n
    ? tasks
        .filter((t) => t.status === 'queued')
        .map((t, i) => ({ task: { id: t.id, name: t.name ?? '' }, added: iso(T0 - (18 - i * 5) * 60_000) }))
    : [],
  workers: name === 'nightly' ? [] : [{ id: 'gpu-07:gpu2' }],
}));
export const workers: Worker[] = ['gpu-07:gpu0', 'gpu-07:gpu1', 'gpu-07:gpu2', 'gpu-11:gpu0', 'gpu-12:gpu0'].map((id, i) => ({
  id,
  ip: '10.0.0.7',
  last_activity_time: iso(T0 - (i === 4 ? 200_000 : 3_000)),
  last_report_time: iso(T0 - (i === 4 ? 200_000 : 3_000)),
  queues: [{ id: md5(i < 3 ? 'train-a100' : 'train-h100'), name: i < 3 ? 'train-a100' : 'train-h100' }],
  ...(i < 2
    ? {
        task: { id: tasks[i]?.id ?? '', name: tasks[i]?.name ?? '' },
        queue: { id: md5('train-a100'), name: 'train-a100' },
        project: { id: seg.id, name: seg.name },
      }
    : {}),
}));

function series(
  seed: number,
  metric: string,
  variant: string,
  from: number,
  to: number,
  noise: number,
  o: { nan?: [number, number]; spike?: number; n?: number; total?: number } = {},
): XSeries {
  const r = rng(seed),
    n = o.n ?? 320,
    x: number[] = [],
    y: Array<number | null> = [],
    min: Array<number | null> = [],
    max: Array<number | null> = [],
    nan: number[] = [],
    count: number[] = [];
  let drift = 0;
  for (let i = 0; i < n; i++) {
    drift = drift * 0.9 + gauss(r) * noise * 0.35;
    let v = to + (from - to) * Math.exp((-5 * i) / n) + drift;
    const w = noise * (0.7 + r() * 0.9) * (0.5 + Math.exp((-3 * i) / n));
    let hi = v + w;
    if (o.spike === i) {
      hi = v + noise * 11;
      v += noise * 1.6;
    }
    const gap = o.nan && i >= o.nan[0] && i <= o.nan[1];
    x.push(Math.round((i / (n - 1)) * 42480));
    y.push(gap ? null : v);
    min.push(gap ? null : v - w);
    max.push(gap ? null : hi);
    nan.push(gap ? 133 : 0);
    count.push(133);
  }
  return {
    metric,
    variant,
    interval: 133,
    x,
    y,
    min,
    max,
    nan,
    inf: nan.map(() => 0),
    minus_inf: nan.map(() => 0),
    count,
    total_points: o.total ?? 42480,
    last: y[n - 1] ?? null,
    last_iter: 42480,
  };
}
export const scalars: XSeries[] = [
  series(3, 'loss', 'train', 1.62, 0.17, 0.06, { spike: 208 }),
  series(4, 'loss', 'val', 1.35, 0.225, 0.02, { n: 84, total: 84 }),
  series(8, 'val', 'mIoU', 0.29, 0.8, 0.012, { n: 84, total: 84 }),
  series(9, 'val', 'dice', 0.38, 0.872, 0.011, { n: 84, total: 84 }),
  ...['road', 'person', 'rider', 'bicycle', 'car', 'truck', 'bus', 'train', 'sky', 'wall'].map((v, i) =>
    series(12 + i, 'iou', v, 0.1 + i * 0.05, 0.6 + i * 0.035, 0.014, { n: 84, total: 84 }),
  ),
  series(18, 'optim', 'grad_norm', 6.2, 1.4, 0.42, { nan: [184, 197], spike: 120 }),
  series(23, 'speed', 'img_per_s', 92, 148, 5, { total: 4248 }),
  series(31, ':monitor:gpu', 'gpu_0_utilization', 40, 94, 6, { n: 120, total: 120 }),
  series(32, ':monitor:gpu', 'gpu_0_mem_used_gb', 50, 61.3, 1, { n: 120, total: 120 }),
  series(33, ':monitor:machine', 'cpu_usage', 30, 38, 9, { n: 120, total: 120 }),
  series(34, ':monitor:machine', 'memory_used_gb', 12, 22.8, 0.4, { n: 120, total: 120 }),
  series(35, ':monitor:machine', 'io_read_mbs', 40, 212, 30, { n: 120, total: 120 }),
];

const E = '\u001b[';
export function logLine(n: number): string {
  const e = Math.floor(n / 12) + 1,
    k = n % 12,
    loss = (0.17 + 1.4 * Math.exp(-n / 200)).toFixed(4),
    miou = (0.8 - 0.5 * Math.exp(-n / 200)).toFixed(4);
  if (n === 1) return `${E}36mstoker${E}0m environment reused in 0.9 s`;
  if (n % 97 === 50) return `${E}33;1mWARNING${E}0m dataloader worker 3 was slow for 4.1 s; consider more workers`;
  if (n % 173 === 100)
    return `${E}31;1mERROR${E}0m s3 upload failed, will retry in 2 s: ConnectionResetError(104, 'Connection reset by peer')`;
  if (k === 0)
    return `${E}2m[train]${E}0m epoch ${E}36m${e}/80${E}0m lr ${E}35m1.04e-04${E}0m loss ${loss} grad 0.962 ${E}2m148.2 img/s${E}0m`;
  if (k === 1)
    return `${E}2m[eval] ${E}0m mIoU ${E}32m${miou}${E}0m dice ${(+miou + 0.07).toFixed(4)} loss ${loss} ${E}32m✔ new best${E}0m`;
  if (k === 2) return `saved ${E}4mcheckpoints/epoch-${e}.pt${E}0m ${E}2m(328 MB in 1.2 s)${E}0m`;
  if (k < 8)
    return `epoch ${e}: ${String((k - 2) * 20).padStart(3)}%|${'█'.repeat((k - 2) * 2)}| ${(k - 2) * 170}/850 [00:${10 + k}<00:35, 9.3it/s]`;
  if (k === 8) return `${E}2m[mem]   allocated 58.9 GiB  reserved 61.3 GiB  peak 61.8 GiB${E}0m`;
  if (k === 9)
    return `${E}2m[data]  prefetch queue 14/16, decode 3.2 ms, augment 8.8 ms per image, see https://docs.example.org/loader${E}0m`;
  return `${E}2m[sync]  allreduce 11.4 ms, overlap 92 %${E}0m`;
}
const CLASSES = ['road', 'person', 'rider', 'bicycle', 'car', 'sky'];
export const plots = [
  {
    metric: 'Confusion',
    variant: 'validation',
    iter: 42000,
    plot_str: JSON.stringify({
      data: [
        {
          type: 'heatmap',
          x: CLASSES,
          y: CLASSES,
          z: CLASSES.map((_, i) => CLASSES.map((__, j) => (i === j ? 900 - i * 60 : Math.round(rng(i * 9 + j)() * 70)))),
        },
      ],
      layout: { title: { text: 'Confusion matrix' }, xaxis: { title: { text: 'predicted' } }, yaxis: { title: { text: 'true' } } },
    }),
  },
  {
    metric: 'ROC',
    variant: 'val',
    iter: 42000,
    plot_str: JSON.stringify({
      data: ['road', 'person'].map((name, k) => ({
        name,
        type: 'scatter',
        mode: 'lines+markers',
        x: [0, 0.02, 0.05, 0.1, 0.2, 0.5, 1],
        y: [0, 0.6 - k * 0.1, 0.8 - k * 0.1, 0.9 - k * 0.06, 0.95 - k * 0.03, 0.99, 1],
      })),
      layout: { title: 'ROC', xaxis: { title: 'false positive rate' }, yaxis: { title: 'true positive rate' } },
    }),
  },
  {
    metric: 'Counts',
    variant: 'per class',
    iter: 0,
    plot_str: JSON.stringify({
      data: [{ type: 'bar', x: CLASSES, y: [900, 720, 210, 340, 830, 640] }],
      layout: { title: 'Instances per class' },
    }),
  },
  {
    metric: 'Table',
    variant: 'iou',
    iter: 42000,
    plot_str: JSON.stringify({
      data: [
        {
          type: 'table',
          header: { values: ['class', 'iou', 'instances'] },
          cells: { values: [CLASSES, [0.97, 0.79, 0.6, 0.74, 0.93, 0.95], [900, 720, 210, 340, 830, 640]] },
        },
      ],
      layout: {},
    }),
  },
  {
    metric: 'Table',
    variant: '3-D',
    iter: 42000,
    plot_str: JSON.stringify({ data: [{ type: 'scatter3d', x: [1], y: [1], z: [1] }], layout: { title: 'Embedding' } }),
  },
];
