"""`stoker execute --id T` against a real server, with real git, uv, Python and SDK: from code and packages to the end.

What a task leaves behind, what it is told, and what the server knows afterwards.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

from conftest import GUARD, STOKER, is_alive, wait_for

UV_CACHE = pathlib.Path(os.environ.get("STOKER_CACHE", pathlib.Path.home() / ".cache" / "stoker-dev")) / "uv-cache"
GIT = dict(GIT_AUTHOR_NAME="T", GIT_AUTHOR_EMAIL="t@example.com", GIT_COMMITTER_NAME="T", GIT_COMMITTER_EMAIL="t@example.com",
           GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="init.defaultBranch", GIT_CONFIG_VALUE_0="main")
PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"


class Machine:
    """A machine that runs tasks: its own state and cache folders, one server."""

    def __init__(self, server, folder, cache=None):
        self.server, self.folder = server, folder
        self.state, self.cache = folder / "state", cache or folder / "cache"
        self.base = server.env()  # once: it writes the configuration anew
        self.started = []

    def env(self, **extra):
        python = os.path.dirname(os.path.realpath(sys.executable))
        return {**self.base, "STOKER_STATE": str(self.state), "STOKER_CACHE": str(self.cache), "UV_CACHE_DIR": str(UV_CACHE),
                "PATH": f"{self.base['PATH']}:{python}", **extra}

    def task(self, code="", pip="", **script):
        script = {"diff": code, "entry_point": "main.py", "working_dir": ".", "binary": PYTHON, "requirements": {"pip": pip},
                  **script}
        return self.server.call("tasks.create", name="a task", type="training", script=script)["id"]

    def start(self, task, *words, **env):
        self.started.append(subprocess.Popen(
            [STOKER, "execute", "--id", task, *words], env=self.env(**env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace"))
        return self.started[-1]

    def run(self, task, *words, **env):
        """Exit code of one task run to its end."""
        p = self.start(task, *words, **env)
        self.out, self.err = p.communicate(timeout=3 * GUARD)
        return p.returncode

    def end(self):
        """Of a test that failed: no run of it goes on."""
        for p in self.started:
            while p.poll() is None:  # the second signal ends at once
                p.terminate()
                time.sleep(0.2)

    def get(self, task):
        return self.server.call("tasks.get_by_id", task=task)["task"]

    def log(self, task, level="DEBUG"):
        """The lines of the task's console, oldest first."""
        events = self.server.call("events.get_task_events", task=task, event_type="log", order="asc", batch_size=10000)["events"]
        return [e["msg"] for e in events if level is None or e["level"] == level]

    def runs(self):
        """The lines of the journals; one that is being written does not count yet."""
        return [json.loads(line) for f in sorted(self.state.glob("runs/*/journal"))
                for line in f.read_text().splitlines(keepends=True) if line.endswith("\n")]


@pytest.fixture
def machine_of(tmp_path):
    """Make the machine of a server of the test's own."""
    made = []

    def make(server):
        made.append(Machine(server, tmp_path))
        return made[-1]

    yield make
    for m in made:
        m.end()


@pytest.fixture
def machine(shared_server, tmp_path, tmp_path_factory):
    """A machine whose environments are those of all tests."""
    m = Machine(shared_server, tmp_path, tmp_path_factory.getbasetemp() / "cache")
    yield m
    m.end()


@pytest.fixture
def new_machine(shared_server, tmp_path):
    """A machine that has built nothing yet."""
    m = Machine(shared_server, tmp_path)
    yield m
    m.end()


def sh(cwd, script):
    return subprocess.run(["sh", "-ec", script], cwd=cwd, env={**os.environ, **GIT}, check=True, capture_output=True, text=True,
                          timeout=GUARD).stdout.strip()


def alive(word):
    """Processes whose command line holds `word`."""
    found = []
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (p / "cmdline").read_bytes() and int(p.name) != os.getpid():
                found.append(int(p.name))
        except OSError:
            pass
    return found


