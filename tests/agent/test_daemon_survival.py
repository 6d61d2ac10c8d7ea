"""What survives what: daemons, supervisors, servers and answers that are lost, and the tasks that run on."""
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from conftest import STOKER, is_alive, wait_for  # noqa: E402
from daemon_bench import (  # noqa: E402, F401
    COUNTER, Proxy, carriers, check_counted, config_by, console, daemons, lines, make_task, queue_id, task_of,
    wait_console, wait_status)


# -- death ----------------------------------------------------------------------------------------------------------------

def test_daemon_killed_task_adopted(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 20)
    pid = int((tmp_path / "pid").read_text())
    d.process.kill()
    d.process.wait()
    before = lines(tmp_path)
    wait_for("the task to go on", lambda: lines(tmp_path) > before + 20)
    second = daemons(server, "--queue", "default").ready()
    wait_for("the adoption", lambda: f"Adopted task '{task}'" in second.text())
    assert task_of(server, task)["status"] == "in_progress"
    later = make_task(server, "print('after')")
    (tmp_path / "enough").touch()
    assert wait_status(server, task)["status"] == "completed"
    check_counted(server, task)
    assert int((tmp_path / "pid").read_text()) == pid  # it was never started again
    assert wait_status(server, later)["status"] == "completed"
    assert f"DONE: Running task '{task}', exit status 0" in second.text()


