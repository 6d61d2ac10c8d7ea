"""A worker of which nothing is heard: its machine is gone, or only the link to it."""
import os
import pathlib
import signal
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from conftest import is_alive, wait_for  # noqa: E402
from daemon_bench import (  # noqa: E402, F401
    COUNTER, Proxy, carriers, config_by, daemons, lines, make_task, task_of, wait_status)


IMPATIENT, PATIENT = 3, 3600


def set_patience(server, seconds):
    """From now on the server takes a task's worker for lost after so much silence. A machine that is slow is silent, too: a
    server is impatient only while it is to take somebody for lost."""
    assert server.process is None or server.stop() == 0
    (server.folder / "server.conf").write_text(f"server {{ worker_lost_sec: {seconds} }}\n")
    server.start()


@pytest.fixture
def server(server_factory, tmp_path):
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "server.conf").write_text(f"server {{ worker_lost_sec: {PATIENT} }}\n")
    return server_factory(["--config", str(tmp_path / "server" / "server.conf")], "server")


QUICK_REPORTS = {"CLEARML_AGENT_STATUS_REPORT_FREQ_SEC": "0.2"}
# Says nothing: only the agent tells that it lives.
MUTE = """
import os, time
folder = {folder!r}
open(folder + "/pid", "w").write(str(os.getpid()))
while not os.path.exists(folder + "/enough"):
    time.sleep(0.01)
"""


def run_mute(server, daemons, folder, unanswered=None):
    """A task that says nothing, run by an agent whose only way to the server can be cut: (proxy, configuration
    that leads through it, agent, task, its process). The call `unanswered` of the run gets no answer."""
    proxy = Proxy(server.api_port)
    conf = config_by(server, proxy, folder / "proxy.conf")
    with open(conf, "a") as more:
        more.write("agent.task_ping_interval_sec: 0.3\n")
    d = daemons(server, "--queue", "default", conf=conf, env=QUICK_REPORTS).ready()
    proxy.swallow, proxy.mark, proxy.lose = unanswered, b"", lambda n: True
    task = make_task(server, MUTE.format(folder=str(folder)))
    pid = wait_for("the task to run", lambda: (not unanswered or proxy.swallowed) and (folder / "pid").exists() and (folder / "pid").read_text())
    return proxy, conf, d, task, int(pid)


def test_machine_disappears(server, daemons, tmp_path):
    """Agent, supervisor and task are gone at once, without a word: soon the worker is gone too, and the task failed. The
    machine comes back: its next agent tells what it finds."""
    set_patience(server, IMPATIENT)
    d = daemons(server, "--queue", "default", env=QUICK_REPORTS).ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    run = d.journal(task, "pid")
    for pid in (d.process.pid, *carriers(run["run"])):
        os.kill(pid, signal.SIGKILL)
    d.process.wait()
    wait_for("the last process", lambda: not carriers(run["run"]))
    t = wait_status(server, task)
    assert (t["status"], t["status_reason"]) == ("failed", "Forced stop (worker lost)")
    wait_for("the worker to be gone", lambda: server.call("workers.get_all", last_seen=0)["workers"] == [])
    second = daemons(server, "--queue", "default", env=QUICK_REPORTS).ready()
    wait_for("the folder to be tidied", lambda: not second.journals())
    t = task_of(server, task)
    assert (t["status"], "supervisor lost" in t["status_reason"]) == ("failed", True), t["status_reason"]


