// Writes a .gz beside every text asset of a build (node's zlib, level 9), so that the server never compresses pages itself.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const TEXT = /\.(html|js|css|svg|json|txt|map)$/;
let first = 0;
for (const name of readdirSync(process.argv[2], { recursive: true })) {
  const file = join(process.argv[2], name);
  if (!TEXT.test(name) || !statSync(file).isFile()) continue;
  const small = gzipSync(readFileSync(file), { level: 9 });
  writeFileSync(`${file}.gz`, small);
  if (/assets\/index-.*\.js$/.test(name)) first = small.length;
}
// The budget of the first script: what a visitor waits for before anything shows.
const LIMIT = 250_000;
console.log(`first script: ${(first / 1000).toFixed(1)} kB gzip`);
if (first > LIMIT) { console.error(`over the limit of ${LIMIT / 1000} kB`); process.exit(1); }
