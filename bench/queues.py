#!/usr/bin/env python3
"""queues.py - tasks created and enqueued a second, and claimed, over 4, 16 and 64 connections (bench/queue_bench, in C),
and what one task (created, enqueued, claimed) costs the server in CPU time, which says more on a machine that others use.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import conftest  # noqa: E402


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    bench = pathlib.Path(os.environ.get("STOKER", ROOT / "build/stoker")).parent / "bench/queue_bench"
    with tempfile.TemporaryDirectory(dir=bench.parent) as folder:  # beside the build: the disk is the one that counts
        server = conftest.Server(folder).start()
        try:
            server.auth()
            for connections in (4, 16, 64):
                before = cpu_s(server.process.pid)
                out = subprocess.run([bench, str(server.api_port), server.token, str(connections), "4"], check=True,
                                     stdout=subprocess.PIPE, text=True).stdout
                tasks = json.loads(out.splitlines()[0])["tasks"]
                print(out, end="")
                print(json.dumps({"bench": "CPU of the server", "connections": connections,
                                  "us_per_task": round((cpu_s(server.process.pid) - before) / tasks * 1e6)}), flush=True)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
