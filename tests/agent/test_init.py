"""`stoker init`: what it writes, when it refuses, and that secrets stay secret."""
import os
import pathlib
import pty
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from conftest import GUARD, STOKER, clean_env  # noqa: E402


@pytest.fixture
def home(tmp_path):
    return tmp_path


def init(home, *words, stdin="", verb=("init",), **env):
    return subprocess.run([STOKER, *verb, *words], env=clean_env(HOME=str(home), **env), input=stdin, text=True,
                          capture_output=True, timeout=GUARD)


def test_from_flags(shared_server, home):
    s = shared_server
    done = init(home, "--api", s.api, "--web", s.web, "--files", s.files, "--key", s.access, "--secret-file", "-",
                stdin=s.secret + "\n")
    assert done.returncode == 0, done.stderr
    path = home / "clearml.conf"
    assert path.stat().st_mode & 0o777 == 0o600
    assert s.secret not in done.stdout + done.stderr
    listed = subprocess.run([STOKER, "agent", "list"], env=clean_env(HOME=str(home)), capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr
    again = init(home, "--server", s.api, "--key", "x", "--secret-file", "-", stdin="y")
    assert (again.returncode, "already" in again.stderr) == (1, True)
    assert s.access in path.read_text()
    forced = init(home, "--server", "http://h.example:8080", "--key", "K1", "--secret-file", "-", "--no-check", "--force",
                  stdin="S1", verb=("agent", "init"))
    assert forced.returncode == 0, forced.stderr
    text = path.read_text()
    for line in ('web_server: "http://h.example:8080"', 'api_server: "http://h.example:8008"',
                 'files_server: "http://h.example:8081"', 'access_key: "K1"', 'secret_key: "S1"',
                 "sdk.development.report_use_subprocess: false"):
        assert line in text
    assert s.access not in text


def test_wrong_secret_writes_nothing(shared_server, home):
    s = shared_server
    done = init(home, "--api", s.api, "--key", s.access, "--secret-file", "-", stdin="not this one")
    assert done.returncode == 1
    assert "nothing was written" in done.stderr and "not this one" not in done.stderr
    assert not (home / "clearml.conf").exists()


def test_old_file_is_respected(home):
    (home / "trains.conf").write_text("api { }\n")
    done = init(home, "--server", "http://h.example", "--key", "K", "--no-check", CLEARML_API_SECRET_KEY="S")
    assert (done.returncode, "trains.conf" in done.stderr) == (1, True)


@pytest.mark.parametrize("words, missing", [
    ((), "address"), (("--server", "http://h.example"), "access key"),
    (("--server", "http://h.example", "--key", "K"), "secret"), (("--server", "h.example"), "http://")])
def test_without_a_terminal_nothing_is_guessed(home, words, missing):
    done = init(home, *words, "--no-check")
    assert (done.returncode, missing in done.stderr) == (1, True), done.stderr
    assert not (home / "clearml.conf").exists()


@pytest.mark.parametrize("server, api, files", [
    ("https://app.ml.example", "https://api.ml.example", "https://files.ml.example"),
    ("http://h.example:8008/", "http://h.example:8008", "http://h.example:8081"),
    ("http://h.example:9000", "http://h.example:9000/api", "http://h.example:9000/files")])
def test_addresses_follow(home, server, api, files):
    done = init(home, "--server", server, "--key", "K", "--no-check", CLEARML_API_SECRET_KEY="S")
    assert done.returncode == 0, done.stderr
    text = (home / "clearml.conf").read_text()
    assert f'api_server: "{api}"' in text and f'files_server: "{files}"' in text


def test_pasted_block_on_a_terminal(shared_server, home):
    """What a settings page shows for a new key, pasted; nothing else is asked, and the secret is not repeated by us."""
    s = shared_server
    block = (f"api {{\n  web_server: {s.web}\n  api_server: {s.api}\n  files_server: {s.files}\n"
             f'  credentials {{\n    "access_key" = "{s.access}"\n    "secret_key" = "{s.secret}"\n  }}\n}}\n')
    pid, fd = pty.fork()
    if not pid:
        os.execve(STOKER, [STOKER, "init"], clean_env(HOME=str(home)))
    os.write(fd, block.encode())
    out = b""
    while True:
        try:
            data = os.read(fd, 4096)
        except OSError:
            break
        if not data:
            break
        out += data
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, out
    assert s.access in (home / "clearml.conf").read_text()


def test_asked_secret_is_not_shown(shared_server, home):
    s = shared_server
    pid, fd = pty.fork()
    if not pid:
        os.execve(STOKER, [STOKER, "init", "--api", s.api, "--web", s.web, "--files", s.files, "--key", s.access],
                  clean_env(HOME=str(home)))
    out = b""
    while b"Secret" not in out:
        out += os.read(fd, 4096)
    os.write(fd, s.secret.encode() + b"\n")
    while True:
        try:
            data = os.read(fd, 4096)
        except OSError:
            break
        if not data:
            break
        out += data
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, out
    assert s.secret.encode() not in out
    assert s.secret in (home / "clearml.conf").read_text()
