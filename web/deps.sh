#!/bin/sh
# Installs the page's packages into node_modules when package-lock.json differs from what is there. Needs node on PATH.
set -eu
cd "$(dirname "$0")"

# Node from a Python wheel has no working npm script; its npm-cli.js is there all the same.
npm() {
    if command npm --version >/dev/null 2>&1; then command npm "$@"; return; fi
    n=$(node -e 'console.log(require("fs").realpathSync(process.execPath))')
    node "$(dirname "$n")/../lib/node_modules/npm/bin/npm-cli.js" "$@"
}

want=$(node -e 'console.log(require("crypto").createHash("sha256").update(require("fs").readFileSync("package-lock.json")).digest("hex"))')
have=$(cat node_modules/.lock-hash 2>/dev/null || echo none)
[ "$want" = "$have" ] && exit 0
npm ci --ignore-scripts --no-audit --no-fund
echo "$want" >node_modules/.lock-hash
