#!/usr/bin/env python3
"""suites.py [NAME...] - run every test suite of the project, as many at once as there are cores, and add them up.

Called by `./dev test`, which has made build/stoker and the environments and tells them by STOKER*. Each suite is a row
of SUITES: a name, a shell-free command, what closing line its runner prints. The output of a suite goes to a log file;
its closing line is printed when it ends, and its account of what failed (or the tail of the log) when it failed. A suite that could not be started, that
ended without a closing line, whose exit code contradicts it, or that ran no test at all, counts as one failure. The last
line of all is `N passed, N failed, N skipped`. Exit status 1 when anything failed.
"""
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("STOKER_CACHE", pathlib.Path.home() / ".cache/stoker-dev"))
LOGS = ROOT / "build" / "test-logs"
PYTEST = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]


def suite(name, command, env=None, first=False):
    """first: runs before the others, alone (it builds what they use)."""
    return {"name": name, "command": command, "env": env or {}, "first": first}


ASAN = {"STOKER": str(ROOT / "build-asan" / "stoker"), "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
TSAN = {"STOKER": str(ROOT / "build-tsan" / "stoker"), "TSAN_OPTIONS": "halt_on_error=1:exitcode=66"}
SUITES = [
    suite("asan-unit", ["./dev", "sanitize", "asan"], first=True),
    suite("tsan-unit", ["./dev", "sanitize", "tsan"], first=True),
    suite("check", ["./dev", "check"]),
    suite("agent", PYTEST + ["tests/agent"], env=ASAN),
    suite("run", PYTEST + ["tests/run"]),
    suite("fresh-clone", ["sh", "tools/fresh_clone.sh"]),
    suite("web", PYTEST + ["tests/web"]),
    suite("fault", PYTEST + ["tests/fault"]),
    suite("api", PYTEST + ["tests/api"], env=ASAN),
    suite("api-tsan", PYTEST + ["tests/api/test_http.py", "tests/api/test_queues.py", "tests/api/test_events.py", "tests/api/test_console.py",
                             "tests/api/test_auth.py", "tests/api/test_upload.py"], env=TSAN),
    suite("fuzz", ["./dev", "fuzz", "*", "short"]),
    suite("sdk", PYTEST + ["tests/sdk"]),
    suite("golden", PYTEST + ["tests/golden"]),
    suite("cli", PYTEST + ["tests/cli", "tests/docs"]),
    suite("web-unit", ["npm", "--prefix", "web", "test", "--silent"]),
    suite("tools", PYTEST + ["tests/tools"]),
]

SHOWN = 1200, 120  # lines at most, lines of a log that has no such account

# Closing lines: pytest, meson, vitest, and the plain one of our own scripts.
PATTERNS = [
    re.compile(r"^(?:=+ )?(?P<line>(?:\d+ (?:passed|failed|skipped|errors?|xfailed|warnings?|deselected)(?:, )?)+ in [\d.:hms ()]+)", re.M),
    re.compile(r"^(?P<line>\d+ passed, \d+ failed(?:, \d+ skipped)?)$", re.M),
]


def count(text):
    """(passed, failed, skipped, closing line) of a runner's output; None when it has no closing line."""
    found = None
    for pattern in PATTERNS:
        for m in pattern.finditer(text):
            n = {word: int(num) for num, word in re.findall(r"(\d+) (passed|failed|skipped|error)", m["line"])}
            found = (n.get("passed", 0), n.get("failed", 0) + n.get("error", 0), n.get("skipped", 0), m["line"])
    ok, fail, skip = (re.search(rf"^{w}:\s+(\d+)", text, re.M) for w in ("Ok", "Fail", "Skipped"))
    if ok and fail:
        timeout = re.search(r"^Timeout:\s+(\d+)", text, re.M)
        n = (int(ok[1]), int(fail[1]) + int(timeout[1] if timeout else 0), int(skip[1]) if skip else 0)
        found = (*n, f"{n[0]} passed, {n[1]} failed, {n[2]} skipped (meson)")
    vitest = re.search(r"^\s+Tests\s+(.*)$", re.sub(r"\x1b\[[0-9;]*m", "", text), re.M)
    if vitest:
        n = {word: int(num) for num, word in re.findall(r"(\d+) (passed|failed|skipped)", vitest[1])}
        found = (n.get("passed", 0), n.get("failed", 0), n.get("skipped", 0), f"Tests {vitest[1].strip()}")
    return found


def account(text):
    """The lines that tell what failed: pytest's, from its first heading on; else the last ones."""
    told = re.search(r"^=+ (?:ERRORS|FAILURES) =+$", text, re.M)
    lines = text[told.start():].splitlines() if told else text.splitlines()[-SHOWN[1]:]
    if len(lines) <= SHOWN[0]:
        return lines
    half = SHOWN[0] // 2
    return [*lines[:half], f"... {len(lines) - 2 * half} lines: see the log ...", *lines[-half:]]


def run(row, results, say):
    start = time.monotonic()
    log = LOGS / f"{row['name']}.log"
    with log.open("wb") as out:
        try:
            code = subprocess.call(row["command"], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                   env={**os.environ, **row["env"]})
        except OSError as error:
            code = 127
            out.write(f"{row['command'][0]}: {error}\n".encode())
    text = log.read_text(errors="replace")
    counted = count(text)
    took = time.monotonic() - start
    if counted is None:
        counted = (0, 1, 0, f"no closing line, exit code {code}")
    elif code != 0 and counted[1] == 0:
        counted = (counted[0], 1, counted[2], f"{counted[3]}, but exit code {code}")
    elif code == 0 and counted[1]:
        counted = (*counted[:3], f"{counted[3]}, though exit code 0")
    elif sum(counted[:3]) == 0:
        counted = (0, 1, 0, f"{counted[3]}: no test ran")
    results[row["name"]] = counted
    with say:
        print(f"{row['name']:12} {counted[3]}  [{took:.0f} s]", flush=True)
        for line in re.findall(r"^SKIPPED.*$", text, re.M):
            print(f"             {line}", flush=True)
        if counted[1]:
            print("\n".join("    | " + line for line in account(text)), flush=True)


def main():
    wanted = sys.argv[1:]
    unknown = set(wanted) - {s["name"] for s in SUITES}
    if unknown:
        sys.exit(f"suites: no suite {', '.join(sorted(unknown))}; there are {', '.join(s['name'] for s in SUITES)}")
    rows = [s for s in SUITES if not wanted or s["name"] in wanted]
    LOGS.mkdir(parents=True, exist_ok=True)
    results, say = {}, threading.Lock()
    for kind, env in (("asan", ASAN), ("tsan", TSAN)):
        if any(r["env"] is env for r in rows) and not any(r["name"] == f"{kind}-unit" for r in rows):
            subprocess.check_call(["./dev", "sanitize", kind, "build"], cwd=ROOT)
    if any(r["env"] is TSAN for r in rows) and not any(r["name"] == "tsan-unit" for r in rows):
        subprocess.check_call(["./dev", "sanitize", "tsan", "build"], cwd=ROOT)
    for row in [r for r in rows if r["first"]]:
        run(row, results, say)
    waiting = [r for r in rows if not r["first"]]
    lock = threading.Lock()

    def worker():
        while True:
            with lock:
                if not waiting:
                    return
                row = waiting.pop(0)
            run(row, results, say)

    threads = [threading.Thread(target=worker) for _ in range(max(2, os.cpu_count() or 2))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for row in rows:
        results.setdefault(row["name"], (0, 1, 0, ""))  # whatever kept it from being run has been printed
    passed, failed, skipped = (sum(r[i] for r in results.values()) for i in range(3))
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
