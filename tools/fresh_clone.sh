#!/bin/sh
# fresh_clone.sh - clone this repository into an empty folder and do there what the README tells a newcomer:
# ./dev build, then ./dev demo --once. Prints a closing line for tools/suites.py.
set -u
ROOT=$(cd "$(dirname "$0")/.." && pwd -P)
DIR=$(mktemp -d)
trap 'rm -rf "$DIR"' EXIT
failed=0 passed=0
try () {
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "failed: $*"; fi
}
try git clone -q "$ROOT" "$DIR/stoker"
cd "$DIR/stoker" || exit 1
try ./dev build
try ./dev demo --once
echo "$passed passed, $failed failed"
[ $failed = 0 ]
