#!/usr/bin/env python3
"""events.py - durable metric events a second over HTTP (four connections, batches of 500) and what the store alone gives.

    bench/events.py [BUILD_FOLDER] [SECONDS]      default: build, 10

Builds bench/events_load and bench/events_bench there, starts build/stoker on an empty data folder next to it (so that
the disk is the one that counts), and prints one JSON object a line.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))


def main(build="build", seconds="10"):
    build = (ROOT / build).resolve()
    subprocess.run(["ninja", "-C", build, "bench/events_load", "bench/events_bench", "stoker"], check=True,
                   stdout=subprocess.DEVNULL)
    os.environ["STOKER"] = str(build / "stoker")
    import conftest
    with tempfile.TemporaryDirectory(dir=build) as folder:
        server = conftest.Server(folder).start()
        try:
            server.auth()
            for mode, connections in (("check", 1), ("check", 4), ("read", 4), ("check", 16)):
                tasks = [server.call("tasks.create", name=f"bench {i}", type="training")["id"] for i in range(connections)]
                out = subprocess.run([build / "bench/events_load", str(server.api_port), seconds, mode, *tasks], check=True,
                                     env={**os.environ, "TOKEN": server.token}, capture_output=True, text=True).stdout
                print(json.dumps({"what": "events over HTTP", "last_metrics": "after every answer" if mode == "read"
                                  else "after every 20th", **json.loads(out)}), flush=True)
        finally:
            server.stop()
    subprocess.run([build / "bench/events_bench", "4", seconds], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main(*sys.argv[1:])
