#!/bin/sh
# Makes ready what neither git nor a build keeps: npm packages (when package-lock.json differs from what is installed)
# and src/api/generated.ts, the types of all calls, from api/*.api. Needs node and python3 on PATH.
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
if [ "$want" != "$have" ]; then
    npm ci --ignore-scripts --no-audit --no-fund
    echo "$want" >node_modules/.lock-hash
fi
python3 ../tools/apigen.py typescript src/api/generated.ts ../api/*.api
