#!/usr/bin/env python3
"""queues.py - tasks created and enqueued a second, and claimed, over 4, 16 and 64 connections (bench/queue_bench, in C)."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import conftest  # noqa: E402


def main():
    bench = pathlib.Path(os.environ.get("STOKER", ROOT / "build/stoker")).parent / "bench/queue_bench"
    with tempfile.TemporaryDirectory(dir=bench.parent) as folder:  # beside the build: the disk is the one that counts
        server = conftest.Server(folder).start()
        try:
            server.auth()
            for connections in (4, 16, 64):
                subprocess.run([bench, str(server.api_port), server.token, str(connections), "4"], check=True)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
