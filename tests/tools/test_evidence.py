"""tests/evidence.py: whoever reads the output of a test that failed finds the server's log, the agent's, and the console."""
import os
import pathlib
import subprocess
import sys

from conftest import GUARD

TESTS = pathlib.Path(__file__).resolve().parent.parent
FAILS = """
import signal, time

def test_fine(shared_server):
    with open(shared_server.log, "a") as log:
        log.write("long before\\n")

def test_fails(shared_server, tmp_path):
    s = shared_server
    task = s.call("tasks.create", name="the task", type="training")["id"]
    s.batch("events.add_batch", [{"type": "log", "task": task, "msg": f"line {i}", "timestamp": 1700000000000 + i} for i in range(200)])
    (tmp_path / "state" / "runs" / "r").mkdir(parents=True)
    (tmp_path / "state" / "runs" / "r" / "journal").write_text('{"stage":"claimed","token":"0123456789abcdef"}')
    (tmp_path / "state" / "runs" / "r" / "env").mkdir()
    (tmp_path / "state" / "runs" / "r" / "env" / "pip.log").write_text("nobody wants that")
    (tmp_path / "daemon-0.log").write_text(f"log in with {s.secret}, {s.auth()['Authorization']}, http://robot:pass@h/, secret_key: xyz")
    with open(s.log, "a") as log:
        log.write("".join(f"of the server {i}\\n" for i in range(200)))
    assert False

def test_fails_to_begin(nothing_such):
    pass

def test_hangs():
    signal.alarm(1)  # as if half an hour were over
    time.sleep(1000)
"""


def test_what_is_printed(tmp_path):
    (tmp_path / "test_it.py").write_text(FAILS)
    (tmp_path / "conftest.py").write_text(
        f"import sys; sys.path.insert(0, {str(TESTS)!r}); import importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('of_tests', {str(TESTS / 'conftest.py')!r})\n"
        "of_tests = importlib.util.module_from_spec(spec); spec.loader.exec_module(of_tests)\n"
        "globals().update({k: v for k, v in vars(of_tests).items() if not k.startswith('__')})\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path}/t", "test_it.py"],
                          cwd=tmp_path, capture_output=True, text=True, timeout=GUARD, env={**os.environ, "PYTEST_ADDOPTS": ""})
    out = done.stdout
    assert done.returncode == 1 and "2 failed, 1 passed, 1 error" in out, out + done.stderr
    found = out[out.index("test_fails ") if "test_fails " in out else 0:]
    assert "of the server 199\n" in found and "of the server 100\n" not in found and "long before" not in found
    assert '"name": "the task", "status": "created"' in found and "\nline 199\n" in found and "\nline 100\n" not in found
    assert '{"stage":"claimed","token":"****"}' in found and "\nnobody wants that" not in found
    assert "log in with ****, Bearer ****, http://****@h/, secret_key: ****" in found
    assert "test_hangs does not end: given up after 1800 s" in found
