// Weighs a build: what a visitor loads before anything shows must stay under the budget (gzip; tools/webgen.py packs the files).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const out = process.argv[2];
const weigh = (names) => names.reduce((n, f) => n + gzipSync(readFileSync(join(out, f)), { level: 9 }).length, 0);
const html = readFileSync(join(out, 'index.html'), 'utf8');
const first = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((m) => m[1]);
const lazy = readdirSync(join(out, 'assets'))
  .map((f) => `assets/${f}`)
  .filter((f) => f.endsWith('.js') && !first.includes(f));
const ROWS = [
  ['first load, scripts', weigh(first.filter((f) => f.endsWith('.js'))), 250_000],
  ['first load, styles', weigh(first.filter((f) => f.endsWith('.css'))), 30_000],
  ['largest later script', Math.max(0, ...lazy.map((f) => weigh([f]))), 120_000],
];
for (const [what, size, limit] of ROWS) console.log(`${what}: ${(size / 1000).toFixed(1)} of ${limit / 1000} kB gzip`);
process.exit(ROWS.some(([, size, limit]) => size > limit) ? 1 : 0);
