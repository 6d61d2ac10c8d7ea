"""The command line as a person and a script use it: task, queue, worker, project verbs, run, help and errors."""
import json
import subprocess

import pytest

from conftest import STOKER, clean_env


def make_task(server, name, project="CLI", **extra):
    found = [p["id"] for p in server.call("projects.get_all", name=f"^{project}$", only_fields=["id"])["projects"]]
    project_id = found[0] if found else server.call("projects.create", name=project, description="")["id"]
    return server.call("tasks.create", name=name, type="training", project=project_id, **extra)["id"]


def repository(folder, files):
    work, remote = folder / "work", folder / "remote.git"
    work.mkdir()
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost"]
    for name, content in files.items():
        (work / name).write_text(content)
    subprocess.check_call([*git, "init", "-q", "--bare", "-b", "main", remote])
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"],
                  ["remote", "add", "origin", str(remote)], ["push", "-q", "-u", "origin", "main"]):
        subprocess.check_call([*git, *words], cwd=work)
    return work


def test_help_of_every_verb():
    for words in (["--help"], ["up", "--help"], ["server", "--help"], ["run", "--help"], ["execute", "--help"],
                  ["agent", "--help"], ["agent", "daemon", "--help"], ["task", "--help"], ["task", "ls", "--help"],
                  ["task", "clone", "--help"], ["task", "log", "--help"], ["queue", "--help"], ["worker", "--help"],
                  ["project", "--help"], ["init", "--help"]):
        done = subprocess.run([STOKER, *words], capture_output=True, text=True, env=clean_env())
        assert done.returncode == 0, (words, done.stderr)
        assert "Usage: stoker" in done.stdout, (words, done.stdout)


def test_containers_are_refused():
    daemon = [STOKER, "agent", "daemon"]
    done = subprocess.run([*daemon, "--docker", "python:3.11"], capture_output=True, text=True, env=clean_env())
    assert done.returncode == 1 and "--docker: this version runs tasks in environments of this machine only" in done.stderr
    assert "--docker" not in subprocess.run([*daemon, "--help"], capture_output=True, text=True, check=True).stdout


def test_unknown_words():
    done = subprocess.run([STOKER, "tsak"], capture_output=True, text=True, env=clean_env())
    assert done.returncode == 2 and "task" in done.stderr
    done = subprocess.run([STOKER, "task", "ls", "--jsno"], capture_output=True, text=True, env=clean_env())
    assert done.returncode == 2 and "--json" in done.stderr


def test_no_configuration(tmp_path):
    """The error a newcomer meets first: it names the file and what to do."""
    done = subprocess.run([STOKER, "task", "ls"], capture_output=True, text=True, env=clean_env(HOME=str(tmp_path)))
    assert done.returncode == 1
    assert "clearml.conf" in done.stderr and "stoker init" in done.stderr


def test_server_is_not_there(tmp_path):
    (tmp_path / "clearml.conf").write_text(
        'api { api_server: "http://127.0.0.1:9", web_server: "http://127.0.0.1:9", files_server: "http://127.0.0.1:9"\n'
        'credentials { access_key: "a", secret_key: "VERYSECRET" } }')
    done = subprocess.run([STOKER, "task", "ls"], capture_output=True, text=True,
                          env=clean_env(HOME=str(tmp_path), CLEARML_CONFIG_FILE=str(tmp_path / "clearml.conf")))
    assert done.returncode == 1 and "127.0.0.1:9" in done.stderr and "VERYSECRET" not in done.stderr


