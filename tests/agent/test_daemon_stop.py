"""Ends that are asked for: by flags, users, signals; and tasks that ignore them."""
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from conftest import GUARD, STOKER, is_alive, wait_for  # noqa: E402
from daemon_bench import COUNTER, carriers, console, daemons, lines, make_task, task_of, wait_status  # noqa: E402, F401

# Saves its work on TERM, which takes a while, and has a child in a session of its own.
SAVER = """
import os, signal, subprocess, sys, time
folder = {folder!r}
subprocess.Popen(["setsid", "sleep", "100000"], start_new_session=True)
def save(*_):
    for i in range(20):
        time.sleep(0.01)
    open(folder + "/saved", "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open(folder + "/pid", "w").write(str(os.getpid()))
while True:
    time.sleep(0.01)
"""


def start_saver(server, d, tmp_path):
    task = make_task(server, SAVER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: (tmp_path / "pid").exists())
    return task, d.journal(task, "child")["run"]


def test_stop_by_flags(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default").ready()
    task, run = start_saver(server, d, tmp_path)
    assert d.agent("daemon", "--queue", "default", "--cpu-only", "--stop").returncode == 0
    assert d.wait() == 254
    t = task_of(server, task)
    assert t["status"] == "stopped"
    assert "agent stopped" in t["status_reason"]
    assert (tmp_path / "saved").exists()
    assert carriers(run) == []
    assert server.call("workers.get_all")["workers"] == []
    assert d.agent("daemon", "--queue", "default", "--cpu-only", "--stop").returncode == 1


def test_abort_by_user(server, daemons, tmp_path):
    """tasks.stop: TERM, the work is saved, nothing of the task survives; the daemon goes on."""
    d = daemons(server, "--queue", "default").ready()
    task, run = start_saver(server, d, tmp_path)
    server.call("tasks.stop", task=task)
    assert wait_status(server, task)["status"] == "stopped"
    assert (tmp_path / "saved").exists()
    wait_for("the last process", lambda: not carriers(run))
    assert wait_status(server, make_task(server, "print('next')"))["status"] == "completed"
    assert d.process.poll() is None


def test_task_that_ignores_term(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default", env={"STOKER_GRACE_SEC": "0.5"}).ready()
    task = make_task(server, f"""
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open({str(tmp_path / 'pid')!r}, "w").write(str(os.getpid()))
while True:
    time.sleep(0.01)
""")
    pid = wait_for("the task to run", lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    d.process.terminate()
    assert d.wait() == 254
    assert task_of(server, task)["status"] == "stopped"
    wait_for("the last process", lambda: not is_alive(pid))


def test_told_to_stop_before_it_has_begun(server, tmp_path):
    """TERM is there before the supervisor looks: its agent had claimed the task already, so it has stopped, and is not forgotten."""
    task = make_task(server, "print('never')", enqueue=False)
    server.call("tasks.started", task=task, force=True)
    run = "0123456789abcdef0123456789abcdef"
    folder = tmp_path / "state" / "runs" / run
    folder.mkdir(parents=True, mode=0o700)
    (folder / "journal").write_text(json.dumps({"stage": "claimed", "t": 1, "task": task, "run": run, "server": server.api,
                                                "worker": "box:cpu:0", "queue": ""}) + "\n")

    def with_term():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        os.kill(os.getpid(), signal.SIGTERM)

    with open(tmp_path / "run.log", "wb") as log:
        p = subprocess.Popen([STOKER, "execute", "--id", task], stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=with_term,
                             env=server.env(STOKER_STATE=str(tmp_path / "state"), STOKER_RUN_ID=run, STOKER_RUN_DIR=str(folder),
                                            CLEARML_WORKER_ID="box:cpu:0", CLEARML_AGENT_SKIP_PYTHON_ENV_INSTALL="1"))
    assert p.wait(GUARD) == 254
    t = task_of(server, task)
    assert (t["status"], t["status_reason"]) == ("stopped", "user abort: agent stopped")
    assert json.loads((folder / "journal").read_text().splitlines()[-1])["reported"] == "stopped"
    assert "never" not in console(server, task)


def test_drain(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    assert d.agent("drain").returncode == 0
    wait_for("the state", lambda: [x["mode"] for x in d.status()["daemons"]] == ["draining"])
    later = make_task(server, "print('not by this one')")
    (tmp_path / "enough").touch()
    assert d.wait() == 0
    assert task_of(server, task)["status"] == "completed"
    assert task_of(server, later)["status"] == "queued"
    assert "Draining" in d.text()
    assert server.call("workers.get_all")["workers"] == []


def test_interrupt_drains_then_stops(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    d.process.send_signal(signal.SIGINT)
    wait_for("the words", lambda: "Draining" in d.text())
    assert task_of(server, task)["status"] == "in_progress"
    d.process.send_signal(signal.SIGINT)
    assert d.wait() == 254
    assert task_of(server, task)["status"] == "stopped"


def test_interrupt_while_idle(server, daemons):
    d = daemons(server, "--queue", "default").ready()
    d.process.send_signal(signal.SIGINT)
    assert d.wait() == 254
    assert server.call("workers.get_all")["workers"] == []


def test_stop_while_server_is_away(server_factory, daemons):
    """The end comes all the same (the reference agent hangs in its retries)."""
    server = server_factory()
    d = daemons(server, "--queue", "default").ready()
    server.kill()
    d.process.terminate()
    assert d.wait() == 254
    server.start()
