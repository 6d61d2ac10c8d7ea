"""The daemon and the supervisor against the real server: life, death, adoption, lost answers, signals, exit codes.

Tasks are literal scripts that run in the interpreter that is there (no environment is built), and tell by files in a
folder what they do, so that nothing here depends on how fast anything is.
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from conftest import GUARD, STOKER, free_ports, wait_for  # noqa: E402

ENDED = ("completed", "failed", "stopped", "closed", "published")


class Daemon:
    """A `stoker agent daemon` process with its own state folder."""

    def __init__(self, server, folder, words=(), env=None, program=None, verb=("agent", "daemon"), conf=None, create=True):
        self.server, self.folder = server, pathlib.Path(folder)
        self.out = self.folder / f"daemon-{len(list(self.folder.glob('daemon-*')))}.log"
        self.env = server.env(STOKER_STATE=str(self.folder / "state"), STOKER_CACHE=str(self.folder / "cache"),
                              CLEARML_AGENT_SKIP_PYTHON_ENV_INSTALL="1", CLEARML_WORKER_NAME="box", **(env or {}))
        if conf:
            self.env["CLEARML_CONFIG_FILE"] = str(conf)
        gpus = () if "--gpus" in words else ("--cpu-only",)
        self.words = [*(program or (STOKER, *verb)), "--foreground", *gpus, *(["--create-queue"] if create else []),
                      *words]
        with open(self.out, "ab") as out:
            self.process = subprocess.Popen(self.words, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def text(self):
        return self.out.read_text(errors="replace")

    def ready(self):
        """Its folder says that it runs: signals are handled from then on."""
        def running():
            if self.process.poll() is not None:
                pytest.fail(f"the daemon ended with {self.process.returncode}:\n{self.text()}")
            return any(d["pid"] == self.process.pid for d in self.status()["daemons"])
        wait_for("the daemon", running)
        return self

    def status(self):
        done = subprocess.run([STOKER, "agent", "status", "--json"], env=self.env, capture_output=True, text=True,
                              timeout=GUARD, check=True)
        return json.loads(done.stdout)

    def agent(self, *words):
        return subprocess.run([STOKER, "agent", *words], env=self.env, capture_output=True, text=True, timeout=GUARD)

    def journals(self):
        """{task: folded journal} of the runs that are there."""
        runs = {}
        for path in (self.folder / "state" / "runs").glob("*/journal"):
            entry = {}
            try:
                for line in path.read_text().splitlines():
                    entry.update(json.loads(line))
            except (OSError, ValueError):
                continue
            runs[entry.get("task")] = entry
        return runs

    def wait(self):
        try:
            return self.process.wait(GUARD)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the daemon does not end:\n{self.text()}")

    def end(self):
        if self.process.poll() is None:
            for pid in children(self.process.pid) if self.words[0] == "unshare" else ():
                os.kill(pid, signal.SIGTERM)  # unshare itself does not listen
            self.process.terminate()
            self.wait()


@pytest.fixture
def daemons(tmp_path):
    """Make daemons; at the end they and all processes of their runs are gone."""
    made = []

    def make(server, *words, **kw):
        d = Daemon(server, tmp_path, words, **kw)
        made.append(d)
        return d
    yield make
    for d in made:
        d.end()
    for d in made[:1]:
        for run in d.journals().values():
            kill_run(run.get("run"))


def carriers(run_id):
    """Processes that have the run's id in their environment."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"STOKER_RUN_ID={run_id}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def kill_run(run_id):
    for pid in carriers(run_id) if run_id else ():
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def queue_id(server, name="default"):
    found = [q for q in server.call("queues.get_all", name=name)["queues"] if q["name"] == name]
    return found[0]["id"] if found else server.call("queues.create", name=name)["id"]