def test_task_ls_show_clone(shared_server):
    server = shared_server
    task = make_task(server, "cli list", hyperparams={"Args": {"lr": {"section": "Args", "name": "lr", "value": "0.1"}}})
    make_task(server, "cli other")
    rows = json.loads(server.cli("task", "ls", "--project", "CLI", "--name", "^cli list$", "--json").stdout)
    assert [r["id"] for r in rows] == [task]
    text = server.cli("task", "ls", "--project", "CLI").stdout
    assert "cli list" in text and "draft" in text and task[:8] in text
    shown = json.loads(server.cli("task", "show", task[:10], "--json").stdout)
    assert shown["name"] == "cli list" and shown["project"]["name"] == "CLI"
    assert "Args/lr" in server.cli("task", "show", "cli list").stdout
    clone = json.loads(server.cli("task", "clone", task, "--set", "Args/lr=0.7", "--name", "cli clone", "--json").stdout)
    doc = server.call("tasks.get_by_id", task=clone["id"])["task"]
    assert doc["hyperparams"]["Args"]["lr"]["value"] == "0.7" and doc["parent"] == task and doc["status"] == "created"
    done = server.cli("task", "clone", task, "--set", "Args/lrr=1", check=False)
    assert done.returncode == 1 and "Args/lr" in done.stderr
    assert not json.loads(server.cli("task", "ls", "--name", "lrr", "--json").stdout)
    done = server.cli("task", "show", "no such task", check=False)
    assert done.returncode == 1 and "no such task" in done.stderr


@pytest.mark.parametrize("recorded, value, stored", [
    ({"value": "", "description": "d"}, "[600, 500]", "list"),  # recorded as null: the value decides
    ({"value": "", "type": "NoneType"}, "[600, 500]", "list"),
    ({"value": ""}, "(1, 2)", "tuple"), ({"value": ""}, "{'a': 1}", "dict"), ({"value": ""}, "-600", "int"),
    ({"value": ""}, "1e-4", "float"), ({"value": ""}, "False", "bool"), ({"value": ""}, "0x10", "str"),
    ({"value": ""}, "None", None), ({"value": ""}, "", None), ({"value": ""}, "resnet 50", "str"),
    ({"value": "[1, 2]", "type": "list/int", "description": "sizes"}, "[600, 500]", "list/int"),  # what was recorded stays
    ({"value": "True", "type": "bool"}, "False", "bool"), ({"value": "", "type": "str"}, "[600, 500]", "str"),
    ({"value": "0.1"}, "0.2", None)])  # a client that records no types
def test_cloned_parameters_keep_their_types(shared_server, recorded, value, stored):
    server = shared_server
    param = {"section": "General", "name": "size", **recorded}
    task = make_task(server, "typed", hyperparams={"General": {"size": param}})
    clone = json.loads(server.cli("task", "clone", task, "--set", f"General/size={value}", "--json").stdout)
    found = server.call("tasks.get_by_id", task=clone["id"])["task"]["hyperparams"]["General"]["size"]
    assert found == {**param, "value": value, **({"type": stored} if stored else {})}


def test_new_parameters_have_the_type_of_their_value(shared_server):
    task = make_task(shared_server, "to be extended")
    words = ["--set", "General/sizes=[1, 2]", "--set", "General/name=x", "--new", "--json"]
    clone = json.loads(shared_server.cli("task", "clone", task, *words).stdout)["id"]
    found = shared_server.call("tasks.get_by_id", task=clone)["task"]["hyperparams"]["General"]
    assert {n: (p["value"], p["type"]) for n, p in found.items()} == {"sizes": ("[1, 2]", "list"), "name": ("x", "str")}


def test_a_name_that_means_two_tasks(shared_server):
    a, b = make_task(shared_server, "cli twice"), make_task(shared_server, "cli twice")
    done = shared_server.cli("task", "show", "cli twice", check=False)
    assert done.returncode == 1 and a in done.stderr and b in done.stderr


