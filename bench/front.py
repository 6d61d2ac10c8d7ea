#!/usr/bin/env python3
"""front.py - the front alone: answers a second and their times for small calls, the bytes an idle connection costs, and
the speed of an upload and a download of 512 MB (the disk is part of the first)."""
import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from conftest import Server  # noqa: E402

LOAD = ROOT / "build" / "bench" / "http_load"
CONNECTIONS, SECONDS, IDLE, SIZE = 4, 5, 2000, 512 << 20


def load(server, *words):
    done = subprocess.run([LOAD, *map(str, words)], capture_output=True, text=True, check=True,
                          env={**os.environ, "TOKEN": server.auth()["Authorization"].split()[1]})
    return json.loads(done.stdout)


def rss(server):
    text = pathlib.Path(f"/proc/{server.process.pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1]) * 1024


def calls(server):
    for name, n in (("debug.ping", 1), ("debug.ping", CONNECTIONS), ("users.get_current_user", 1),
                    ("users.get_current_user", CONNECTIONS)):
        r = load(server, server.api_port, n, SECONDS, "/" + name, "{}")
        print(f"{name} on {n}: {r['per_s']} a second, p50 {r['p50_us']} us, p99 {r['p99_us']} us", flush=True)


def idle(server):
    before = rss(server)
    p = subprocess.Popen([LOAD, str(server.api_port), str(IDLE), "600", "idle"], stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    print(f"idle connection: {(rss(server) - before) / IDLE:.0f} bytes", flush=True)
    p.terminate()
    p.wait()


def files(server):
    block = os.urandom(1 << 20)
    c = http.client.HTTPConnection("127.0.0.1", server.files_port)
    start = time.perf_counter()
    c.putrequest("PUT", "/big")
    for k, v in {"Content-Length": str(SIZE), **server.auth()}.items():
        c.putheader(k, v)
    c.endheaders()
    for _ in range(SIZE >> 20):
        c.send(block)
    assert c.getresponse().read() == b'["big"]'
    up = time.perf_counter() - start
    start = time.perf_counter()
    c.request("GET", "/big", headers=server.auth())
    r = c.getresponse()
    while r.read(1 << 20):
        pass
    down = time.perf_counter() - start
    print(f"upload {SIZE / up / 1e6:.0f} MB/s (hashed, synced), download {SIZE / down / 1e6:.0f} MB/s", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder).start()
        calls(server)
        idle(server)
        files(server)
        server.stop()


if __name__ == "__main__":
    main()
