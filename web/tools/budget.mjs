// Weighs a build: what a visitor loads before anything shows must stay under the budget (gzip; tools/webgen.py packs the files).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const LIMITS = [['first script', /^index-.*\.js$/, 250_000], ['first style sheet', /^index-.*\.css$/, 30_000], ['any other script', /^(?!index-).*\.js$/, 120_000]];
const dir = join(process.argv[2], 'assets');
let bad = false;
for (const [what, pattern, limit] of LIMITS) {
  const sizes = readdirSync(dir).filter((n) => pattern.test(n)).map((n) => gzipSync(readFileSync(join(dir, n)), { level: 9 }).length);
  const most = Math.max(0, ...sizes);
  console.log(`${what}: ${(most / 1000).toFixed(1)} of ${limit / 1000} kB gzip`);
  bad ||= most > limit;
}
process.exit(bad ? 1 : 0);
