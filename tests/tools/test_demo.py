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
CHOOSES = """
import sys
sys.path.insert(0, {tools!r})
import demo
ports = iter({ports!r})
demo.free_ports = lambda: next(ports)
demo.main()
"""


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


def check_end(command, number, tmp_path, port):
    """The demo gets a signal while a training runs: nothing is left."""
    p = subprocess.Popen([sys.executable, *command, "--data", str(tmp_path / "data")], stdout=subprocess.PIPE, text=True,
                         env={**clean_env(), "STOKER": str(STOKER), "TMPDIR": str(tmp_path)})
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_server_and_agent(number, tmp_path):
    port = free_ports(3)[0]
    check_end([str(ROOT / "tools" / "demo.py"), "--port", str(port)], number, tmp_path, port)


def test_ports_that_somebody_took_meanwhile(tmp_path):
    """They were free when they were chosen: others are."""
    busy, port = free_ports(3)[0], free_ports(3)[0]
    with socket.socket() as s:
        s.bind(("127.0.0.1", busy + 1))
        s.listen()
        code = CHOOSES.format(tools=str(ROOT / "tools"), ports=[busy, port])
        check_end(["-c", code], signal.SIGTERM, tmp_path, port)
