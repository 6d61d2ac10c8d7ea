#!/bin/sh
# Builds the page: build.sh OUTDIR. Needs node (22.12 or later) on PATH; npm beside it. OUTDIR is emptied first.
set -eu
[ $# -eq 1 ] || { echo "usage: build.sh OUTDIR" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
sh deps.sh
node node_modules/typescript/bin/tsc --noEmit
node node_modules/vite/bin/vite.js build --outDir "$out" --emptyOutDir --logLevel warn
node tools/budget.mjs "$out"