def make_task(server, script, queue="default", name="literal", enqueue=True, requirements="", **fields):
    """A task that is a script; its id."""
    task = server.call("tasks.create", name=name, type="training",
                       script={"diff": script, "entry_point": "main.py", "working_dir": ".", "binary": "python3",
                               "requirements": {"pip": requirements}}, **fields)["id"]
    if enqueue:
        server.call("tasks.enqueue", task=task, queue=queue_id(server, queue))
    return task


def task_of(server, task):
    return server.call("tasks.get_by_id", task=task)["task"]


def wait_status(server, task, *wanted):
    return wait_for(f"task {task} to be {wanted}",
                    lambda: (t := task_of(server, task))["status"] in (wanted or ENDED) and t)


def console(server, task):
    """The task's log as one text, oldest first."""
    items, scroll = [], None
    while True:
        data = server.call("events.get_task_events", task=task, event_type="log", order="asc", batch_size=500,
                           **({"scroll_id": scroll} if scroll else {}))
        if not data["events"]:
            break
        items += data["events"]
        scroll = data["scroll_id"]
    return "".join(e["msg"] if e["msg"].endswith("\n") else e["msg"] + "\n" for e in items)


def wait_console(server, task, text):
    return wait_for(f"{text!r} in the console of {task}", lambda: text in console(server, task))


# A script that says numbered lines until a file appears, and tells that it has begun and how far it is.
COUNTER = """
import os, sys, time
folder = {folder!r}
open(folder + "/pid", "w").write(str(os.getpid()))
i = 0
while not os.path.exists(folder + "/enough"):
    print("line", i, flush=True)
    i += 1
    open(folder + "/lines.tmp", "w").write(str(i))
    os.rename(folder + "/lines.tmp", folder + "/lines")
    time.sleep(0.01)
print("all", i, flush=True)
"""


def lines(folder):
    try:
        return int((folder / "lines").read_text())
    except (OSError, ValueError):
        return 0


def check_counted(server, task):
    """Every line once, in order."""
    text = [line for line in console(server, task).splitlines() if line.startswith(("line ", "all "))]
    assert text, "no line arrived"
    n = int(text[-1].split()[1])
    assert text == [f"line {i}" for i in range(n)] + [f"all {n}"]
    return n


# -- life -----------------------------------------------------------------------------------------------------------------

def test_runs_a_task(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, "print('hello from', __file__)")
    t = wait_status(server, task)
    assert t["status"] == "completed", console(server, task)
    assert t["status_reason"] == "worker execution done"
    assert t["last_worker"] == "box:cpu:0"
    text = console(server, task)
    assert "hello from" in text and "Process completed successfully" in text
    assert f"task {task} pulled from default by worker box:cpu:0" in text
    wait_for("the run's folder to go", lambda: not d.journals())
    assert f"Running task '{task}'" in d.text() and f"DONE: Running task '{task}', exit status 0" in d.text()


def test_worker_reports(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default", "other queue", env={"CLEARML_AGENT_STATUS_REPORT_FREQ_SEC": "0.2"},
                ).ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))

    def worker():
        found = [w for w in server.call("workers.get_all")["workers"] if w["id"] == "box:cpu:0"]
        return found[0] if found else {}
    wait_for("the report of the task", lambda: worker().get("task", {}).get("id") == task)
    w = worker()
    assert [q["name"] for q in w["queues"]] == ["default", "other queue"]
    assert w["queue"]["name"] == "default"

    def stats():
        try:
            keys = server.call("workers.get_metric_keys")["categories"]
        except Exception:
            return None
        return {c["name"]: c["metric_keys"] for c in keys}
    found = wait_for("machine statistics", lambda: (s := stats()) and "cpu" in s and "memory" in s and s)
    assert "cpu_usage" in found["cpu"] and {"memory_used", "memory_free"} <= set(found["memory"])
    (tmp_path / "enough").touch()
    wait_status(server, task, "completed")
    wait_for("the report without a task", lambda: "task" not in worker() or not worker()["task"])
    d.process.terminate()
    assert d.wait() == 254
    assert worker() == {}


