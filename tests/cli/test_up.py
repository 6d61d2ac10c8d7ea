"""`stoker up`: server and agent from nothing; its link, its configuration, its end; what stands in its way."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest

from conftest import GUARD, STOKER, clean_env, free_ports, wait_for

UV_CACHE = pathlib.Path(os.environ.get("STOKER_CACHE", pathlib.Path.home() / ".cache" / "stoker-dev")) / "uv-cache"


class Up:
    def __init__(self, folder, *words, port=None):
        self.data, self.port = folder / "data", port or free_ports(3)[0]
        self.env = clean_env(HOME=str(folder), STOKER_STATE=str(folder / "state"), UV_CACHE_DIR=str(UV_CACHE))
        self.process = subprocess.Popen([STOKER, "up", "--data", str(self.data), "--port", str(self.port), "--json", *words],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=self.env)
        line = self.process.stdout.readline()
        self.facts = json.loads(line) if line else None
        self.errors = []
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()

    def cli(self, *words):
        done = subprocess.run([STOKER, *words], capture_output=True, text=True, timeout=GUARD * 3, stdin=subprocess.DEVNULL,
                              env={**self.env, "CLEARML_CONFIG_FILE": self.facts["config"]})
        assert done.returncode == 0, f"stoker {' '.join(words)}:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def kill(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM):
        self.kill(number)
        return self.process.wait(GUARD)


@pytest.fixture
def up(tmp_path):
    made = []

    def make(*words, **kw):
        made.append(Up(tmp_path, *words, **kw))
        return made[-1]

    yield make
    for u in made:
        if u.process.poll() is None:
            u.end()


def post(url, body, headers=None):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=GUARD) as r:
            return r.status, r.headers
    except urllib.error.HTTPError as e:
        return e.code, e.headers


def test_from_nothing_to_a_finished_task(up, tmp_path):
    u = up("--cpu-only")
    assert u.facts["web"] == f"http://127.0.0.1:{u.port}" and u.facts["files"] == f"http://127.0.0.1:{u.port + 2}"
    assert os.stat(u.facts["config"]).st_mode & 0o777 == 0o600 and os.stat(u.data).st_mode & 0o777 == 0o700
    read = subprocess.run([sys.executable, "-c", "from clearml.config import config_obj as c\n"
                           "print(c.get('sdk.development.report_use_subprocess'))"], capture_output=True, text=True,
                          env={**u.env, "CLEARML_CONFIG_FILE": u.facts["config"]}, timeout=GUARD)
    assert read.stdout.strip() == "False", read  # as the SDK itself reads the file
    (tmp_path / "hello.py").write_text("print('hello from the queue')\nraise SystemExit(7)\n")
    done = subprocess.run([STOKER, "run", "--", "python3", "hello.py"], cwd=tmp_path, capture_output=True, text=True,
                          env={**u.env, "CLEARML_CONFIG_FILE": u.facts["config"]}, timeout=GUARD * 3)
    assert "hello from the queue" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 7, "run exits with the task's code"
    task = json.loads(u.cli("task", "ls", "--name", "hello", "--json"))[0]
    assert task["status"] == "failed"
    shown = u.cli("task", "show", task["id"])
    assert "exit code 7" in shown and all(stage in shown for stage in ("STAGE", "environment", "running")), shown
    assert u.end() == 0
    for log in ("server.log", "agent.log"):
        text = (u.data / "log" / log).read_text()
        assert "ERROR" not in text and " error " not in text, text


def test_the_link_works_once(up):
    u = up("--no-agent")
    code = u.facts["link"].split("code=")[1]
    url = f"{u.facts['web']}/api/x_login.redeem"
    status, headers = post(url, {"code": code}, {"X-Stoker-Request": "1"})
    assert status == 200 and "clearml_token_basic=" in headers["Set-Cookie"] and "HttpOnly" in headers["Set-Cookie"]
    status, _ = post(url, {"code": code}, {"X-Stoker-Request": "1"})
    assert status == 401


def test_key_and_data_stay(up):
    u = up("--no-agent")
    first = u.facts
    key = (u.data / "clearml.conf").read_text()
    assert "http { max_req_size: 62914560 }" in key  # the SDK's own limit would drop plots over 15 MB
    u.cli("queue", "create", "stays here")
    assert u.end() == 0
    again = up("--no-agent", port=u.port)
    assert again.facts["config"] == first["config"] and (u.data / "clearml.conf").read_text() == key
    assert "stays here" in again.cli("queue", "ls")


def test_first_ctrl_c_lets_tasks_end(up, tmp_path):
    u = up("--cpu-only")
    go = tmp_path / "go"
    (tmp_path / "slow.py").write_text(
        f"import os, time\nprint('started', flush=True)\nwhile not os.path.exists({str(go)!r}): time.sleep(0.05)\nprint('ended well')\n")
    out = subprocess.run([STOKER, "run", "--detach", "--json", "--", "python3", "slow.py"], cwd=tmp_path, text=True,
                         capture_output=True, check=True, env={**u.env, "CLEARML_CONFIG_FILE": u.facts["config"]}).stdout
    task = json.loads(out.splitlines()[0])["id"]
    wait_for("the task to start", lambda: "started" in u.cli("task", "log", task), 0.2)
    u.kill(signal.SIGINT)
    wait_for("up to say so", lambda: "running ones may end" in "".join(u.errors))
    assert u.process.poll() is None
    assert json.loads(u.cli("task", "show", task, "--json"))["status"] == "in_progress"
    go.touch()
    assert u.process.wait(GUARD) == 0
    again = up("--no-agent", port=u.port)
    assert json.loads(again.cli("task", "show", task, "--json"))["status"] == "completed"
    assert again.cli("task", "log", task).splitlines().count("ended well") == 1


def test_a_training_outlives_up(up, tmp_path):
    """kill -9 of `up`: the task runs on, the next `up` adopts it, nothing it printed is lost."""
    u = up("--cpu-only")
    go = tmp_path / "go"
    (tmp_path / "long.py").write_text(
        f"import os, time\nprint('started', flush=True)\nwhile not os.path.exists({str(go)!r}): time.sleep(0.05)\nprint('ended well')\n")
    out = subprocess.run([STOKER, "run", "--detach", "--json", "--", "python3", "long.py"], cwd=tmp_path, text=True,
                         capture_output=True, check=True, env={**u.env, "CLEARML_CONFIG_FILE": u.facts["config"]}).stdout
    task = json.loads(out.splitlines()[0])["id"]
    wait_for("the task to start", lambda: "started" in u.cli("task", "log", task), 0.2)
    u.kill(signal.SIGKILL)
    u.process.wait(GUARD)

    go.touch()

    def start_again():  # the old server still finishes what is in work: until then its folder and ports are taken
        started = up("--cpu-only", port=u.port)
        return started if started.facts else started.process.wait(GUARD) and None

    again = wait_for("the old server to end", start_again, 0.2)
    wait_for("the task to end", lambda: json.loads(again.cli("task", "show", task, "--json"))["status"] == "completed", 0.2)
    text = again.cli("task", "log", task)
    assert text.count("started\n") == 1 and text.count("ended well\n") == 1


def test_a_busy_port_names_its_owner(up, tmp_path):
    port = free_ports(3)[0]
    with socket.socket() as s:
        s.bind(("127.0.0.1", port + 1))
        s.listen()
        u = up("--no-agent", port=port)
        assert u.process.wait(GUARD) == 1 and u.facts is None
        wait_for("its words", lambda: str(port + 1) in "".join(u.errors))
        assert f"process {os.getpid()}" in "".join(u.errors)


def test_one_folder_one_server(up, tmp_path):
    u = up("--no-agent")
    config = (u.data / "clearml.conf").read_text()
    for _ in range(8):  # the second listens for a moment, before it sees that the folder is taken
        second = up("--no-agent")
        assert second.process.wait(GUARD) == 1 and second.facts is None
        wait_for("its words", lambda: f"data folder {u.data} is in use" in "".join(second.errors))
        assert (u.data / "clearml.conf").read_text() == config
    assert u.process.poll() is None


def test_up_a_second_time_says_how_to_use_the_first(up):
    u = up("--no-agent")
    key = (u.data / "clearml.conf").read_text()
    for port in (u.port, None, None, None, None):
        second = up("--no-agent", port=port)
        assert second.process.wait(GUARD) == 1 and second.facts is None
        wait_for("its words", lambda: "export CLEARML_CONFIG_FILE=" in "".join(second.errors))
        words = "".join(second.errors)
        assert f"process {(u.data / 'lock').read_text().strip()} serves {u.data}" in words
        assert f"CLEARML_CONFIG_FILE={u.facts['config']}" in words
        code = words.split("/login?code=")[1].split()[0]
        assert f"{u.facts['web']}/login?code={code}" in words
        status, _ = post(f"{u.facts['web']}/api/x_login.redeem", {"code": code}, {"X-Stoker-Request": "1"})
        assert status == 200
        assert "server: ready" not in words, "lines of the server that runs are not the reason"
    assert (u.data / "clearml.conf").read_text() == key and u.process.poll() is None


def test_a_refused_start_leaves_nothing(up, tmp_path):
    port = free_ports(3)[0]
    with socket.socket() as s:
        s.bind(("127.0.0.1", port))
        s.listen()
        u = up("--no-agent", port=port)
        assert u.process.wait(GUARD) == 1 and not u.data.exists()
    (tmp_path / "data").write_text("a file")
    u = up("--no-agent")
    assert u.process.wait(GUARD) == 1
    wait_for("its words", lambda: "--data" in "".join(u.errors) and str(u.data) in "".join(u.errors))
