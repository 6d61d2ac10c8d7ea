"""The bench of the daemon's tests: daemons, tasks that are literal scripts, their consoles, a proxy that breaks the wire.

Tasks run in the interpreter that is there (no environment is built), and tell by files in a folder what they do, so that
nothing depends on how fast anything is.
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from conftest import GUARD, STOKER, free_ports, keep, wait_for  # noqa: E402

ENDED = ("completed", "failed", "stopped", "closed", "published")


class Daemon:
    """A `stoker agent daemon` process with its own state folder."""

    def __init__(self, server, folder, words=(), env=None, program=None, verb=("agent", "daemon"), conf=None, create=True,
                 flags=("--cpu-only",)):
        self.server, self.folder = server, pathlib.Path(folder)
        self.out = self.folder / f"daemon-{len(list(self.folder.glob('daemon-*')))}.log"
        self.env = server.env(STOKER_STATE=str(self.folder / "state"), STOKER_CACHE=str(self.folder / "cache"),
                              CLEARML_AGENT_SKIP_PYTHON_ENV_INSTALL="1", CLEARML_WORKER_NAME="box")
        for name in ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
            self.env.pop(name, None)  # of the machine that tests
        self.env.update(env or {})
        if conf:
            self.env["CLEARML_CONFIG_FILE"] = str(conf)
        flags = () if "--gpus" in words else flags
        self.words = [*(program or (STOKER, *verb)), "--foreground", *flags, *(["--create-queue"] if create else []),
                      *words]
        keep("daemon", self.out, about=self)
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
        """{task: folded journal} of the runs that are there; a line that is being written does not count yet."""
        runs = {}
        for path in (self.folder / "state" / "runs").glob("*/journal"):
            entry = {}
            try:
                for line in path.read_text().splitlines():
                    entry.update(json.loads(line))
            except (OSError, ValueError):
                pass
            if entry:
                runs[entry.get("task")] = entry
        return runs

    def journal(self, task, member):
        """The folded journal of the task's run, once it has this member."""
        return wait_for(f"{member} in the journal of {task}", lambda: (r := self.journals().get(task)) and r.get(member) and r)

    def spooled(self, run):
        """What the run's supervisor has written of the console to the disk."""
        return "".join(p.read_text(errors="replace") for p in sorted((self.folder / "state" / "runs" / run).glob("console.0*")))

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


# What a request can meet on its way, beside its answer: {name: (does the server see it?, what comes back)}. None: the
# connection is closed; a number: of the server's own answer, all but so many bytes.
HTML = b"<html><body><h1>no upstream</h1></body></html>"


def http(status, body, *headers, kind="text/html"):
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def api(status, subcode, words):
    """As the server itself refuses."""
    meta = {"id": "0" * 32, "result_code": status, "result_subcode": subcode, "result_msg": words, "error_stack": None}
    return http(status, json.dumps({"meta": meta, "data": {}}).encode(), kind="application/json")


FAULTS = {
    "no answer": (True, None),
    "not heard": (False, None),
    "cut short": (True, 4),
    "done, 502": (True, http(502, HTML)),
    "500": (False, api(500, 100, "General data error")),
    "500 html": (False, http(500, HTML)),
    "503 later": (False, http(503, HTML, "Retry-After: 1")),
    "429": (False, http(429, b"slow down", kind="text/plain")),
    "401": (False, api(401, 30, "Unauthorized (invalid token)")),
    "404 html": (False, http(404, HTML)),
    "200 html": (False, http(200, HTML)),
    "no http": (False, b"SSH-2.0-OpenSSH_9.2\r\n"),
}


