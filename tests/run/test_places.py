"""Where code comes from, and a task that is stopped on the way: credentials for git over HTTP, ssh, submodules, a stop
while code is fetched or packages are being installed.
"""
import base64
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import pytest

from conftest import GUARD, wait_for
from test_execute import in_repository, machine, machine_of, new_machine, origin, sh  # noqa: F401
from test_packages import commit, source, ssh_to

PASSWORD = "p@ss$(id)`x`'\"\\ word:/€"


class GitServer(http.server.BaseHTTPRequestHandler):
    """git http-backend behind Basic authorisation; counts what was asked without it."""
    protocol_version = "HTTP/1.1"
    root, refused, served = None, [], []

    def answer(self):
        want = "Basic " + base64.b64encode(f"robot:{PASSWORD}".encode()).decode()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Authorization") != want:
            self.refused.append(self.headers.get("Authorization"))
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.served.append(self.path)
        path, _, query = self.path.partition("?")
        backend = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env={
            **os.environ, "GIT_PROJECT_ROOT": str(self.root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "CONTENT_LENGTH": str(len(body)),
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", "REMOTE_USER": "robot"})
        head, _, rest = backend.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for k, v in fields.items():
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


@pytest.fixture
def remote(tmp_path, origin):
    """URL of a repository that wants user 'robot' and a nasty password."""
    served = tmp_path / "served"
    served.mkdir()
    sh(tmp_path, f"git clone -q --bare {origin} served/app.git")
    handler = type("Handler", (GitServer,), {"root": served, "refused": [], "served": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/app.git", handler
    server.shutdown()


def spy(folder):
    """A git in front of git that writes down its words and variables; the folder to put first on PATH."""
    real = shutil.which("git")
    (folder / "bin").mkdir()
    (folder / "bin" / "git").write_text(f'#!/bin/sh\n{{ echo "$@"; env; }} >>{folder}/spied\nexec {real} "$@"\n')
    (folder / "bin" / "git").chmod(0o755)
    return folder / "bin"


def test_credentials_reach_git_and_nobody_else(new_machine, remote, origin, tmp_path):
    machine = new_machine
    url, seen = remote
    t = in_repository(machine, origin, repository=url)
    # the agent's own environment holds the password; what counts are words, files, log
    code = machine.run(t, CLEARML_AGENT_GIT_USER="robot", CLEARML_AGENT_GIT_PASS=PASSWORD, PATH=f"{spy(tmp_path)}:{machine.base['PATH']}")
    assert code == 0, machine.err
    assert machine.log(t)[-1] == "committed" and seen.served
    spied = (tmp_path / "spied").read_text()
    words = [line for line in spied.splitlines() if not line.startswith("CLEARML_AGENT_GIT_PASS=")]
    assert PASSWORD not in "\n".join(words)
    assert not any(PASSWORD in m for m in machine.log(t, None)) and PASSWORD not in machine.out + machine.err
    for path in [*machine.cache.rglob("*"), *machine.state.rglob("*")]:
        if path.is_file() and not path.is_symlink():
            assert PASSWORD.encode() not in path.read_bytes(), path


def test_credentials_in_the_url_win_and_are_not_shown(machine, remote, origin):
    url, _ = remote
    import urllib.parse
    secret = urllib.parse.quote(PASSWORD, safe="")
    t = in_repository(machine, origin, repository=url.replace("http://", f"http://robot:{secret}@"))
    assert machine.run(t, CLEARML_AGENT_GIT_USER="wrong", CLEARML_AGENT_GIT_PASS="wrong") == 0
    assert not any(secret in m or PASSWORD in m for m in machine.log(t, None))
    assert any("robot:****@" in m for m in machine.log(t, "INFO"))


def test_credentials_of_one_host(machine, remote, origin, tmp_path):
    url, _ = remote
    extra = json.dumps([{"host": "elsewhere.example", "user": "x", "pass": "y"}, {"host": "127.0.0.1", "username": "robot", "password": PASSWORD}])
    t = in_repository(machine, origin, repository=url)
    env = {"CLEARML_AGENT__AGENT__GIT__EXTRA_CREDENTIALS": extra, "CLEARML_AGENT__AGENT__VCS_CACHE__PATH": str(tmp_path / "vcs")}
    assert machine.run(t, **env) == 0, machine.err
    assert machine.log(t)[-1] == "committed"


def test_wrong_credentials_fail_at_once(machine, remote, origin):
    url, _ = remote
    t = in_repository(machine, origin, repository=url)
    assert machine.run(t, CLEARML_AGENT_GIT_USER="robot", CLEARML_AGENT_GIT_PASS="no") == 1
    assert machine.get(t)["status_reason"].startswith("repository: fetch http://127.0.0.1")


def test_submodule(machine, origin, tmp_path):
    sh(tmp_path, "git init -q lib && cd lib && echo 'print(\"from lib\")' >mod.py && git add . && git commit -qm l &&"
                 "cd ../origin && git -c protocol.file.allow=always submodule --quiet add ../lib lib && git commit -qm sub")
    t = in_repository(machine, origin, entry_point="lib/mod.py")
    assert machine.run(t) == 0, machine.err
    assert machine.log(t)[-1] == "from lib"


def with_submodule(folder, url):
    """team/app.git whose submodule sub, named by `url`, is org/sub.git; the commit."""
    for name, code in (("org/sub.git", "x = 'from sub'"), ("team/app.git", "from sub.mod import x; print(x)")):
        (folder / name).mkdir(parents=True)
        (folder / name / ("mod.py" if name.startswith("org") else "main.py")).write_text(code + "\n")
        commit(folder / name)
    sh(folder / "team/app.git", f"git -c protocol.file.allow=always submodule --quiet add {folder}/org/sub.git sub &&"
                                f"git config -f .gitmodules submodule.sub.url {url} && git add . && git commit -qm sub")
    return sh(folder / "team/app.git", "git rev-parse HEAD")


FORCE = {"CLEARML_AGENT__AGENT__FORCE_GIT_SSH_PROTOCOL": "true"}
LOGIN = {"CLEARML_AGENT_GIT_USER": "robot", "CLEARML_AGENT_GIT_PASS": PASSWORD}
SUB = "git@git.example.com:org/sub.git", "git@git.example.com git-upload-pack 'org/sub.git'"


@pytest.mark.parametrize("url, env, asked, sub", [
    ("ssh://git@gitlab.example.com:2222/team/app.git", {}, "-p 2222 git@gitlab.example.com git-upload-pack '/team/app.git'", SUB),
    # recorded by an SDK that took the user out of the URL
    ("ssh://gitlab.example.com:2222/team/app.git", {}, "-p 2222 git@gitlab.example.com git-upload-pack '/team/app.git'", SUB),
    ("ssh://root@git.example.net:2222/team/app.git", {**FORCE, "CLEARML_AGENT__AGENT__FORCE_GIT_SSH_USER": "git"},
     "-p 2222 git@git.example.net git-upload-pack '/team/app.git'", SUB),
    ("git@git.example.org:team/app.git", {**FORCE, **LOGIN}, "git@git.example.org git-upload-pack 'team/app.git'", SUB),
    ("https://git.example.org/team/app.git", FORCE, "git@git.example.org git-upload-pack '/team/app.git'",
     ("https://git.example.org/org/sub.git", "git@git.example.org git-upload-pack '/org/sub.git'"))])
def test_ssh(machine, tmp_path, url, env, asked, sub):
    head = with_submodule(tmp_path, sub[0])
    t = machine.task(repository=url, version_num=head)
    env = {**env, **ssh_to(tmp_path), "CLEARML_AGENT__AGENT__VCS_CACHE__PATH": str(tmp_path / "vcs")}  # nothing is there yet
    assert machine.run(t, **env) == 0, machine.err
    assert machine.log(t)[-1] == "from sub"
    words = [line.replace("-o SendEnv=GIT_PROTOCOL ", "") for line in (tmp_path / "asked").read_text().splitlines()]
    assert {w for w in words if "git@" in w} == {asked, sub[1]}
    assert PASSWORD not in "".join(words) + "".join(machine.log(t, None)) + machine.err


def test_ssh_that_lets_nobody_in(machine, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ssh").write_text("#!/bin/sh\necho 'git@git.example.com: Permission denied (publickey).' >&2\nexit 255\n")
    (tmp_path / "bin/ssh").chmod(0o755)
    t = machine.task(repository="ssh://git.example.com/team/app.git", branch="main")
    assert machine.run(t, PATH=f"{tmp_path}/bin:{machine.base['PATH']}") == 1
    assert machine.get(t)["status_reason"].startswith("repository: fetch ssh://git.example.com/team/app.git: ")


def test_login_is_for_submodules_written_for_ssh(machine, remote, tmp_path):
    url, seen = remote
    with_submodule(tmp_path, "git@127.0.0.1:sub.git")
    sh(tmp_path, "git clone -q --bare team/app.git served/team.git && git clone -q --bare org/sub.git served/sub.git")
    t = machine.task(repository=url.replace("app.git", "team.git"), branch="main")
    assert machine.run(t, **LOGIN) == 0, machine.err
    assert machine.log(t)[-1] == "from sub" and any(p.startswith("/sub.git/") for p in seen.served)


def test_login_is_for_packages_without_a_repository(machine, remote, tmp_path):
    url, _ = remote
    source(tmp_path / "pack", "zz_pack")
    commit(tmp_path / "pack")
    sh(tmp_path, "git clone -q --bare pack served/pack.git")
    t = machine.task("import zz_pack; print(zz_pack.version)", pip=f"git+{url.replace('app.git', 'pack.git')}@v1\n")
    assert machine.run(t, **LOGIN) == 0, machine.err
    assert machine.log(t)[-1] == "1.0"


def test_stop_while_packages_are_installed(machine, tmp_path):
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "back"\nbackend-path = ["."]\n')
    (slow / "back.py").write_text(f"import time, pathlib\npathlib.Path('{tmp_path}/building').touch()\ntime.sleep(1000)\n")
    t = machine.task("print('never')", pip=f"x @ file://{slow}\n")
    p = machine.start(t)
    wait_for("the build", lambda: (tmp_path / "building").exists() or p.poll() is not None)
    machine.server.call("tasks.stop", task=t)
    assert p.wait(GUARD) == 254
    assert machine.get(t)["status"] == "stopped"
    wait_for("the build's end", lambda: not [c for c in pathlib.Path("/proc").glob("[0-9]*/cmdline") if str(slow).encode() in read(c)])


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_term_while_fetching(machine, origin, tmp_path):
    """A remote that never answers does not hold up a stop."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexec sleep 1000\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    t = in_repository(machine, origin)
    p = machine.start(t, PATH=f"{tmp_path}/bin:{machine.base['PATH']}")
    wait_for("git", lambda: (tmp_path / "asked").exists())
    start = time.monotonic()
    p.send_signal(signal.SIGTERM)
    assert p.wait(GUARD) == 254
    assert time.monotonic() - start < GUARD
    assert machine.get(t)["status"] == "stopped"


def test_passwords_of_indexes_are_shown_nowhere(machine):
    t = machine.task("print(1)", pip="--extra-index-url http://user:tok-secret-1@127.0.0.1:9/simple\nno-such-package-of-ours\n")
    assert machine.run(t) == 1
    said = "\n".join(machine.log(t, None)) + machine.get(t)["status_reason"] + machine.out + machine.err
    assert "127.0.0.1:9" in said and "tok-secret-1" not in said


def test_term_while_the_server_is_away(server_factory, machine_of):  # noqa: F811
    """The run ends all the same; what the server has not heard stays on disk, with a journal that says what it was."""
    server = server_factory()
    machine = machine_of(server)
    t = machine.task("import time\nprint('ready', flush=True)\nwhile True: print('more', flush=True); time.sleep(0.05)\n")
    p = machine.start(t)
    wait_for("the script", lambda: "ready" in machine.log(t))
    server.kill()
    p.send_signal(signal.SIGTERM)
    assert p.wait(GUARD) == 254
    lines = machine.runs()
    assert [line["stage"] for line in lines][-1] == "exited"
    assert any(f.stat().st_size for f in machine.state.glob("runs/*/console.0*"))
    server.start()
