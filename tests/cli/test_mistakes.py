"""What people and scripts do wrong with the command line, or meet by accident: each answer names the thing and a way on."""
import collections
import http.server
import json
import os
import pathlib
import pty
import signal
import socketserver
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "agent"))
from conftest import GUARD, STOKER, clean_env, wait_for  # noqa: E402
from daemon_bench import Proxy, config_by  # noqa: E402
from test_cli import make_task, repository  # noqa: E402


def stoker(*words, cwd=None, **env):
    return subprocess.run([STOKER, *words], capture_output=True, text=True, env=clean_env(**env), cwd=cwd,
                          stdin=subprocess.DEVNULL, timeout=GUARD)


def write_conf(path, server, key="k", secret="s"):
    path.write_text(f'api {{ api_server: "{server}"\ncredentials {{ access_key: "{key}", secret_key: "{secret}" }} }}')
    return path


# -- configuration -----------------------------------------------------------------------------------------------------


def test_no_configuration_names_the_one_that_up_left(tmp_path):
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "share")}
    done = stoker("task", "ls", **home)
    assert done.returncode == 1 and f"there is no {tmp_path}/clearml.conf" in done.stderr and "stoker init" in done.stderr
    left = tmp_path / "share" / "stoker" / "clearml.conf"
    left.parent.mkdir(parents=True)
    left.write_text("")
    done = stoker("task", "ls", **home)
    assert f"export CLEARML_CONFIG_FILE={left}" in done.stderr
    (tmp_path / "clearml.conf").write_text("agent { }")
    done = stoker("task", "ls", **home)
    assert f"{tmp_path}/clearml.conf names none (api.api_server)" in done.stderr


def test_a_configuration_file_that_is_not_there(tmp_path):
    for variable in ("CLEARML_CONFIG_FILE", "TRAINS_CONFIG_FILE"):
        done = stoker("task", "ls", HOME=str(tmp_path), **{variable: str(tmp_path / "gone.conf")})
        assert done.returncode == 1 and variable in done.stderr and "gone.conf" in done.stderr


@pytest.mark.parametrize("words", [["task", "ls"], ["agent", "daemon", "--foreground", "--queue", "default"]], ids=" ".join)
def test_a_server_that_is_away_and_a_key_that_is_wrong(shared_server, tmp_path, words):
    away = write_conf(tmp_path / "away.conf", "http://127.0.0.1:9")
    done = stoker(*words, HOME=str(tmp_path), CLEARML_CONFIG_FILE=str(away))
    assert done.returncode == 1
    assert "http://127.0.0.1:9 does not answer" in done.stderr and f"api.api_server in {away}" in done.stderr
    assert "stoker up" in done.stderr
    done = stoker(*words, HOME=str(tmp_path), CLEARML_CONFIG_FILE=str(away), CLEARML_API_SECRET_KEY="VERYSECRET",
                  CLEARML_API_HOST=shared_server.api)
    assert f"The key is api.credentials in {away}, the secret CLEARML_API_SECRET_KEY" in done.stderr, done.stderr
    with socketserver.TCPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        done = stoker(*words, HOME=str(tmp_path), CLEARML_CONFIG_FILE=str(away),
                      CLEARML_API_HOST=f"http://127.0.0.1:{other.server_address[1]}")
        other.shutdown()
    assert "is that the API of a ClearML server?" in done.stderr, done.stderr
    done = stoker(*words, HOME=str(tmp_path), CLEARML_CONFIG_FILE=str(away),
                  CLEARML_API_HOST=shared_server.api.replace("http:", "https:"))
    assert "the server seems to speak http there, not https" in done.stderr, done.stderr
    done = stoker(*words, HOME=str(tmp_path), CLEARML_CONFIG_FILE=str(away), CLEARML_API_HOST="http://127.0.0.1:10")
    assert "127.0.0.1:10 does not answer" in done.stderr and "CLEARML_API_HOST" in done.stderr
    wrong = write_conf(tmp_path / "wrong.conf", shared_server.api, secret="VERYSECRET")
    done = stoker(*words, HOME=str(tmp_path), CLEARML_CONFIG_FILE=str(wrong))
    assert done.returncode == 1 and "refuses the credentials" in done.stderr
    assert f"api.credentials in {wrong}" in done.stderr and "VERYSECRET" not in done.stderr
    none = tmp_path / "none.conf"
    none.write_text(f'api {{ api_server: "{shared_server.api}" }}')
    done = stoker(*words, HOME=str(tmp_path), CLEARML_CONFIG_FILE=str(none))
    assert done.returncode == 1 and f"{none} has no api.credentials" in done.stderr