@pytest.mark.parametrize("then", ["goes on", "goes on without its agent", "ended meanwhile", "was to be stopped"])
def test_link_is_cut_for_longer_than_the_server_waits(server, daemons, tmp_path, then):
    """The worker is taken for lost, and it was not: when the link is back the task goes on as if nothing had been."""
    proxy, conf, d, task, pid = run_mute(server, daemons, tmp_path)
    if then == "goes on without its agent":
        d.process.kill()
        d.process.wait()
    proxy.cut()
    if then == "was to be stopped":
        server.call("tasks.stop", task=task)
    t = lose_worker(server, task)
    assert t["status_reason"] == "Forced stop (worker lost)"
    assert t["status"] == ("stopped" if then == "was to be stopped" else "failed")
    if then == "ended meanwhile":
        (tmp_path / "enough").touch()
        wait_for("the task's end", lambda: not is_alive(pid))
    proxy.open()
    if then.startswith("goes on"):
        t = wait_status(server, task, "in_progress")
        assert (t["status_reason"], t["status_message"]) == ("", "")
        assert is_alive(pid)
        (tmp_path / "enough").touch()
    if then == "was to be stopped":
        wait_for("the stop", lambda: task_of(server, task)["status_reason"] == "task was stopped by tasks.stop")
        assert task_of(server, task)["status"] == "stopped" and not is_alive(pid)
    else:
        wait_status(server, task, "completed")
    if d.process.poll() is not None:
        d = daemons(server, "--queue", "default", conf=conf, env=QUICK_REPORTS).ready()
    assert wait_status(server, make_task(server, "print('next')"))["status"] == "completed"
    d.end()
    proxy.cut()


def lose_worker(server, task):
    """Nobody is heard of, and the server takes the task's worker for lost: the task as it is then."""
    set_patience(server, IMPATIENT)
    t = wait_status(server, task)
    set_patience(server, PATIENT)
    return t


def claimed_by_another(server, task):
    """The task is reset, and an agent of another machine claims it. What tells that it lives; True while it runs."""
    server.call("tasks.reset", task=task)
    queue = server.call("queues.create", name="of another")["id"]
    server.call("tasks.enqueue", task=task, queue=queue)
    assert server.call("x_queues.claim", queues=[queue], worker="another", token="a token of another")["task"] == task

    def lives():
        server.call("tasks.ping", task=task)
        return task_of(server, task)["status"] == "in_progress"
    return lives


def test_machine_comes_back_and_another_has_taken_the_task(server, daemons, tmp_path):
    """Its next agent tidies up, and leaves the status to whom the task belongs now."""
    d = daemons(server, "--queue", "default", env=QUICK_REPORTS).ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    run = d.journal(task, "pid")
    for pid in (d.process.pid, *carriers(run["run"])):
        os.kill(pid, signal.SIGKILL)
    d.process.wait()
    wait_for("the last process", lambda: not carriers(run["run"]))
    assert lose_worker(server, task)["status"] == "failed"
    lives = claimed_by_another(server, task)
    second = daemons(server, "--queue", "default", env=QUICK_REPORTS).ready()
    wait_for("the folder to be tidied", lambda: lives() and not second.journals())
    assert lives()


@pytest.mark.parametrize("unanswered", [None, b"server.info"])
@pytest.mark.parametrize("then", ["runs", "has ended"])
def test_another_has_taken_the_task_meanwhile(server, daemons, tmp_path, then, unanswered):
    """The worker is taken for lost, the task is run anew by another; then the link is back: the first run ends itself, says
    no more of the task's status, and its agent goes on. Also when what the server can do was not known before the cut."""
    proxy, _, d, task, pid = run_mute(server, daemons, tmp_path, unanswered)
    proxy.cut()
    proxy.swallow = None
    assert lose_worker(server, task)["status"] == "failed"
    if then == "has ended":
        (tmp_path / "enough").touch()
        wait_for("the task's end", lambda: not is_alive(pid))
    other_lives = claimed_by_another(server, task)
    proxy.open()
    wait_for("the first run's end", lambda: other_lives() and not d.journals() and not is_alive(pid))
    assert other_lives()
    if then == "runs":
        assert not (tmp_path / "enough").exists()
    assert wait_status(server, make_task(server, "print('next')"))["status"] == "completed"
    d.end()
    proxy.cut()
