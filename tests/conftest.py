"""Fixtures of all black-box tests: a real `stoker server` (and helpers to call it), started from build/stoker.

STOKER names the binary (default: build/stoker); `./dev test` sets it, also to sanitizer builds. What a test that failed
leaves behind is printed with it: see evidence.py.
"""
import base64
import fcntl
import http.client
import json
import os
import pathlib
import random
import secrets
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import pytest

from evidence import keep, pytest_runtest_makereport, pytest_runtest_protocol, pytest_runtest_setup  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parent.parent
STOKER = os.environ.get("STOKER", str(ROOT / "build" / "stoker"))
GUARD = 300  # seconds after which a test that hangs is given up; never a measure of speed
os.environ["GIT_CONFIG_GLOBAL"] = os.devnull  # whoever tests may sign commits, or show differences in another way


class Ports:
    """Ports below the range from which clients are given theirs. Tests run in many processes at once, and between the choice
    of a port and its use another could choose the same: each process has a stretch of its own, which it holds by a lock."""
    FIRST, STRETCH, COUNT = 20000, 400, 30

    def __init__(self):
        self.lock, self.first, self.size = None, self.FIRST, self.STRETCH * self.COUNT  # if all are taken: anywhere
        folder = pathlib.Path(tempfile.gettempdir()) / f"stoker-test-ports-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        for i in range(self.COUNT):
            lock = open(folder / str(i), "w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                continue
            self.lock, self.first, self.size = lock, self.FIRST + i * self.STRETCH, self.STRETCH
            break
        self.at = random.randrange(self.size)

    def take(self, n):
        """The first of n ports in a row that are free; those that were given out last come last."""
        for _ in range(self.size):
            if self.at + n > self.size:
                self.at = 0
            first, self.at = self.first + self.at, self.at + n
            socks = [socket.socket() for _ in range(n)]
            try:
                for i, s in enumerate(socks):
                    s.bind(("127.0.0.1", first + i))
                return first
            except OSError:
                continue
            finally:
                for s in socks:
                    s.close()
        pytest.fail(f"no {n} free ports from {self.first} to {self.first + self.size}")


PORTS = Ports()


def free_ports(n):
    """n ports in a row that are free, and that nobody else's tests choose."""
    first = PORTS.take(n)
    return [first + i for i in range(n)]


def wait_for(what, condition, pause=0.02, guard=GUARD):
    """Poll until condition() is true; its value is returned."""
    deadline = time.monotonic() + guard
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(pause)
    pytest.fail(f"gave up waiting for {what}")


def is_alive(pid):
    """There, and no zombie that waits for whoever is to bury it."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def clean_env(**extra):
    """This environment without anything that configures a ClearML client or us."""
    drop = ("CLEARML_", "TRAINS_", "STOKER_BOOTSTRAP")
    return {**{k: v for k, v in os.environ.items() if not k.startswith(drop)}, **extra}


class CallError(Exception):
    def __init__(self, name, status, meta):
        super().__init__(f"{name}: {status}/{meta.get('result_subcode')} {meta.get('result_msg')}")
        self.status, self.code, self.subcode = status, meta.get("result_code"), meta.get("result_subcode")
        self.msg = meta.get("result_msg")


class Asked:
    """A call that was sent and whose answer is waited for later: what calls that wait do is judged by the order of answers,
    not by time."""

    def __init__(self, server, name, fields):
        self.name = name
        self.connection = http.client.HTTPConnection("127.0.0.1", server.api_port, timeout=GUARD)
        self.connection.request("POST", "/v2.34/" + name, json.dumps(fields),
                                {"Content-Type": "application/json", **server.auth()})

    def answered(self):
        return bool(select.select([self.connection.sock], [], [], 0)[0])

    def answer(self):
        with self.connection.getresponse() as r:
            status, answer = r.status, json.loads(r.read())
        self.connection.close()
        if status != 200:
            raise CallError(self.name, status, answer["meta"])
        return answer["data"]


class Server:
    """A `stoker server` process on its own data folder and ports."""

    def __init__(self, folder, args=()):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = self.folder / "data"
        self.web_port, self.api_port, self.files_port = free_ports(3)
        self.web, self.api, self.files = (f"http://127.0.0.1:{p}" for p in
                                          (self.web_port, self.api_port, self.files_port))
        self.access = "TESTACCESSKEY" + secrets.token_hex(6).upper()
        self.secret = secrets.token_urlsafe(32)
        self.args, self.process, self.token = list(args), None, None
        self.log = self.folder / "server.log"
        keep("server", self.log, self.secret, about=self)

    def start(self):
        env = clean_env(STOKER_BOOTSTRAP_KEY=f"{self.access}:{self.secret}", STOKER_BOOTSTRAP_ROLE="root")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [STOKER, "server", "--data", str(self.data), "--listen", f"127.0.0.1:{self.web_port}=web",
                 "--listen", f"127.0.0.1:{self.api_port}=api", "--listen", f"127.0.0.1:{self.files_port}=files",
                 *self.args], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)

        def ready():
            if self.process.poll() is not None:
                pytest.fail(f"the server ended with {self.process.returncode}:\n{self.log_text()}")
            try:
                socket.create_connection(("127.0.0.1", self.files_port), 1).close()
                socket.create_connection(("127.0.0.1", self.api_port), 1).close()
                return True
            except OSError:
                return False

        wait_for("the server to listen", ready, 0.005)
        return self

    def log_text(self):
        return self.log.read_text(errors="replace")[-8000:] if self.log.exists() else ""

    def stop(self):
        """SIGTERM; the exit code, which a clean end makes 0."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(GUARD)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            pytest.fail(f"the server did not end on SIGTERM:\n{self.log_text()}")
        self.process = None
        return code

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    # -- calls ------------------------------------------------------------------------------------------------------

    def raw(self, path, body=b"{}", headers=None, method="POST", base=None, timeout=GUARD):
        """(status, headers, bytes) of one request; nothing is added but what is given."""
        request = urllib.request.Request((base or self.api) + path, data=body, headers=headers or {}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=timeout) as r:
                return r.status, r.headers, r.read()
        except urllib.error.HTTPError as e:
            return e.code, e.headers, e.read()

    def basic(self):
        return "Basic " + base64.b64encode(f"{self.access}:{self.secret}".encode()).decode()

    def auth(self):
        if self.token is None:
            _, _, body = self.raw("/auth.login", headers={"Authorization": self.basic()})
            self.token = json.loads(body)["data"]["token"]
        return {"Authorization": f"Bearer {self.token}"}

    def call(self, name, /, _version="2.34", _headers=None, **fields):
        """The `data` of a call; CallError for any other answer than 200."""
        status, _, body = self.raw(f"/v{_version}/{name}", json.dumps(fields).encode(),
                                   {"Content-Type": "application/json", **self.auth(), **(_headers or {})})
        answer = json.loads(body)
        if status != 200:
            raise CallError(name, status, answer["meta"])
        return answer["data"]

    def ask(self, name, /, **fields):
        """A call under way: see Asked."""
        return Asked(self, name, fields)

    def batch(self, name, items, _version="2.34"):
        """A json-lines call, as events.add_batch takes it."""
        body = "\n".join(json.dumps(i) for i in items).encode()
        status, _, out = self.raw(f"/v{_version}/{name}", body, {"Content-Type": "application/json-lines", **self.auth()})
        answer = json.loads(out)
        if status != 200:
            raise CallError(name, status, answer["meta"])
        return answer["data"]

    def fails(self, name, /, **fields):
        """(code, subcode) of a call that must fail."""
        with pytest.raises(CallError) as e:
            self.call(name, **fields)
        return e.value.code, e.value.subcode

    # -- clients ----------------------------------------------------------------------------------------------------

    def config(self, path=None, second_process=False):
        """A clearml.conf for this server, as `stoker up` writes it; its path. second_process: report as the SDK does unless
        told otherwise, from a forked process; it may inherit the pipe of the git that looks for the repository, and then the
        run stands still for five minutes."""
        path = pathlib.Path(path or self.folder / "clearml.conf")
        path.write_text(
            f"api {{\n  web_server: {self.web}\n  api_server: {self.api}\n  files_server: {self.files}\n"
            f'  credentials {{ "access_key" = "{self.access}", "secret_key" = "{self.secret}" }}\n}}\n'
            f"sdk.development.report_use_subprocess: {str(second_process).lower()}\n")
        path.chmod(0o600)
        return path

    def env(self, **extra):
        """An environment in which clients speak to this server and keep their files in our folder."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return clean_env(CLEARML_CONFIG_FILE=str(self.config()), HOME=str(home), **extra)

    def cli(self, *words, check=True, **kw):
        """`stoker <words>` as a client of this server: CompletedProcess with text output."""
        done = subprocess.run([STOKER, *words], env=self.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=GUARD * 3, **kw)
        if check and done.returncode:
            pytest.fail(f"stoker {' '.join(words)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done


@pytest.fixture
def server_factory(tmp_path):
    """Make servers with `server_factory(args)`; all are stopped at the end."""
    made = []

    def make(args=(), name=None):
        s = Server(tmp_path / (name or f"server{len(made)}"), args)
        made.append(s)
        return s.start()

    yield make
    for s in made:
        if s.process is not None:
            assert s.stop() == 0, f"the server ended badly:\n{s.log_text()}"


@pytest.fixture
def server(server_factory):
    """One running server of this test alone."""
    return server_factory()


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory):
    """One running server for all tests of a file that do not disturb each other."""
    folder = tmp_path_factory.mktemp("shared")
    s = Server(folder).start()
    yield s
    assert s.stop() == 0, f"the server ended badly:\n{s.log_text()}"
    shutil.rmtree(folder, ignore_errors=True)