# -- tasks -------------------------------------------------------------------------------------------------------------


def test_a_clone_is_called_after_its_source(shared_server):
    task = make_task(shared_server, "the source")
    shared_server.cli("task", "clone", task)
    assert json.loads(shared_server.cli("task", "show", "Clone of the source", "--json").stdout)["parent"]["id"] == task


def test_what_a_status_forbids_says_what_is_possible(shared_server):
    task = make_task(shared_server, "has run", script={"repository": "", "entry_point": "x.py", "diff": "print(1)\n"})
    shared_server.call("tasks.started", task=task)
    shared_server.call("tasks.completed", task=task)
    done = shared_server.cli("task", "enqueue", task, check=False)
    assert done.returncode == 1 and "task clone" in done.stderr and "task reset" in done.stderr
    done = shared_server.cli("task", "abort", task, check=False)
    assert done.returncode == 1 and "its status is 'completed'. Only a running task" in done.stderr
    shared_server.cli("task", "publish", task)
    for verb, words in (("publish", "its status is 'published'. Only a task that has ended can be published, once"),
                        ("reset", "its status is 'published'. A published task stays as it is"), ("delete", "--force deletes it")):
        done = shared_server.cli("task", verb, task, check=False)
        assert done.returncode == 1 and words in done.stderr, done.stderr
    assert "stands in no queue" in shared_server.cli("task", "dequeue", task).stdout
    done = shared_server.cli("task", "enqueue", task, "--queue", "not made", check=False)
    assert done.returncode == 1 and "'not made'" in done.stderr and "queue create" in done.stderr
    done = shared_server.cli("task", "show", "abc", check=False)
    assert done.returncode == 1 and "4 characters" in done.stderr
    done = shared_server.cli("task", "enqueue", "nowhere", check=False)
    assert done.stderr == "stoker task enqueue: no task 'nowhere'; 'stoker task ls' lists them\n"


def test_a_task_that_runs_is_not_taken_out_of_a_queue(shared_server):
    """Others' servers call it a draft again while its agent runs it."""
    task = make_task(shared_server, "runs already")
    shared_server.call("tasks.started", task=task)
    done = shared_server.cli("task", "dequeue", task, check=False)
    assert done.returncode == 1 and "an agent has taken it already; 'stoker task abort' stops it" in done.stderr
    assert shared_server.call("tasks.get_by_id", task=task)["task"]["status"] == "in_progress"


def test_into_the_archive_and_back(shared_server):
    task = make_task(shared_server, "out of sight")
    for verb, flags in (("archive", "--archived"), ("unarchive", "--all"), ("unarchive", "--all")):
        shared_server.cli("task", verb, task, "--message", "why") if verb == "archive" else shared_server.cli("task", verb, task)
        found = json.loads(shared_server.cli("task", "ls", flags, "--name", "^out of sight$", "--json").stdout)
        assert [t["id"] for t in found] == [task]
        assert bool(shared_server.call("tasks.get_by_id", task=task)["task"]["system_tags"]) == (verb == "archive")


def test_statuses_by_the_words_that_are_shown(shared_server):
    task = make_task(shared_server, "by its status")

    def found(status):
        return task in shared_server.cli("task", "ls", "--status", status, "--name", "by its status", "--json").stdout
    assert found("draft") and found("created") and not found("running")
    shared_server.call("tasks.started", task=task)
    assert found("running") and found("in_progress") and not found("draft")
    shared_server.call("tasks.stopped", task=task)
    assert found("aborted")