def test_exit_codes_become_statuses(server, daemons):
    daemons(server, "--queue", "default").ready()
    rows = [("import sys; sys.exit(3)", "failed", "exit code 3"),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "failed", "exit code -9"),
            ("import sys; sys.exit(254)", "stopped", "user abort"),
            ("raise ValueError('no')", "failed", "exit code 1")]
    tasks = [make_task(server, script) for script, _, _ in rows]
    for task, (_, status, reason) in zip(tasks, rows):
        t = wait_status(server, task)
        assert (t["status"], reason in t["status_reason"]) == (status, True), t["status_reason"]


def test_two_at_once(server, daemons, tmp_path):
    """Each waits for what the other does: they end only if they run at the same time."""
    script = """
import os, time
open({mine!r}, "w").close()
while not os.path.exists({other!r}):
    time.sleep(0.01)
print("worker", os.environ["CLEARML_WORKER_ID"], flush=True)
"""
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    d = daemons(server, "--queue", "default", "--slots", "2").ready()
    tasks = [make_task(server, script.format(mine=a, other=b)), make_task(server, script.format(mine=b, other=a))]
    ends = [wait_status(server, t) for t in tasks]
    assert [t["status"] for t in ends] == ["completed"] * 2
    assert {t["last_worker"] for t in ends} == {"box:cpu:0:s0", "box:cpu:0:s1"}
    assert d.status()["daemons"][0]["slots"] == 2


def test_order_of_queues(server, daemons, tmp_path):
    """First queue first; with --order-fairness in turn."""
    script = f"open({str(tmp_path / 'order')!r}, 'a').write({{!r}} + ' ')"
    for q in ("first", "second"):
        for i in range(3):
            make_task(server, script.format(f"{q[0]}{i}"), queue=q)
    d = daemons(server, "--queue", "first", "second").ready()
    wait_for("all six", lambda: (tmp_path / "order").exists() and len((tmp_path / "order").read_text().split()) == 6)
    assert (tmp_path / "order").read_text().split() == ["f0", "f1", "f2", "s0", "s1", "s2"]
    d.end()
    (tmp_path / "order").unlink()
    for q in ("first", "second"):
        for i in range(3):
            make_task(server, script.format(f"{q[0]}{i}"), queue=q)
    daemons(server, "--queue", "first", "second", "--order-fairness").ready()
    wait_for("all six", lambda: (tmp_path / "order").exists() and len((tmp_path / "order").read_text().split()) == 6)
    assert (tmp_path / "order").read_text().split() == ["f0", "s0", "f1", "s1", "f2", "s2"]


def test_queue_deleted_and_made_anew(server, daemons):
    """A queue that goes away does not keep its neighbours from being served, and is found again under its name."""
    first, _ = queue_id(server, "first"), queue_id(server, "second")
    daemons(server, "--queue", "first", "second", create=False).ready()
    server.call("queues.delete", queue=first, force=True)
    assert wait_status(server, make_task(server, "print(2)", queue="second"))["status"] == "completed"
    again = make_task(server, "print(1)", queue="first")
    assert queue_id(server, "first") != first
    assert wait_status(server, again)["status"] == "completed"


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
    run = wait_for("the journal", lambda: (r := d.journals().get(task)) and r.get("pid") and r)
    os.kill(run["pid"], signal.SIGKILL)
    t = wait_status(server, task)
    assert t["status"] == "failed"
    assert "supervisor lost" in t["status_reason"]
    wait_for("the last process", lambda: not carriers(run["run"]))
    wait_console(server, task, "supervisor lost")
    assert wait_status(server, make_task(server, "print('next')"))["status"] == "completed"


def test_supervisor_killed_while_server_is_away(server_factory, daemons, tmp_path):
    """What the task had written and nobody had sent yet arrives all the same."""
    server = server_factory()
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    run = wait_for("the journal", lambda: (r := d.journals().get(task)) and r.get("pid") and r)
    server.kill()
    before = lines(tmp_path)
    wait_for("lines without a server", lambda: lines(tmp_path) > before + 200)
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