# -- how it ends --------------------------------------------------------------------------------------------------------

def test_success(machine):
    t = machine.task("import os\nprint('hello', os.environ['CLEARML_TASK_ID'], os.environ['TRAINS_TASK_ID'])\n"
                     "print(sorted(k for k in os.environ if k.startswith('STOKER_')), 'CLEARML_PROC_MASTER_ID' in os.environ)\n"
                     "print('last', end='')")
    assert machine.run(t, CLEARML_PROC_MASTER_ID="1:x", STOKER_GRACE_SEC="5") == 0
    assert machine.log(t) [-3:] == [f"hello {t} {t}", "['STOKER_RUN_ID'] False", "last"]
    assert machine.out.endswith(f"hello {t} {t}\n['STOKER_RUN_ID'] False\nlast")
    d = machine.get(t)
    assert (d["status"], d["status_reason"]) == ("completed", "worker execution done")
    assert not list(machine.state.glob("runs/*"))  # nothing left behind
    stages = [s["name"] for s in machine.server.call("x_tasks.timeline", task=t)["stages"]]
    assert [s for s in stages if s in ("fetch", "repository", "environment", "start")] == ["fetch", "repository", "environment", "start"]


@pytest.mark.parametrize("code, exit_code, reason", [
    ("raise SystemExit(3)", 3, "worker execution exit code 3"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 128 + 11, "worker execution exit code -11: killed by signal 11"),
    ("1/0", 1, "worker execution exit code 1"),
])
def test_failure(machine, code, exit_code, reason):
    t = machine.task(code)
    assert machine.run(t) == exit_code
    d = machine.get(t)
    assert d["status"] == "failed" and d["status_reason"].startswith(reason)


def test_environment_of_the_configuration(machine, tmp_path):
    """environment { } goes to the task, and other parts of the file may use what stands in it."""
    conf = tmp_path / "more.conf"
    conf.write_text(pathlib.Path(machine.base["CLEARML_CONFIG_FILE"]).read_text() +
                    "environment { K: v1, NUMBER: 5, SPACED: \"a b\" }\nagent.abort_callback_cmd: \"touch \"${environment.K}\n")
    conf.chmod(0o600)
    t = machine.task("import os; print([os.environ[k] for k in ('K', 'NUMBER', 'SPACED')])")
    assert machine.run(t, CLEARML_CONFIG_FILE=str(conf)) == 0, machine.err
    assert machine.log(t)[-1] == "['v1', '5', 'a b']"
    shown = subprocess.run([STOKER, "agent", "config"], env=machine.env(CLEARML_CONFIG_FILE=str(conf)), capture_output=True,
                           text=True, timeout=GUARD)
    assert 'agent.abort_callback_cmd = "touch v1"' in shown.stdout, shown.stdout + shown.stderr


def test_exit_254_is_a_stop(machine):
    t = machine.task("raise SystemExit(254)")
    assert machine.run(t) == 254
    assert machine.get(t)["status"] == "stopped"


FORKS = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
mark = sys.argv[1] if len(sys.argv) > 1 else "MARK"
code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", code, mark])
    os._exit(0)
