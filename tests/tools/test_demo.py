"""tools/demo.py ends all it started, whoever ends it. (That it works is shown by the fresh clone's `./dev demo --once`.)"""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading

import pytest

from conftest import GUARD, STOKER, clean_env, free_ports, wait_for

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def at_work_in(folder):
    """Processes whose working folder or words name `folder`, though it may be gone."""
    found = []
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if str(folder) in os.readlink(p / "cwd") or str(folder).encode() in (p / "cmdline").read_bytes():
                found.append((p / "cmdline").read_bytes())
        except OSError:
            pass
    return found


def refused(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_server_and_agent(number, tmp_path):
    port = free_ports(3)[0]
    p = subprocess.Popen([sys.executable, str(ROOT / "tools" / "demo.py"), "--port", str(port), "--data", str(tmp_path / "data")],
                         env={**clean_env(), "STOKER": str(STOKER), "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True)
    guard = threading.Timer(GUARD, p.kill)
    guard.start()
    try:
        seen = ""
        while "run examples/logistic" not in seen:
            seen += os.read(p.stdout.fileno(), 4096).decode() or pytest.fail(f"the demo ended by itself: {seen}")
        assert not refused(port)
        p.send_signal(number)
        assert p.wait() == 128 + number
    finally:
        guard.cancel()
        p.stdout.close()
    assert [refused(port + i) for i in range(3)] == [True] * 3
    assert not list(tmp_path.glob("stoker-demo-*"))
    wait_for("the last process", lambda: at_work_in(tmp_path) == [])