def test_a_project_whose_name_is_too_short(shared_server, tmp_path):
    task, work = make_task(shared_server, "for a short project"), repository(tmp_path, {"a.py": "print(1)\n"})
    for words in (["task", "clone", task, "--project", "ml"], ["run", "--project", "ml", "--", "a.py"]):
        done = shared_server.cli(*words, cwd=work, check=False)
        assert done.returncode == 1 and "project 'ml': a project's name has 3 characters or more" in done.stderr


def test_what_run_is_told_and_is_not_there(shared_server, tmp_path):
    work = repository(tmp_path, {"a.py": "print(1)\n"})
    for words, said in ((("--base", "zzz"), "--base zzz: no such commit here"),
                        (("--requirements", "no.txt"), "--requirements no.txt: no such file"),
                        (("--include", "no.csv"), "--include no.csv: no such file")):
        assert shared_server.cli("run", *words, "--", "a.py", cwd=work, check=False).stderr == f"stoker run: {said}\n"


# -- the console -------------------------------------------------------------------------------------------------------


def task_with_log(server, name, lines):
    task = make_task(server, name)
    server.call("tasks.started", task=task)
    server.batch("events.add_batch", [{"type": "log", "task": task, "msg": line, "level": "info", "timestamp": 1700000000000 + i}
                                      for i, line in enumerate(lines)])
    return task


def test_a_log_as_json_and_a_long_tail(shared_server):
    lines = [f"line {i}" for i in range(12000)]
    task = task_with_log(shared_server, "long log", lines)
    shared_server.call("tasks.completed", task=task)
    out = [json.loads(line) for line in shared_server.cli("task", "log", task, "--json", "--tail", "3").stdout.splitlines()]
    assert [x["text"] for x in out[:-1]] == lines[-3:] and out[-1] == {"id": task, "status": "completed"}
    for n in (5000, 5001, 11000, 12000, 20000):
        assert shared_server.cli("task", "log", task, "--tail", str(n)).stdout.splitlines() == lines[-n:], n
    for follow in ([], ["--follow"]):
        assert shared_server.cli("task", "log", task, "--tail", "0", *follow).stdout == ""