os.wait()
subprocess.Popen([sys.executable, "-c", code, mark], start_new_session=True, env={})
print("forked", flush=True)
time.sleep(1000)
"""


def test_abort_leaves_nothing_alive(machine):
    mark = f"mark-{time.time_ns()}"
    t = machine.task(FORKS, entry_point=f"main.py {mark}")
    p = machine.start(t, STOKER_GRACE_SEC="1")
    wait_for("the forks", lambda: "forked" in machine.log(t))
    assert len(alive(mark)) >= 3
    machine.server.call("tasks.stop", task=t)
    assert p.wait(GUARD) == 254
    assert alive(mark) == []
    d = machine.get(t)
    assert (d["status"], d["status_reason"]) == ("stopped", "task was stopped by tasks.stop")
    assert any("User aborted" in m for m in machine.log(t, "ERROR"))


def test_abort_callback_runs_before_the_end(machine):
    saved = machine.folder / "saved"
    t = machine.task("import time; print('ready', flush=True); time.sleep(1000)")
    p = machine.start(t, CLEARML_AGENT_ABORT_CALLBACK_CMD=f"sh -c 'echo $CLEARML_TASK_ID >{saved}'")
    wait_for("the script", lambda: "ready" in machine.log(t))
    machine.server.call("tasks.stop", task=t)
    assert p.wait(GUARD) == 254
    assert saved.read_text() == t + "\n"


@pytest.mark.parametrize("by", ["signal", "user"])
def test_a_script_that_saves_on_term_gets_its_time(machine, by):
    t = machine.task("import signal, sys, time\n"
                     "def save(*_):\n    time.sleep(5); print('saved', flush=True); sys.exit(0)\n"
                     "signal.signal(signal.SIGTERM, save); print('ready', flush=True); time.sleep(1000)")
    p = machine.start(t, STOKER_GRACE_SEC="60")
    wait_for("the script", lambda: "ready" in machine.log(t))
    if by == "signal":
        p.send_signal(signal.SIGTERM)
    else:
        machine.server.call("tasks.stop", task=t)
    assert p.wait(GUARD) == 254
    assert machine.log(t)[-1] == "saved"
    assert machine.get(t)["status"] == "stopped"


def test_what_runs_on_after_the_script_is_ended(machine):
    mark = f"mark-{time.time_ns()}"
    t = machine.task("import subprocess, sys; subprocess.Popen(['sleep', '1000'], executable='sleep', start_new_session=True)\n"
                     f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)', '{mark}'], start_new_session=True)\n")
    assert machine.run(t) == 0
    assert alive(mark) == []
    assert machine.get(t)["status"] == "completed"


def test_reset_ends_the_run_and_reports_nothing(machine):
    t = machine.task("import time; print('ready', flush=True); time.sleep(1000)")
    p = machine.start(t)
    wait_for("the script", lambda: "ready" in machine.log(t))
    machine.server.call("tasks.reset", task=t, force=True)
    assert p.wait(GUARD) == 254
    assert machine.get(t)["status"] == "created"


def test_kill_9_of_the_supervisor_leaves_evidence(machine):
    t = machine.task("import os, time; print('ready', os.getpid(), flush=True); time.sleep(1000)")
    p = machine.start(t)
    wait_for("the script", lambda: any(m.startswith("ready") for m in machine.log(t)))
    pid = int(machine.log(t)[-1].split()[1])
    wait_for("the journal", lambda: machine.runs()[-1]["stage"] == "watch")  # written beside the run
    p.kill()
    p.wait()
    wait_for("the script's end", lambda: not is_alive(pid))
    lines = machine.runs()
    stages = [line["stage"] for line in lines]
    assert stages[0] == "supervisor" and stages[-1] == "watch" and "reported" not in stages
    assert [line["child"] for line in lines if line["stage"] == "running"] == [pid]
    assert machine.get(t)["status"] == "in_progress"  # whoever finds the journal reports it


# -- code -----------------------------------------------------------------------------------------------------------------

@pytest.fixture
def origin(tmp_path):
    """A repository with one commit; its folder."""
    repo = tmp_path / "origin"
    repo.mkdir()
    sh(repo, "git init -q . && printf 'print(\"committed\")\\n' >main.py && printf 'a\\r\\nb\\r\\n' >dos.txt && seq 20 >old.txt &&"
             "printf 'gone\\n' >gone.txt && printf '\\000\\001' >data.bin && git add . && git commit -qm one")
    return repo


def in_repository(machine, origin, diff="", **script):
    script = {"repository": f"file://{origin}", "branch": "main", "version_num": sh(origin, "git rev-parse HEAD"), **script}
    return machine.task(diff, **script)


def test_repository(machine, origin):
    t = in_repository(machine, origin)
    assert machine.run(t) == 0 and machine.log(t)[-1] == "committed"
    t = in_repository(machine, origin, version_num="")
    assert machine.run(t) == 0 and machine.log(t)[-1] == "committed"
    assert machine.get(t)["script"]["version_num"] == sh(origin, "git rev-parse HEAD")


def test_bad_commit(machine, origin):
    t = in_repository(machine, origin, version_num="0123456789" * 4)
    assert machine.run(t) == 1
    d = machine.get(t)
    assert d["status"] == "failed"
    assert d["status_reason"].startswith(f"repository: commit {'0123456789' * 4} is not in file://") and "was it pushed?" in d["status_reason"]


def test_uncommitted_changes(machine, origin):
    sh(origin, "printf 'print(\"changed\")\\nimport sys; sys.path.insert(0, \".\")\\nimport new.module\\n"
               "print(open(\"dos.txt\", \"rb\").read(), open(\"new name.txt\").read().split()[6], open(\"data.bin\", \"rb\").read())\\n"
               "import os; print(os.path.exists(\"gone.txt\"), os.path.exists(\"old.txt\"))\\n' >main.py &&"
               "mkdir new && echo 'print(\"new\")' >new/module.py && printf 'a\\r\\nB\\r\\n' >dos.txt && git mv old.txt 'new name.txt' &&"
               "sed -i s/7/seven/ 'new name.txt' && rm gone.txt && printf '\\000\\002\\003' >data.bin && git add -A")
    t = in_repository(machine, origin, diff=subprocess.run(["git", "diff", "--binary", "HEAD"], cwd=origin, check=True, capture_output=True).stdout.decode())
    assert machine.run(t) == 0, machine.err
    assert machine.log(t)[-4:] == ["changed", "new", "b'a\\r\\nB\\r\\n' seven b'\\x00\\x02\\x03'", "False False"]


def test_changes_that_do_not_fit(machine, origin):
    diff = "diff --git a/main.py b/main.py\n--- a/main.py\n+++ b/main.py\n@@ -1 +1 @@\n-print(\"something else\")\n+print(1)\n"
    t = in_repository(machine, origin, diff=diff)
    assert machine.run(t) == 1
    assert machine.get(t)["status_reason"].startswith("patch: the task's uncommitted changes do not fit the commit")


def test_module_and_working_dir(machine, origin):
    sh(origin, "mkdir -p src/pkg && echo 'import sys; print(\"module\", sys.argv[1:])' >src/pkg/job.py && git add . && git commit -qm two")
    t = in_repository(machine, origin, entry_point="-m pkg.job --name 'a b' $CLEARML_TASK_ID", working_dir="src")
    assert machine.run(t) == 0
    assert machine.log(t)[-1] == f"module ['--name', 'a b', '{t}']"
    # as an SDK records a module's words: they count only where nothing became a parameter
    t = in_repository(machine, origin, entry_point="-m pkg.job  --name a b", working_dir="src")
    assert machine.run(t) == 0
    assert machine.log(t)[-1] == "module ['--name', 'a', 'b']"
    machine.server.call("tasks.reset", task=t, force=True)
    machine.server.call("tasks.edit_hyper_params", task=t, hyperparams=[{"section": "Args", "name": "name", "value": "a b"}])
    assert machine.run(t) == 0
    assert machine.log(t)[-1] == "module []"


def test_shell_script(machine):
    t = machine.task("for i in 1 2; do echo $i; done\nexit 4\n", entry_point="go.sh", binary="bash")
    assert machine.run(t) == 4
    assert machine.log(t)[-2:] == ["1", "2"]


# -- packages -------------------------------------------------------------------------------------------------------------

def test_bad_requirement(machine):
    t = machine.task("print(1)", pip="six==0.0.0.1\n")
    assert machine.run(t) == 1
    d = machine.get(t)
    assert d["status"] == "failed" and d["status_reason"].startswith("environment: ") and "six==0.0.0.1" in d["status_reason"]


def test_no_such_python(machine):
    t = machine.task("print(1)", binary="python3.99")
    assert machine.run(t) == 1
    assert "wants Python 3.99, which is not on this machine; found: 3." in machine.get(t)["status_reason"]


def test_two_tasks_share_one_environment_and_one_build(new_machine):
    machine = new_machine
    code = "import six, importlib.util as u; print(six.__version__, u.find_spec('idna'))"
    tasks = [machine.task(code, pip="six==1.16.0\n") for _ in range(3)]
    runs = [machine.start(t) for t in tasks]
    assert [p.wait(3 * GUARD) for p in runs] == [0, 0, 0]
    assert [machine.log(t)[-1] for t in tasks] == ["1.16.0 None"] * 3
    built = sum(m.startswith("installing packages") for t in tasks for m in machine.log(t, "INFO"))
    assert built == 1
    told = [s["detail"] for t in tasks for s in machine.server.call("x_tasks.timeline", task=t)["stages"]
            if s["name"] == "environment"]
    assert sorted(told) == ["built", "reused", "reused"]
    assert [machine.get(t)["script"]["requirements"] for t in tasks] == [{"pip": "six==1.16.0\n"}] * 3


def test_what_one_installs_another_does_not_see(machine):
    installs = machine.task("import subprocess, sys, importlib, time\n"
                            "subprocess.check_call([sys.executable, '-m', 'pip', 'install', '-q', 'idna==3.7', 'six==1.15.0'])\n"
                            "importlib.invalidate_caches(); import idna, six; print(idna.__version__, six.__version__, flush=True)\n"
                            "time.sleep(2)", pip="six==1.16.0\n")
    looks = machine.task("import time, os, importlib.util as u, six\nwhile not os.path.exists('FLAG'): time.sleep(0.05)\n"
                         "print(u.find_spec('idna'), six.__version__)".replace("FLAG", str(machine.folder / "flag")), pip="six==1.16.0\n")
    assert machine.run(machine.task("import six", pip="six==1.16.0\n")) == 0
    p, q = machine.start(installs), machine.start(looks)
    wait_for("the installation", lambda: "3.7 1.15.0" in machine.log(installs) or p.poll() is not None)
    (machine.folder / "flag").touch()
    assert (q.wait(GUARD), p.wait(GUARD)) == (0, 0)
    assert machine.log(looks)[-1] == "None 1.16.0"
    assert machine.log(installs)[-1] == "3.7 1.15.0"
    again = machine.task("import six; print(six.__version__)", pip="six==1.16.0\n")
    assert machine.run(again) == 0 and machine.log(again) == ["1.16.0"]


def test_sdk_task(machine):
    code = ("from clearml import Task\nimport argparse\nt = Task.init(project_name='p', task_name='n', auto_resource_monitoring=False)\n"
            "a = argparse.ArgumentParser(); a.add_argument('--epochs', type=int, default=1); args = a.parse_args()\n"
            "t.get_logger().report_scalar('loss', 'train', 0.5, args.epochs)\nprint('epochs', args.epochs, t.id)\n")
    t = machine.task(code)  # names no requirement: the SDK is there because the script imports it
    machine.server.call("tasks.edit", task=t, hyperparams={"Args": {"epochs": {"section": "Args", "name": "epochs", "value": "7", "type": "int"}}})
    assert machine.run(t) == 0, machine.err
    assert f"epochs 7 {t}" in machine.log(t)
    d = machine.get(t)
    assert d["status"] == "completed"
    assert next(iter(next(iter(d["last_metrics"].values())).values()))["value"] == 0.5


# -- the console ------------------------------------------------------------------------------------------------------------

def test_console_as_a_terminal_shows_it(machine):
    t = machine.task("import sys, time\nw = lambda b: (sys.stdout.buffer.write(b), sys.stdout.flush())\n"
                     "for i in range(1, 1001): w(b'\\r%3d%%' % (i // 10)); time.sleep(0.02 * (i % 100 == 0))\nw(b'\\n')\nw(b'par'); time.sleep(1.2); w(b'tial\\n')\nw(b'bad \\xfc byte\\n')\n"
                     "w('müll €\\n'.encode())\nw(b'\\x1b[31mred\\x1b[0m \\x1b[2J\\n')\nw(b'a' * 20000 + b'\\n')\nprint('to stderr', file=sys.stderr)\n")
    assert machine.run(t) == 0
    lines = machine.log(t)
    i = lines.index("100%")
    assert lines[i:i + 5] == ["100%", "partial", "bad \ufffd byte", "müll €", "\x1b[31mred\x1b[0m "]
    assert "".join(lines[i + 5:-1]) == "a" * 20000 and lines[-1] == "to stderr"
    assert not any("%" in m for m in lines[:i])


def test_server_away_for_half_a_minute(server_factory, machine_of, tmp_path):
    server = server_factory()
    machine = machine_of(server)
    t = machine.task("import itertools, os, time\nfor i in itertools.count():\n    print('line', i, flush=True)\n    time.sleep(0.01)\n"
                     f"    if os.path.exists({str(tmp_path / 'enough')!r}): break\nprint('all', i + 1)\n")
    p = machine.start(t)
    wait_for("some lines", lambda: len([m for m in machine.log(t) if m.startswith("line")]) > 100)
    server.kill()
    time.sleep(30)
    assert p.poll() is None
    server.start()
    (tmp_path / "enough").touch()
    assert p.wait(3 * GUARD) == 0
    *lines, last = [m for m in machine.log(t) if m.startswith(("line ", "all "))]
    assert lines == [f"line {i}" for i in range(len(lines))] and last == f"all {len(lines)}" and len(lines) > 100
    assert machine.get(t)["status"] == "completed"


# -- words of the command line ------------------------------------------------------------------------------------------------

def test_clone_and_name(machine):
    t = machine.task("print('copied')")
    name = f"name [of] {time.time_ns()}"
    machine.server.call("tasks.edit", task=t, name=name)
    assert machine.run(name, "--clone") == 0
    copies = machine.server.call("tasks.get_all", name="^Clone of " + name.replace("[", r"\[").replace("]", r"\]"), only_fields=["id", "status"])["tasks"]
    assert [c["status"] for c in copies] == ["completed"]
    assert machine.get(t)["status"] == "created"


def test_words_that_are_wrong(machine):
    assert machine.run("f" * 32) == 1
    t = machine.task("print(1)")
    assert machine.run(t, "--require-queue") == 1
    assert machine.get(t)["status"] == "created"
    p = subprocess.run([STOKER, "execute"], env=machine.env(), capture_output=True, text=True)
    assert p.returncode == 2 and "--id" in p.stderr


def test_disable_monitoring_tells_nothing(machine, tmp_path):
    t = machine.task("print('quiet'); raise SystemExit(5)")
    assert machine.run(t, "--disable-monitoring", "--log-file", str(tmp_path / "log")) == 5
    assert (tmp_path / "log").read_text() == "quiet\n"
    assert machine.get(t)["status"] == "created" and machine.log(t, None) == []


def test_watch_answers_at_once_when_something_changes(machine):
    """x_tasks.watch: what is there now, or what it becomes, or the same when the time is over."""
    t = machine.task("print(1)")
    now = machine.server.call("x_tasks.watch", task=t)
    assert now["status"] == "created"
    same = machine.server.call("x_tasks.watch", task=t, status="created", status_message=now.get("status_message", ""), wait_ms=50)
    assert same["status"] == "created"
    waiting = []
    thread = threading.Thread(target=lambda: waiting.append(machine.server.call(
        "x_tasks.watch", task=t, status="created", status_message=now.get("status_message", ""), wait_ms=30000)))
    thread.start()
    machine.server.call("tasks.started", task=t, status_message="by hand")
    thread.join(GUARD)
    assert waiting == [{"status": "in_progress", "status_message": "by hand"}]
    assert machine.server.fails("x_tasks.watch", task="f" * 32)[0] == 400