def test_queue_and_enqueue(shared_server):
    server = shared_server
    task = make_task(server, "cli queued", script={"repository": "", "entry_point": "x.py", "diff": "print(1)\n"})
    queue = json.loads(server.cli("queue", "create", "cli queue", "--json").stdout)["id"]
    assert server.cli("queue", "create", "cli queue", check=False).returncode == 1
    server.cli("task", "enqueue", task, "--queue", "cli queue")
    assert server.call("tasks.get_by_id", task=task)["task"]["status"] == "queued"
    listed = next(q for q in json.loads(server.cli("queue", "ls", "--json").stdout) if q["id"] == queue)
    assert [e["task"]["id"] for e in listed["entries"]] == [task]
    assert "cli queued" in server.cli("queue", "ls").stdout
    server.cli("task", "dequeue", task)
    assert server.call("tasks.get_by_id", task=task)["task"]["status"] == "created"
    server.cli("task", "archive", task)
    assert task not in server.cli("task", "ls", "--json").stdout
    assert task in server.cli("task", "ls", "--archived", "--json").stdout
    server.cli("task", "delete", task, "--force")
    assert server.fails("tasks.get_by_id", task=task) == (400, 101)


def test_log_of_a_finished_task(shared_server):
    server = shared_server
    task = make_task(server, "cli log")
    server.call("tasks.started", task=task)
    lines = [f"line {i}" for i in range(1200)]
    server.batch("events.add_batch", [{"type": "log", "task": task, "msg": line, "level": "info",
                                       "timestamp": 1700000000000 + i // 7} for i, line in enumerate(lines)])
    server.call("tasks.completed", task=task)
    assert server.cli("task", "log", task).stdout.splitlines() == lines
    assert server.cli("task", "log", task, "--follow").stdout.splitlines() == lines
    assert server.cli("task", "log", task, "--tail", "5").stdout.splitlines() == lines[-5:]


def test_worker_and_project_lists(shared_server):
    make_task(shared_server, "cli listed")
    assert "CLI" in shared_server.cli("project", "ls").stdout
    shared_server.call("workers.register", worker="cli:worker", queues=[], timeout=60)
    assert "cli:worker" in shared_server.cli("worker", "ls").stdout


def test_run_packs_the_folder(shared_server, tmp_path, monkeypatch):
    """What travels: the pushed commit, changes after it (committed or not), named untracked files, requirements."""
    server = shared_server
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # in the machine's own others may be at work
    work = repository(tmp_path, {"train.py": "print('one')\n", "requirements.txt": "six==1.17.0\n"})
    pushed = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=work, text=True).strip()
    (work / "train.py").write_text("print('two')\n")
    subprocess.check_call(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qam", "local"], cwd=work)
    (work / "train.py").write_text("print('three')\n")
    (work / "extra.txt").write_text("untracked, taken\n")
    (work / "other.txt").write_text("untracked, left\n")
    index = (work / ".git/index").read_bytes()
    out = server.cli("run", "--detach", "--json", "--queue", "default", "--include", "extra.txt", "--", "python",
                     "train.py", "--lr", "0.1", "a b", cwd=work).stdout
    task = server.call("tasks.get_by_id", task=json.loads(out.splitlines()[0])["id"])["task"]
    script = task["script"]
    assert script["version_num"] == pushed and script["repository"] == str(tmp_path / "remote.git")
    assert "+print('three')" in script["diff"] and "untracked, taken" in script["diff"]
    assert "untracked, left" not in script["diff"] and "print('two')" not in script["diff"]
    assert script["entry_point"] == "train.py --lr 0.1 'a b'" and script["requirements"]["pip"] == "six==1.17.0\n"
    assert task["status"] == "queued" and (work / ".git/index").read_bytes() == index
    assert not list(tmp_path.glob("stoker-index-*"))


@pytest.mark.parametrize("name,content,word", [
    (".env", "KEY=1\n", ".env"), ("server.pem", "x\n", "server.pem"),
    ("notes.py", "token = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'\n", "notes.py"),
    ("big.txt", "0123456789abcde\n" * 70000, "1 MB")], ids=lambda v: v if len(v) < 20 else "content")
def test_run_refuses_secrets_and_size(tmp_path, name, content, word):
    work = repository(tmp_path, {"train.py": "print('one')\n"})
    (work / name).write_text(content)
    done = subprocess.run([STOKER, "run", "--dry-run", "--include", name, "--", "python", "train.py"], cwd=work,
                          capture_output=True, text=True, env=clean_env(HOME=str(tmp_path)))
    assert done.returncode == 1 and word in done.stderr and "--allow" in done.stderr
    assert "ghp_" not in done.stderr
    allow = "size" if name == "big.txt" else name
    done = subprocess.run([STOKER, "run", "--dry-run", "--allow", allow, "--include", name, "--", "python", "train.py"],
                          cwd=work, capture_output=True, text=True, env=clean_env(HOME=str(tmp_path)))
    assert done.returncode == 0, done.stderr


TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.mark.parametrize("files, words, allow", [
    ({'odd "name"/.env': "KEY=1\n"}, ["--include", 'odd "name"/.env'], None),
    ({'odd\tname.txt': f"x = '{TOKEN}'\n"}, ["--include", "odd\tname.txt"], "secrets"),
    ({"requirements.txt": f"numpy\n--index-url https://x/{TOKEN}/simple\n"}, [], "requirements.txt"),
    ({"req.in": f"git+https://{TOKEN}@github.com/a/b"}, ["--requirements", "req.in"], "req.in")], ids=lambda v: "")
def test_run_refuses_secrets_wherever_they_travel(tmp_path, files, words, allow):
    """In files whose names git quotes, and in the list of requirements, which is no part of the diff."""
    work = repository(tmp_path, {"train.py": "print('one')\n"})
    for name, text in files.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text)
    run = lambda *more: subprocess.run([STOKER, "run", "--dry-run", *more, *words, "--", "python", "train.py"], cwd=work,
                                       capture_output=True, text=True, env=clean_env(HOME=str(tmp_path)))
    done = run()
    assert done.returncode == 1 and "--allow" in done.stderr and TOKEN not in done.stderr
    if allow:
        assert run("--allow", allow).returncode == 0


def test_a_script_that_travels_alone_holds_no_token(tmp_path):
    (tmp_path / "alone.py").write_text(f"print('one')\nkey = '{TOKEN}'\n")
    run = lambda *more: subprocess.run([STOKER, "run", "--dry-run", *more, "--", "python", "alone.py"], cwd=tmp_path,
                                       capture_output=True, text=True, env=clean_env(HOME=str(tmp_path)))
    done = run()
    assert done.returncode == 1 and "--allow alone.py" in done.stderr and TOKEN not in done.stderr
    assert run("--allow", "alone.py").returncode == 0


def test_run_without_a_remote_or_a_script(tmp_path):
    env = clean_env(HOME=str(tmp_path))
    done = subprocess.run([STOKER, "run", "--dry-run", "--", "python", "absent.py"], cwd=tmp_path, capture_output=True,
                          text=True, env=env)
    assert done.returncode == 1 and "absent.py" in done.stderr
    (tmp_path / "one.py").write_text("print('alone')\n")
    done = subprocess.run([STOKER, "run", "--dry-run", "--", "python", "one.py"], cwd=tmp_path, capture_output=True,
                          text=True, env=env)
    assert done.returncode == 0 and json.loads(done.stdout)["script"]["diff"] == "print('alone')\n"
    for name in ("requirements.txt", "one.py"):
        (tmp_path / name).write_bytes(b"# gr\xfcn\n")
        done = subprocess.run([STOKER, "run", "--dry-run", "--", "python", "one.py"], cwd=tmp_path, capture_output=True,
                              text=True, env=env)
        assert done.returncode == 1 and f"{name}: not UTF-8" in done.stderr
    subprocess.check_call(["git", "init", "-q"], cwd=tmp_path)
    done = subprocess.run([STOKER, "run", "--dry-run", "--", "python", "one.py"], cwd=tmp_path, capture_output=True,
                          text=True, env=env)
    assert done.returncode == 1 and "remote" in done.stderr