class Proxy:
    """TCP between agent and server: can be cut; can do something else with a call than to pass it on (fail: by a name of
    FAULTS, so often); can hold the answers of a call; can swallow answers to a call (the first of them that holds `mark`,
    or all for which lose (number of the answer) is true). Counts what passes. plain: as if the server had no calls of ours."""

    PLAIN = [(b"x_queues.", b"y_queues."), (b"x_tasks.", b"y_tasks."), (b"x_events.", b"y_events."), (b"x_features", b"y_features")]

    def __init__(self, port, plain=False):
        self.to, (self.port,) = port, free_ports(1)
        self.renamed = self.PLAIN if plain else []
        self.swallow, self.swallowed, self.seen = None, 0, []
        self.mark, self.answers, self.lose = b'"task":', 0, lambda n: n == 0
        self.failing, self.failed = {}, {}  # {call: [fault, how often]}, {call: how often it did}
        self.held, self.waiting, self.release = None, 0, threading.Event()
        self.lock, self.pairs = threading.Lock(), []
        self.ours = self.bound()  # while nobody listens, the port stays ours
        self.open()

    def bound(self):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", self.port))
        return s

    def fail(self, call, fault, times=1):
        """The next so many requests of a call meet a fault; it stands in `failing` until one has passed after them."""
        with self.lock:
            self.failing[call] = [FAULTS[fault], times]
            self.failed[call] = 0

    def hold(self, call):
        """Requests of a call wait (so many of them: `waiting`), until let_go ()."""
        self.release.clear()
        self.held, self.waiting = call.encode(), 0

    def let_go(self):
        self.held = None
        self.release.set()

    def open(self):
        self.listener = self.bound()
        self.listener.listen(64)
        threading.Thread(target=self.serve, args=(self.listener,), daemon=True).start()

    def cut(self):
        """Nobody is there any more, and those who talk are cut off, also those who just came."""
        self.let_go()
        with self.lock:
            listener, self.listener = self.listener, None
            pairs, self.pairs = self.pairs, []
        self.close([listener])
        for pair in pairs:
            self.close(pair)

    @staticmethod
    def close(sockets):
        """For both sides. (The descriptors are closed with the last thread that uses them: none finds another's in its place.)"""
        for s in sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def serve(self, listener):
        while True:
            try:
                a, _ = listener.accept()
            except OSError:
                return
            try:
                b = socket.create_connection(("127.0.0.1", self.to))
            except OSError:  # the server is away
                self.close([a])
                continue
            with self.lock:
                if listener is not self.listener:
                    self.close((a, b))
                    return
                self.pairs.append((a, b))
            state = {"drop": False, "fault": None}
            threading.Thread(target=self.pump, args=(a, b, state, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(b, a, state, False), daemon=True).start()

    def is_lost(self):
        with self.lock:
            lost = self.lose(self.answers)
            self.answers += 1
            self.swallowed += lost
            return lost

    def fault_of(self, head):
        with self.lock:
            for call, row in list(self.failing.items()):
                if call.encode() not in head:
                    continue
                if not row[1]:
                    del self.failing[call]
                    return None
                row[1] -= 1
                self.failed[call] += 1
                return row[0]
        return None

    @staticmethod
    def whole(data, source):
        """The rest of a message that has begun."""
        while b"\r\n\r\n" not in data and (more := source.recv(65536)):
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        while length and len(body) < int(length[1]) and (more := source.recv(65536)):
            data, body = data + more, body + more
        return data

    def on_request(self, head, data, source, state):
        """False: it goes no further."""
        state["drop"] = bool(self.swallow) and self.swallow in head
        state["fault"] = self.fault_of(head)
        if self.held and self.held in head:
            self.waiting += 1
            self.release.wait(GUARD)
        if not state["fault"] or state["fault"][0]:
            return True
        if state["fault"][1]:
            source.sendall(state["fault"][1])
        return False

    def on_answer(self, data, source, sink, state):
        """False: it goes no further."""
        if state["drop"] and self.mark in data and self.is_lost():
            return False
        if not state["fault"]:
            return True
        answer, data = state["fault"][1], self.whole(data, source)
        if answer:
            sink.sendall(data[:-answer] if isinstance(answer, int) else answer)
        return False

    def pump(self, source, sink, state, request):
        try:
            while data := source.recv(65536):
                if request:  # a head may come before its body
                    data = self.whole(data, source)
                head = data.split(b"\r\n", 1)[0]
                if not (self.on_request(head, data, source, state) if request else self.on_answer(data, source, sink, state)):
                    break
                for ours, other in self.renamed:
                    data = data.replace(ours, other)
                sink.sendall(data)
                if request:
                    self.seen.append(head)  # the server has it
        except OSError:
            pass
        self.leave((source, sink))

    def leave(self, pair):
        self.close(pair)
        with self.lock:
            self.pairs = [p for p in self.pairs if pair[0] not in p]


def config_by(server, proxy, path):
    text = server.config().read_text().replace(server.api, f"http://127.0.0.1:{proxy.port}")
    path.write_text(text)
    path.chmod(0o600)
    return path


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
