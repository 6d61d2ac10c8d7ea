#!/bin/sh
# Builds the page: build.sh OUTDIR. Needs node (22.12 or later) on PATH; npm beside it.
# npm ci runs only when package-lock.json differs from what node_modules was made of.
set -eu
[ $# -eq 1 ] || { echo "usage: build.sh OUTDIR" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"

# Node from a Python wheel has no working npm script; its npm-cli.js is there all the same.
npm() {
    if command npm --version >/dev/null 2>&1; then command npm "$@"; return; fi
    n=$(command -v node)
    n=$(node -e 'console.log(require("fs").realpathSync(process.argv[1]))' "$n")
    node "$(dirname "$n")/../lib/node_modules/npm/bin/npm-cli.js" "$@"
}

want=$(node -e 'console.log(require("crypto").createHash("sha256").update(require("fs").readFileSync("package-lock.json")).digest("hex"))')
have=$(cat node_modules/.lock-hash 2>/dev/null || echo none)
if [ "$want" != "$have" ]; then
    npm ci --ignore-scripts --no-audit --no-fund
    echo "$want" >node_modules/.lock-hash
fi
node node_modules/typescript/bin/tsc --noEmit
node node_modules/vite/bin/vite.js build --outDir "$out" --emptyOutDir --logLevel warn
node tools/budget.mjs "$out"