def test_daemon_killed_task_ends_meanwhile(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    d.process.kill()
    d.process.wait()
    (tmp_path / "enough").touch()
    assert wait_status(server, task)["status"] == "completed"
    check_counted(server, task)
    second = daemons(server, "--queue", "default").ready()
    wait_for("the folder to be tidied", lambda: not second.journals())
    assert task_of(server, task)["status"] == "completed"


def test_restart_keeps_tasks(server, daemons, tmp_path):
    """SIGHUP: the same process id, a new image; the task runs on under the same worker."""
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    assert d.agent("restart").returncode == 0
    wait_for("the adoption", lambda: f"Adopted task '{task}'" in d.text())
    assert d.process.poll() is None
    (tmp_path / "enough").touch()
    t = wait_status(server, task)
    assert (t["status"], t["last_worker"]) == ("completed", "box:cpu:0")
    check_counted(server, task)
    assert wait_status(server, make_task(server, "print(1)"))["status"] == "completed"


def test_supervisor_killed(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    run = d.journal(task, "pid")
    os.kill(run["pid"], signal.SIGKILL)
    t = wait_status(server, task)
    assert t["status"] == "failed"
    assert "supervisor lost" in t["status_reason"]
    wait_for("the last process", lambda: not carriers(run["run"]))
    wait_console(server, task, "supervisor lost")
    assert wait_status(server, make_task(server, "print('next')"))["status"] == "completed"


def test_supervisor_killed_while_server_is_away(server_factory, daemons, tmp_path):
    """What was on the disk and nobody had sent yet arrives all the same."""
    server = server_factory()
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    run = d.journal(task, "pid")
    server.kill()
    before = lines(tmp_path)
    wait_for("lines without a server", lambda: f'"line {before + 200}"' in d.spooled(run["run"]))
    os.kill(run["pid"], signal.SIGKILL)
    wait_for("the end of the task", lambda: "supervisor lost" in d.text())
    n = lines(tmp_path)
    server.start()
    assert wait_status(server, task)["status"] == "failed"
    wait_for("the folder to be tidied", lambda: not d.journals())
    text = [line for line in console(server, task).splitlines() if line.startswith("line ")]
    assert text[:before + 200] == [f"line {i}" for i in range(before + 200)]
    assert text == [f"line {i}" for i in range(len(text))] and len(text) <= n + 1
    assert wait_status(server, make_task(server, "print('next')"))["status"] == "completed"


def test_what_tells_of_a_lost_supervisor_is_killed_too(server_factory, daemons, tmp_path):
    """As above, and the machine goes down before anything could be told: the next agent sends every line."""
    server = server_factory()
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    run = wait_for("the journal", lambda: (r := d.journals().get(task)) and r.get("pid") and r)
    server.kill()
    before = lines(tmp_path)
    wait_for("lines without a server", lambda: f'"line {before + 200}"' in d.spooled(run["run"]))
    os.kill(run["pid"], signal.SIGKILL)
    settling = wait_for("the one that tells", lambda: (r := d.journals()[task])["stage"] == "settling" and r["pid"])
    d.process.kill()
    d.process.wait()
    os.kill(settling, signal.SIGKILL)
    server.start()
    second = daemons(server, "--queue", "default").ready()
    assert wait_status(server, task)["status"] == "failed"
    wait_for("the folder to be tidied", lambda: not second.journals())
    text = [line for line in console(server, task).splitlines() if line.startswith("line ")]
    assert text == [f"line {i}" for i in range(len(text))] and len(text) >= before + 200


def test_both_killed(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    run = d.journal(task, "pid")
    d.process.kill()
    os.kill(run["pid"], signal.SIGKILL)
    d.process.wait()
    second = daemons(server, "--queue", "default").ready()
    t = wait_status(server, task)
    assert (t["status"], "supervisor lost" in t["status_reason"]) == ("failed", True)
    wait_for("the last process", lambda: not carriers(run["run"]))
    wait_for("the folder to be tidied", lambda: not second.journals())


def test_runs_of_another_server_are_left_alone(server_factory, daemons, tmp_path):
    """Two servers, one user, the same worker id: the daemon of the one does not touch the runs of the other."""
    one, two = server_factory(), server_factory()
    d = daemons(one, "--queue", "default").ready()
    task = make_task(one, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    run = d.journal(task, "pid")
    d.process.kill()
    d.process.wait()
    os.kill(run["pid"], signal.SIGKILL)
    other = daemons(two, "--queue", "default").ready()
    assert wait_status(two, make_task(two, "print('served')"))["status"] == "completed"
    wait_for("the words", lambda: "left alone" in other.text())
    assert task in d.journals()
    assert task_of(one, task)["status"] == "in_progress"
    other.end()
    daemons(one, "--queue", "default").ready()
    assert wait_status(one, task)["status"] == "failed"


def write_claim(server, state, task):
    """What a daemon writes when it has claimed a task, before anything is started: (id of the run, its folder)."""
    server.call("tasks.started", task=task, force=True)
    run = "0123456789abcdef0123456789abcdef"
    folder = state / "runs" / run
    folder.mkdir(parents=True, mode=0o700)
    (folder / "journal").write_text(json.dumps({"stage": "claimed", "t": 1, "task": task, "run": run,
                                                "server": server.api, "worker": "box:cpu:0", "queue": ""}) + "\n")
    return run, folder


def test_killed_between_claim_and_start(server, daemons, tmp_path):
    """The run was written down, and the daemon died before anything was started: the next one starts it."""
    d = daemons(server, "--queue", "nothing").ready()
    task = make_task(server, "print('once')", enqueue=False)
    d.process.kill()
    d.process.wait()
    write_claim(server, tmp_path / "state", task)
    second = daemons(server, "--queue", "nothing").ready()
    assert wait_status(server, task)["status"] == "completed"
    assert console(server, task).count("once\n") == 1
    wait_for("the folder to be tidied", lambda: not second.journals())


@pytest.mark.parametrize("then", ["signs", "is gone"])
def test_killed_before_the_supervisor_has_signed(server, daemons, tmp_path, then):
    """The daemon died right behind the start of a supervisor: the next one waits for it, and takes nothing meanwhile."""
    d = daemons(server, "--queue", "default").ready()
    d.process.kill()
    d.process.wait()
    task = make_task(server, f"open({str(tmp_path / 'runs')!r}, 'a').write('x')", enqueue=False)
    run, folder = write_claim(server, tmp_path / "state", task)
    late = ["sh", "-c", f'while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; [ {then[0]} = i ] || exec "$@"', "late", STOKER,
            "execute", "--id", task]
    supervisor = subprocess.Popen(late, start_new_session=True, env={**d.env, "STOKER_RUN_ID": run, "STOKER_RUN_DIR": str(folder),
                                                                     "CLEARML_WORKER_ID": "box:cpu:0"})
    later = make_task(server, "print('after')")
    second = daemons(server, "--queue", "default").ready()
    assert task_of(server, task)["status"] == "in_progress"
    assert task_of(server, later)["status"] == "queued"
    (tmp_path / "go").touch()
    assert wait_status(server, task)["status"] == ("completed" if then == "signs" else "failed")
    supervisor.wait()
    wait_for("the folder to be tidied", lambda: task not in second.journals())
    assert ((tmp_path / "runs").read_text() if (tmp_path / "runs").exists() else "") == ("x" if then == "signs" else "")
    assert wait_status(server, later)["status"] == "completed"


# -- the wire breaks ------------------------------------------------------------------------------------------------------

def test_claim_answer_lost(server, daemons, tmp_path):
    """The server has handed the task out and the answer is lost on the way: the same token brings it again."""
    proxy = Proxy(server.api_port)
    proxy.swallow = b"x_queues.claim"
    conf = config_by(server, proxy, tmp_path / "proxy.conf")
    d = daemons(server, "--queue", "default", conf=conf).ready()
    task = make_task(server, f"open({str(tmp_path / 'runs')!r}, 'a').write('x')")
    assert wait_status(server, task)["status"] == "completed"
    assert proxy.swallowed == 1
    assert (tmp_path / "runs").read_text() == "x"
    assert wait_status(server, make_task(server, "print('next')"))["status"] == "completed"
    d.end()
    proxy.cut()


def test_claim_answer_lost_and_daemon_killed(server, daemons, tmp_path):
    """As above, and the daemon dies before it can ask again: the next one sends the token it finds."""
    proxy = Proxy(server.api_port)
    proxy.swallow = b"x_queues.claim"
    conf = config_by(server, proxy, tmp_path / "proxy.conf")
    d = daemons(server, "--queue", "default", conf=conf).ready()
    wait_for("the claim", lambda: any(b"x_queues.claim" in h for h in proxy.seen))
    d.process.send_signal(signal.SIGSTOP)  # it cannot take the answer, nor ask again
    task = make_task(server, f"open({str(tmp_path / 'runs')!r}, 'a').write('x')")
    wait_status(server, task, "in_progress")
    wait_for("the answer to be lost", lambda: proxy.swallowed)
    d.process.kill()
    d.process.wait()
    assert not d.journals()
    daemons(server, "--queue", "default", conf=conf).ready()
    assert wait_status(server, task)["status"] == "completed"
    assert (tmp_path / "runs").read_text() == "x"
    proxy.cut()


@pytest.mark.parametrize("fault", ["500", "done, 502", "no answer", "401", "404 html"])
def test_told_to_stop_when_a_task_has_just_been_taken(server, daemons, tmp_path, fault):
    """The answer of the claim was lost, and TERM comes before it could be asked for again: the task goes back to the front of
    its queue, whatever happens to the calls that say so."""
    proxy = Proxy(server.api_port)
    proxy.swallow = b"x_queues.claim"
    d = daemons(server, "--queue", "default", conf=config_by(server, proxy, tmp_path / "proxy.conf")).ready()
    wait_for("the claim", lambda: any(b"x_queues.claim" in h for h in proxy.seen))
    proxy.hold("x_queues.claim")
    task, second = (make_task(server, f"open({str(tmp_path / 'runs')!r}, 'a').write('x')") for _ in range(2))
    wait_status(server, task, "in_progress")
    wait_for("the answer to be lost, and the next question", lambda: proxy.swallowed and proxy.waiting == 1)
    for call in ("tasks.stopped", "tasks.enqueue", "queues.move_task_to_front"):
        proxy.fail(call, fault, 2)
    d.process.terminate()
    wait_for("the last question", lambda: proxy.waiting == 2)
    proxy.let_go()
    assert d.wait() == 254
    assert not proxy.failing
    assert task_of(server, task)["status"] == "queued"
    entries = server.call("queues.get_by_id", queue=queue_id(server))["queue"]["entries"]
    assert [e["task"] for e in entries] == [task, second]
    assert server.call("workers.get_all")["workers"] == []
    proxy.cut()
    daemons(server, "--queue", "default").ready()
    assert wait_status(server, task)["status"] == wait_status(server, second)["status"] == "completed"
    assert (tmp_path / "runs").read_text() == "xx"


def test_server_away(server_factory, daemons, tmp_path):
    """The server is gone while a task writes; when it is back no line is missing, none is twice, the order is right."""
    server = server_factory()
    daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the first lines", lambda: "line 20\n" in console(server, task))
    server.kill()
    before = lines(tmp_path)
    wait_for("many lines without a server", lambda: lines(tmp_path) > before + 1000)
    server.start()
    wait_console(server, task, f"line {before + 900}\n")
    (tmp_path / "enough").touch()
    assert wait_status(server, task)["status"] == "completed"
    assert check_counted(server, task) > before + 1000


def test_answers_about_lines_are_lost(server, daemons, tmp_path):
    """The server has stored the lines and every other answer is lost: they are sent again, and none is there twice."""
    proxy = Proxy(server.api_port)
    proxy.swallow, proxy.mark, proxy.lose = b"events.add_batch", b"HTTP/1.1 200", lambda n: n % 2 == 0
    conf = config_by(server, proxy, tmp_path / "proxy.conf")
    d = daemons(server, "--queue", "default", conf=conf).ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("answers to be lost", lambda: proxy.swallowed >= 10)
    n = lines(tmp_path)
    wait_console(server, task, f"line {n}\n")
    (tmp_path / "enough").touch()
    assert wait_status(server, task)["status"] == "completed"
    assert check_counted(server, task) > n
    d.end()
    proxy.cut()


def test_task_ends_while_server_is_away(server_factory, daemons, tmp_path):
    server = server_factory()
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the first lines", lambda: lines(tmp_path) > 20)
    server.kill()
    (tmp_path / "enough").touch()
    pid = int((tmp_path / "pid").read_text())
    wait_for("the task's process to end", lambda: not is_alive(pid))
    server.start()
    assert wait_status(server, task)["status"] == "completed"
    check_counted(server, task)
    assert wait_status(server, make_task(server, "print('next')"))["status"] == "completed"
    wait_for("the folders to be tidied", lambda: not d.journals())