@pytest.fixture
def plain(shared_server, tmp_path):
    """`stoker <words>` against a server that has none of our own calls: a process."""
    proxy = Proxy(shared_server.api_port, plain=True)
    env = {**shared_server.env(), "CLEARML_CONFIG_FILE": str(config_by(shared_server, proxy, tmp_path / "plain.conf"))}

    def start(*words):
        return subprocess.Popen([STOKER, *words], env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    yield start
    proxy.cut()


def test_a_tail_from_a_server_without_our_calls(shared_server, plain):
    """It holds events: several lines in one, many in a millisecond. Lines are counted as they are printed."""
    task = make_task(shared_server, "a log of any server")
    shared_server.call("tasks.started", task=task)
    messages = [f"event {i}\n" + "".join(f"  more {k}\n" for k in range(i % 3)) for i in range(7000)]
    shared_server.batch("events.add_batch", [{"type": "log", "task": task, "msg": m, "level": "info",
                                              "timestamp": 1700000000000 + i // 4} for i, m in enumerate(messages)])
    shared_server.call("tasks.completed", task=task)
    lines = "".join(messages).splitlines()

    def log(*words, of=task):
        return plain("task", "log", of, *words).communicate(timeout=GUARD)[0].splitlines()
    assert log() == lines
    for n in (1, 2, 3, 4, 5, 10, 100, 9999, 10000, len(lines) - 1, len(lines), 100000):
        for follow in ([], ["--follow"]):
            assert log("--tail", str(n), *follow) == lines[-n:], n
    assert log("--tail", "0", "--follow") == []
    out = [json.loads(line) for line in log("--json", "--tail", "5")]
    assert [x["msg"] for x in out[:-1]] == messages[-5:] and out[-1] == {"id": task, "status": "completed"}
    empty = make_task(shared_server, "no log")
    for n in ("0", "3"):
        assert log("--tail", n, of=empty) == []


def test_a_tail_that_is_followed_on_a_server_without_our_calls(shared_server, plain):
    """What comes in the millisecond of the last line that was printed is printed, once."""
    task = task_with_log(shared_server, "followed", ["one", "two", "three"])
    follower = plain("task", "log", task, "--tail", "1", "--follow")
    assert follower.stdout.readline() == "three\n"
    shared_server.batch("events.add_batch", [{"type": "log", "task": task, "msg": m, "timestamp": 1700000000002 + i // 2}
                                             for i, m in enumerate(("four", "five", "six"))])
    shared_server.call("tasks.completed", task=task)
    assert follower.communicate(timeout=GUARD)[0] == "four\nfive\nsix\n"


@pytest.mark.parametrize("words", [["--help"], ["task", "ls"], ["task", "show", "to a full disk"], ["task", "log", "to a full disk"],
                                   ["queue", "ls", "--json"]], ids=" ".join)
def test_output_that_cannot_be_written(shared_server, words):
    if not json.loads(shared_server.cli("task", "ls", "--name", "^to a full disk$", "--json").stdout):
        task_with_log(shared_server, "to a full disk", ["one"])
    with open("/dev/full", "w") as full:
        done = subprocess.run([STOKER, *words], stdout=full, stderr=subprocess.PIPE, text=True, env=shared_server.env())
    assert done.returncode == 1 and "No space left on device" in done.stderr


def test_a_follower_ends_with_its_reader(shared_server):
    """Also where SIGPIPE is ignored, as under some shells and services."""
    task = task_with_log(shared_server, "followed", ["one", "two"])
    r, w = os.pipe()
    p = subprocess.Popen([STOKER, "task", "log", "--follow", task], stdout=w, stderr=subprocess.PIPE, env=shared_server.env(),
                         preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN), restore_signals=False)
    os.close(w)
    assert os.read(r, 4096).startswith(b"one")
    os.close(r)
    shared_server.batch("events.add_batch", [{"type": "log", "task": task, "msg": "three", "timestamp": 1700000001000}])
    assert p.wait(GUARD) == 1


# -- run ---------------------------------------------------------------------------------------------------------------


def dry(folder, *words, **env):
    return stoker("run", "--dry-run", *words, cwd=folder, HOME=str(folder), **env)


def test_a_folder_whose_name_is_too_short_for_a_project(shared_server, tmp_path):
    folder = tmp_path / "ml"
    folder.mkdir()
    (folder / "one.py").write_text("print('one')\n")
    out = shared_server.cli("run", "--detach", "--json", "--", "python", "one.py", cwd=folder).stdout
    shown = json.loads(shared_server.cli("task", "show", json.loads(out.splitlines()[0])["id"], "--json").stdout)
    assert shown["project"]["name"] == "ml project"


def test_scripts_that_would_not_arrive(tmp_path):
    work = repository(tmp_path, {"train.py": "print('one')\n"})
    (work / "new.py").write_text("print('new')\n")
    (tmp_path / "outside.py").write_text("print('outside')\n")
    done = dry(work, "--", "python", "new.py")
    assert done.returncode == 1 and "new.py" in done.stderr and "--include new.py" in done.stderr
    done = dry(work, "--include", "new.py", "--", "python", "new.py")
    assert done.returncode == 0 and "print('new')" in done.stdout, done.stderr
    done = dry(work, "--", "python", "../outside.py")
    assert done.returncode == 1 and "../outside.py lies outside of the repository" in done.stderr
    assert dry(work, "--", "python", str(work / "train.py")).returncode == 0


def test_a_script_alone_leaves_its_folder_behind(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "one script.py").write_text("print('one')\n")
    for name in ("../one script.py", str(tmp_path / "one script.py")):
        done = dry(tmp_path / "here", "--", "python", name, "--lr", "0.1")
        assert json.loads(done.stdout)["script"]["entry_point"] == "'one script.py' --lr 0.1", done.stderr


def test_a_repository_that_git_cannot_read(tmp_path):
    """Without git the script must not travel alone, as if there were no repository."""
    work = repository(tmp_path, {"train.py": "print('one')\n"})
    empty = tmp_path / "empty"
    empty.mkdir()
    done = dry(work, "--", "python", "train.py", PATH=str(empty))
    assert done.returncode == 1 and "cannot be read" in done.stderr and "git" in done.stderr


@pytest.fixture
def queued_run(shared_server, tmp_path):
    """`stoker run` of a task that no agent takes, on a terminal's standard input: (process, task, terminal, its output)."""
    (tmp_path / "wait.py").write_text("print('never runs')\n")
    name = f"left {os.urandom(4).hex()}"
    terminal, theirs = pty.openpty()

    def start(stdin):
        p = subprocess.Popen([STOKER, "run", "--name", name, "--", "python", "wait.py"], cwd=tmp_path, env=shared_server.env(),
                             stdin=stdin if stdin is not None else theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        task = wait_for("the task", lambda: shared_server.call("tasks.get_all", name=f"^{name}$", status=["queued"])["tasks"])[0]["id"]
        words = collections.defaultdict(list)
        threads = [threading.Thread(target=lambda n=n: words[n].extend(iter(lambda: getattr(p, n).read(1), "")), daemon=True)
                   for n in ("stdout", "stderr")]
        for t in threads:
            t.start()
        started.append((p, threads))
        return p, task, words

    started = []
    start.terminal = terminal
    yield start
    for p, threads in started:
        if p.poll() is None:
            p.kill()
            p.wait()
        for t in threads:
            t.join()
    os.close(terminal)
    os.close(theirs)


def catches_interrupts(p):
    """The mask of caught signals has SIGINT."""
    status = pathlib.Path(f"/proc/{p.pid}/status").read_text()
    return int(status.split("SigCgt:")[1].split()[0], 16) >> (signal.SIGINT - 1) & 1


def test_ctrl_c_without_a_terminal_is_no_success(shared_server, queued_run):
    p, task, words = queued_run(subprocess.DEVNULL)
    wait_for("run to follow", lambda: catches_interrupts(p))
    p.send_signal(signal.SIGINT)
    assert p.wait(GUARD) == 130, "0 would let a script go on as if the training had ended"
    wait_for("its words", lambda: f"task log --follow {task}" in "".join(words["stderr"]))
    assert shared_server.call("tasks.get_by_id", task=task)["task"]["status"] == "queued"


def test_ctrl_c_and_abort_prints_each_line_once(shared_server, queued_run):
    p, task, words = queued_run(None)
    shared_server.call("tasks.dequeue", task=task)
    shared_server.call("tasks.started", task=task)
    shared_server.batch("events.add_batch", [{"type": "log", "task": task, "msg": "said once", "timestamp": 1700000000000}])
    wait_for("the line", lambda: "said once" in "".join(words["stdout"]))
    p.send_signal(signal.SIGINT)
    wait_for("the question", lambda: "[a]bort" in "".join(words["stderr"]))
    os.write(queued_run.terminal, b"a\n")
    wait_for("the abort", lambda: shared_server.call("tasks.get_by_id", task=task)["task"].get("status_message") == "stoker run: Ctrl-C"
             or shared_server.call("tasks.get_by_id", task=task)["task"]["status"] == "stopped")
    if shared_server.call("tasks.get_by_id", task=task)["task"]["status"] != "stopped":
        shared_server.call("tasks.stopped", task=task)
    assert p.wait(GUARD) != 0
    wait_for("the status", lambda: "aborted" in "".join(words["stderr"]))
    assert "".join(words["stdout"]).count("said once") == 1


# -- agents ------------------------------------------------------------------------------------------------------------


def test_each_verb_is_listed_once():
    for words in ([], ["agent"], ["task"]):
        verbs = [line.split()[0] for line in stoker(*words, "--help").stdout.splitlines() if line.startswith("  ")]
        assert verbs and len(verbs) == len(set(verbs)), verbs


@pytest.fixture
def user(shared_server, tmp_path):
    """Environments of users with a home and a state folder each; their agents end with the test."""
    made = []

    def make(name):
        (tmp_path / name).mkdir()
        made.append({**shared_server.env(), "HOME": str(tmp_path / name), "STOKER_STATE": str(tmp_path / name / "state")})
        return made[-1]

    yield make
    for env in made:
        def gone():
            subprocess.run([STOKER, "agent", "stop", "--all"], env=env, capture_output=True, timeout=GUARD)
            shown = subprocess.run([STOKER, "agent", "status", "--json"], env=env, capture_output=True, text=True, timeout=GUARD)
            return not json.loads(shown.stdout)["daemons"]

        wait_for("the agents to end", gone)


def test_an_agent_in_the_background_is_there_when_its_start_returns(user):
    env = user("a")
    for _ in range(5):
        for words, said in ((["agent", "daemon", "--detached", "--queue", "default"], "output goes to"),
                            (["agent", "status"], "running"), (["agent", "stop"], "has stopped")):
            done = subprocess.run([STOKER, *words], env=env, capture_output=True, text=True, timeout=GUARD)
            assert done.returncode == 0 and said in done.stdout, (words, done.stdout, done.stderr)


def test_two_users_of_a_machine_are_two_workers(shared_server, user):
    """Each has a state folder of his own; for the server one id would be one worker, gone when the first of them stops."""
    users = [user("a"), user("b")]
    before = {w["id"] for w in shared_server.call("workers.get_all")["workers"]}

    def each(words, said):
        for env in users:
            done = subprocess.run([STOKER, *words], env=env, capture_output=True, text=True, timeout=GUARD)
            assert done.returncode == 0 and said in done.stdout, (words, done.stdout, done.stderr)

    each(["agent", "daemon", "--detached", "--queue", "default"], "output goes to")
    assert len({w["id"] for w in shared_server.call("workers.get_all")["workers"]} - before) == 2
    each(["agent", "stop"], "has stopped")


# -- help --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked, like", [
    ("help", "--help"), ("help task", "task --help"), ("help task ls", "task ls --help"), ("task help", "task --help"),
    ("task help ls", "task ls --help"), ("agent help daemon", "agent daemon --help"), ("help agent stop", "agent stop --help"),
    ("help run", "run --help"), ("version", "--version")])
def test_help_wherever_it_is_asked_for(asked, like):
    one, other = stoker(*asked.split()), stoker(*like.split())
    assert (one.returncode, one.stdout) == (0, other.stdout) and one.stdout


@pytest.mark.parametrize("words, said", [
    ("tsk", "stoker: no such command 'tsk'; did you mean 'task'?\nTry 'stoker --help'.\n"),
    ("worker xyz", "stoker worker: no such command 'xyz'\nTry 'stoker worker --help'.\n"),
    ("task ls --wholly", "stoker task ls: unknown option --wholly\nTry 'stoker task ls --help'.\n"),
    ("task ls x", "stoker task ls: 'x' is one word too many\nTry 'stoker task ls --help'.\n")])
def test_wrong_words_say_where_the_right_ones_are(words, said):
    done = stoker(*words.split())
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_execute_by_hand_speaks_to_a_person(shared_server, tmp_path):
    done = stoker("execute", "--id", "x", HOME=str(tmp_path))
    assert done.returncode == 1 and done.stderr.startswith("stoker execute: no server is configured: there is no ")
    done = shared_server.cli("execute", "--id", "nosuch", check=False)
    assert (done.returncode, done.stderr) == (1, "stoker execute: claim: no task has the id or name 'nosuch'\n")


# -- GPUs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["up", "--data", "{folder}/data"], ["execute", "--id", "t"]], ids=lambda w: w[0])
def test_gpus_that_are_not_there(tmp_path, words):
    """Before anything is started: the driver says what there is. (The agent's own: tests/agent.)"""
    words = [w.format(folder=tmp_path) for w in words]
    driver = {"HOME": str(tmp_path), "STOKER_NVML": str(pathlib.Path(STOKER).resolve().parent / "src/io/libnvml_fake.so")}
    done = stoker(*words, "--gpus", "1,7", **driver)
    assert done.returncode == 1 and "--gpus: no GPU 7 here: there are 3: 0 (Fake)," in done.stderr, done.stderr
    done = stoker(*words, "--gpus", "two", **driver)
    assert done.returncode == 2 and "--gpus: 'two' is no GPU: give all, none" in done.stderr, done.stderr
    assert not (tmp_path / "data").exists()
