#!/usr/bin/env python3
"""bench.py [NAME...] - every bench of the project, one after another, on build/stoker (called by ./dev bench).

First says what machine this is and how long a durable commit takes on it, since half of all figures follow from that.
Each bench is a row: a name and a command; C benches are built on demand. Figures go to standard output and are kept
in build/bench/<name>.txt; docs/performance.md quotes them.
"""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
OUT = BUILD / "bench"
PYTHON = sys.executable

# name: (targets to build, command)
BENCHES = {
    "store": (["bench/store_bench"], [str(BUILD / "bench/store_bench")]),
    "events": (["bench/events_bench", "bench/events_load"], [PYTHON, "bench/events.py"]),
    "front": (["bench/http_load"], [PYTHON, "bench/front.py"]),
    "tasks": ([], [PYTHON, "bench/tasks.py"]),
    "queues": (["bench/queue_bench"], [PYTHON, "bench/queues.py"]),
    "footprint": ([], [PYTHON, "bench/footprint.py"]),
    "latency": ([], [PYTHON, "bench/latency.py"]),
}


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    memory = next(int(line.split()[1]) // 1048576 for line in open("/proc/meminfo") if line.startswith("MemTotal"))
    print(f"machine: {os.cpu_count()} cores ({cpu}), {memory} GiB, Linux {os.uname().release}, "
          f"load {os.getloadavg()[0]:.1f}", flush=True)


def main():
    wanted = sys.argv[1:] or list(BENCHES)
    unknown = set(wanted) - set(BENCHES)
    if unknown:
        sys.exit(f"bench: no bench {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}")
    OUT.mkdir(parents=True, exist_ok=True)
    machine()
    failed = []
    for name in wanted:
        targets, command = BENCHES[name]
        print(f"== {name}", flush=True)
        if targets:
            subprocess.check_call(["ninja", "-C", str(BUILD), *targets], stdout=subprocess.DEVNULL)
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        (OUT / f"{name}.txt").write_text(done.stdout)
        print(done.stdout, end="", flush=True)
        if done.returncode:
            failed.append(name)
    if failed:
        sys.exit(f"bench: failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