def test_both_killed(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    run = wait_for("the journal", lambda: (r := d.journals().get(task)) and r.get("pid") and r)
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
    run = wait_for("the journal", lambda: (r := d.journals().get(task)) and r.get("pid") and r)
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


def test_killed_between_claim_and_start(server, daemons, tmp_path):
    """The run was written down, and the daemon died before anything was started: the next one starts it."""
    d = daemons(server, "--queue", "nothing").ready()
    task = make_task(server, "print('once')", enqueue=False)
    d.process.kill()
    d.process.wait()
    server.call("tasks.started", task=task, force=True)
    run = "0123456789abcdef0123456789abcdef"
    folder = tmp_path / "state" / "runs" / run
    folder.mkdir(parents=True, mode=0o700)
    (folder / "journal").write_text(json.dumps({"stage": "claimed", "t": 1, "task": task, "run": run,
                                                "server": server.api, "worker": "box:cpu:0", "queue": ""}) + "\n")
    second = daemons(server, "--queue", "nothing").ready()
    assert wait_status(server, task)["status"] == "completed"
    assert console(server, task).count("once\n") == 1
    wait_for("the folder to be tidied", lambda: not second.journals())


# -- the wire breaks ------------------------------------------------------------------------------------------------------

class Proxy:
    """TCP between agent and server: can be cut, can swallow the answer to a call, counts what passes."""

    def __init__(self, port):
        self.to, (self.port,) = port, free_ports(1)
        self.swallow, self.swallowed, self.seen = None, 0, []
        self.lock, self.pairs = threading.Lock(), []
        self.open()

    def open(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(64)
        threading.Thread(target=self.serve, args=(self.listener,), daemon=True).start()

    def cut(self):
        """Nobody is there any more, and those who talk are cut off."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            self.close(pair)

    @staticmethod
    def close(pair):
        for s in pair:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def serve(self, listener):
        while True:
            try:
                a, _ = listener.accept()
                b = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                return
            with self.lock:
                self.pairs.append((a, b))
            state = {"drop": False}
            threading.Thread(target=self.pump, args=(a, b, state, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(b, a, state, False), daemon=True).start()

    def pump(self, source, sink, state, request):
        try:
            while data := source.recv(65536):
                if request:
                    head = data.split(b"\r\n", 1)[0]
                    self.seen.append(head)
                    if self.swallow and self.swallow in head:
                        state["drop"] = True
                elif state["drop"] and b'"task":' in data:  # the answer that hands out a task
                    self.swallowed += 1
                    self.swallow = None
                    break
                sink.sendall(data)
        except OSError:
            pass
        self.close((source, sink))


def config_by(server, proxy, path):
    text = server.config().read_text().replace(server.api, f"http://127.0.0.1:{proxy.port}")
    path.write_text(text)
    path.chmod(0o600)
    return path


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


def test_task_ends_while_server_is_away(server_factory, daemons, tmp_path):
    server = server_factory()
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the first lines", lambda: lines(tmp_path) > 20)
    server.kill()
    (tmp_path / "enough").touch()
    pid = int((tmp_path / "pid").read_text())
    wait_for("the task's process to end", lambda: not pathlib.Path(f"/proc/{pid}").exists())
    server.start()
    assert wait_status(server, task)["status"] == "completed"
    check_counted(server, task)
    assert wait_status(server, make_task(server, "print('next')"))["status"] == "completed"
    wait_for("the folders to be tidied", lambda: not d.journals())


# -- signals --------------------------------------------------------------------------------------------------------------

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
    return task, wait_for("the journal", lambda: (r := d.journals().get(task)) and r.get("child") and r)["run"]


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
    wait_for("the task to run", lambda: (tmp_path / "pid").exists())
    d.process.terminate()
    assert d.wait() == 254
    assert task_of(server, task)["status"] == "stopped"
    pid = (tmp_path / "pid").read_text()
    assert not pathlib.Path(f"/proc/{pid}").exists()


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


# -- who is who -----------------------------------------------------------------------------------------------------------

def test_ids_and_stop_by_queue(server, daemons, tmp_path):
    """Two daemons without GPU flags get slots; --stop --queue means the one of that queue."""
    first = daemons(server, "--queue", "queue a").ready()
    second = daemons(server, "--queue", "queue b").ready()
    names = {x["worker"]: x["queues"] for x in first.status()["daemons"]}
    assert names == {"box:cpu:0": "queue a", "box:cpu:1": "queue b"}
    assert first.agent("stop").returncode == 1  # which one?
    assert first.agent("daemon", "--stop", "--queue", "queue b", "--cpu-only").returncode == 0
    assert second.wait() == 254
    assert first.process.poll() is None
    assert first.agent("daemon", "--stop").returncode == 1  # without --cpu-only another kind is meant
    assert first.agent("daemon", "--stop", "box:cpu:0").returncode == 0
    assert first.wait() == 254


def test_same_id_is_refused(server, daemons, tmp_path):
    first = daemons(server, "--queue", "default", env={"CLEARML_WORKER_ID": "mine:own"}).ready()
    second = daemons(server, "--queue", "default", env={"CLEARML_WORKER_ID": "mine:own"})
    assert second.wait() == 1
    assert "mine:own" in second.text() and "already" in second.text()
    first.process.kill()  # a crash frees the id at once
    first.process.wait()
    daemons(server, "--queue", "default", env={"CLEARML_WORKER_ID": "mine:own"}).ready()


def test_gpu_lists(server, daemons, tmp_path):
    """Worker ids and what the task sees; ranges; a queue whose name has a space."""
    show = f"import os; open({str(tmp_path / 'seen')!r}, 'w').write(os.environ['CUDA_VISIBLE_DEVICES'])"
    for words, worker, seen in (("0,10,11", "box:gpu0,10,11", "0,10,11"), ("2-4", "box:gpu2,3,4", "2,3,4"),
                                ("0:1", "box:gpu0.1", "0:1")):
        d = daemons(server, "--queue", "my queue", "--gpus", words).ready()
        t = wait_status(server, make_task(server, show, queue="my queue"))
        assert (t["status"], t["last_worker"]) == ("completed", worker)
        assert (tmp_path / "seen").read_text() == seen
        d.process.terminate()
        assert d.wait() == 254


def test_exit_codes(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default").ready()

    def run(*words, program=(STOKER, "agent"), **env):
        return subprocess.run([*program, *words], env={**d.env, **env}, capture_output=True, text=True, timeout=GUARD)
    link = tmp_path / "clearml-agent"
    link.symlink_to(STOKER)
    for program in ((STOKER, "agent"), (str(link),)):
        assert run(program=program).returncode == 0
        assert run("--help", program=program).returncode == 0
        assert run("--version", program=program).stdout.startswith("CLEARML-AGENT version ")
        assert run("worker", program=program).returncode == 2
        assert run("daemon", "--no-such-option", program=program).returncode == 2
        missing = run("daemon", "--queue", "no such queue", "--foreground", program=program)
        assert (missing.returncode, "no such queue" in missing.stderr) == (1, True)
        assert run("--config-file", "/nonexistent.conf", "list", program=program).returncode == 1
        assert run("daemon", "--status", program=program).returncode == 0
        assert run("execute", program=program).returncode == 2
        assert "box:cpu:0" in run("list", program=program).stdout
    wrong = run("daemon", "--queue", "default", "--foreground", CLEARML_API_SECRET_KEY="wrong")
    assert wrong.returncode == 1
    assert "credentials" in wrong.stderr and "wrong" not in wrong.stderr
    (nowhere,) = free_ports(1)
    away = run("daemon", "--queue", "default", "--foreground", CLEARML_API_HOST=f"http://127.0.0.1:{nowhere}")
    assert (away.returncode, str(nowhere) in away.stderr) == (1, True)
    shown = run("config").stdout
    assert server.secret not in shown and server.access in shown


def test_detached_and_its_log(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default")
    d.end()
    done = subprocess.run([STOKER, "agent", "daemon", "--detached", "--queue", "default", "--cpu-only"], env=d.env,
                          capture_output=True, text=True, timeout=GUARD)
    assert done.returncode == 0
    path = pathlib.Path(done.stdout.strip().rsplit(" ", 1)[1])
    assert path.stat().st_mode & 0o777 == 0o600
    try:
        task = make_task(server, "print('in the background')")
        assert wait_status(server, task)["status"] == "completed"
        wait_for("its log", lambda: f"DONE: Running task '{task}'" in path.read_text())
    finally:
        assert d.agent("stop").returncode == 0


# -- another server -------------------------------------------------------------------------------------------------------

class PlainProxy(Proxy):
    """Makes our server look like one without our own calls: they are unknown, server.info says nothing of them."""

    def pump(self, source, sink, state, request):
        try:
            while data := source.recv(65536):
                if request:
                    self.seen.append(data.split(b"\r\n", 1)[0])
                    data = data.replace(b"x_queues.", b"y_queues.").replace(b"x_tasks.", b"y_tasks.")
                else:
                    data = data.replace(b"x_features", b"y_features")
                sink.sendall(data)
        except OSError:
            pass
        self.close((source, sink))


def test_server_without_our_calls(server, daemons, tmp_path):
    """It polls as the reference agent does."""
    proxy = PlainProxy(server.api_port)
    conf = config_by(server, proxy, tmp_path / "proxy.conf")
    d = daemons(server, "--queue", "empty", "default", conf=conf,
                env={"CLEARML_AGENT_QUEUE_POLL_FREQ_SEC": "0.1"}).ready()
    task = make_task(server, "print('polled')")
    assert wait_status(server, task)["status"] == "completed"
    assert "polled\n" in console(server, task)
    assert any(b"queues.get_next_task" in h for h in proxy.seen)
    assert not any(b"x_queues.claim" in h for h in proxy.seen)
    d.end()
    proxy.cut()


# -- as process 1 of a container ------------------------------------------------------------------------------------------

def children(pid):
    """{pid: state} of the direct children of a process."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found[int(path.parent.name)] = fields[0]
    return found


def test_orphans_of_process_one_are_reaped(server, daemons, tmp_path):
    """The supervisor dies, what it leaves becomes ours: killed, and none of it stays a zombie."""
    unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        pytest.skip("this machine does not let us make process namespaces")
    d = daemons(server, "--queue", "default", program=[*unshare, STOKER, "agent", "daemon"])
    script = f"""
import subprocess, time
for _ in range(5):
    subprocess.Popen(["sleep", "100000"], start_new_session=True)
open({str(tmp_path / 'begun')!r}, "w").close()
time.sleep(100000)
"""
    task = make_task(server, script)
    wait_for("the task to run", lambda: (tmp_path / "begun").exists())
    (one,) = children(d.process.pid)
    run = d.journals()[task]["run"]
    supervisor = d.journals()[task] and next(p for p in carriers(run) if p in children(one))
    assert len(carriers(run)) >= 7  # supervisor, script, five sleepers
    os.kill(supervisor, signal.SIGKILL)
    assert wait_status(server, task)["status"] == "failed"
    wait_for("the last process", lambda: not carriers(run))
    assert wait_status(server, make_task(server, "print('next')"))["status"] == "completed"
    wait_for("all zombies to be reaped", lambda: "Z" not in children(one).values())
    os.kill(one, signal.SIGTERM)
    assert d.wait() == 254
