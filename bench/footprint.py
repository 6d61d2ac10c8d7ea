#!/usr/bin/env python3
"""footprint.py - what an idle server and an idle agent cost: time until ready, proportional set size (PSS), CPU.

Ten starts of the server on an empty and on a used data folder, from exec to the first answered debug.ping; PSS of both
after they have been idle for 5 s, and the CPU time that the agent takes in 20 idle seconds.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from conftest import STOKER, Server  # noqa: E402


def pss(pid):
    """Proportional set size of a process in MiB."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1]) / 1024


def cpu(pid):
    """User and system seconds of a process and of its threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start_ms(server):
    start = time.perf_counter()
    server.start()
    status, _, _ = server.raw("/debug.ping")
    assert status == 200
    return (time.perf_counter() - start) * 1000


def main():
    with tempfile.TemporaryDirectory() as folder:
        empty = []
        for i in range(10):
            s = Server(f"{folder}/empty{i}")
            empty.append(start_ms(s))
            s.stop()
        s = Server(f"{folder}/used")
        used = []
        for _ in range(10):
            used.append(start_ms(s))
            s.stop()
        print(f"server start to first answer, empty data: median {statistics.median(empty):.0f} ms "
              f"({min(empty):.0f}-{max(empty):.0f}); used data: {statistics.median(used):.0f} ms "
              f"({min(used):.0f}-{max(used):.0f})")
        s.start()
        time.sleep(5)
        print(f"server idle: {pss(s.process.pid):.1f} MiB PSS")
        env = {**s.env(), "STOKER_STATE": f"{folder}/state"}
        agent = subprocess.Popen([STOKER, "agent", "daemon", "--foreground", "--queue", "default", "--cpu-only"], env=env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(5)
            before = cpu(agent.pid)
            print(f"agent idle: {pss(agent.pid):.1f} MiB PSS")
            time.sleep(20)
            print(f"agent idle: {(cpu(agent.pid) - before) / 20 * 100:.2f} % of a core over 20 s")
        finally:
            agent.terminate()
            agent.wait()
        s.stop()


if __name__ == "__main__":
    main()
