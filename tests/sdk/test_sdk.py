"""The unmodified `clearml` 2.1.12 against our server: what it reports is there, what it asks for comes back."""
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy
import PIL.Image
import pytest

from conftest import GUARD, STOKER, wait_for

HERE = pathlib.Path(__file__).resolve().parent


def run_script(server, script, *words, cwd, env=None, code=0):
    done = subprocess.run([sys.executable, script, *words], cwd=cwd, env=env or server.env(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"{script}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A git repository with a remote, holding the script."""
    folder = tmp_path_factory.mktemp("project")
    work, remote = folder / "work", folder / "remote.git"
    work.mkdir()
    shutil.copy(HERE / "full_run.py", work)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.check_call([*git, "init", "-q", "--bare", "-b", "main", remote])
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"],
                  ["remote", "add", "origin", str(remote)], ["push", "-q", "-u", "origin", "main"]):
        subprocess.check_call([*git, *words], cwd=work)
    (work / "full_run.py").write_text((work / "full_run.py").read_text() + "# changed after the commit\n")
    return work


@pytest.fixture(scope="module")
def first(shared_server, project):
    """(task document, its id) of one run of the script."""
    out = run_script(shared_server, "full_run.py", "--lr", "0.25", cwd=project)
    task_id = re.search(r"TASK ([0-9a-f]{32})", out)[1]
    return shared_server.call("tasks.get_by_id", task=task_id)["task"]


def test_task_document(shared_server, first, project):
    assert first["status"] == "completed"
    assert first["name"] == "one of everything"
    assert first["tags"] == ["first"]
    script = first["script"]
    assert script["repository"] == str(project.parent / "remote.git")
    assert script["entry_point"] == "full_run.py"
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=project, text=True).strip()
    assert script["version_num"] == head
    assert "+# changed after the commit" in script["diff"]
    assert "clearml" in script["requirements"]["pip"]
    project_doc = shared_server.call("projects.get_by_id", project=first["project"])["project"]
    assert project_doc["name"] == "SDK/all"


def test_reports_of_the_second_process(shared_server, tmp_path):
    """As the SDK reports unless told otherwise: from a forked process. Without a git there is nothing it could hold up."""
    (tmp_path / "two.py").write_text(
        "from clearml import Task\n"
        "t = Task.init(project_name='SDK/all', task_name='two processes', auto_resource_monitoring=False)\n"
        "for i in range(20): t.get_logger().report_scalar('loss', 'train', 1 / (i + 1), i)\n"
        "print('TASK', t.id, flush=True)\n")
    conf = shared_server.config(tmp_path / "clearml.conf", second_process=True)
    (tmp_path / "bin").mkdir()
    out = run_script(shared_server, "two.py", cwd=tmp_path, env={**shared_server.env(), "CLEARML_CONFIG_FILE": str(conf),
                                                                 "PATH": str(tmp_path / "bin")})
    task = re.search(r"TASK (\w{32})", out)[1]
    curve = shared_server.call("events.scalar_metrics_iter_histogram", task=task)["loss"]["train"]
    assert (curve["x"], curve["y"]) == (list(range(20)), [1 / (i + 1) for i in range(20)])
    assert shared_server.call("tasks.get_by_id", task=task)["task"]["status"] == "completed"
    console = shared_server.call("events.get_task_log", task=task, batch_size=1000)["events"]
    assert sum(f"TASK {task}" in e["msg"] for e in console) == 1


def test_parameters(first):
    params = first["hyperparams"]
    assert params["Args"]["lr"]["value"] == "0.25"
    assert params["Args"]["flag"]["value"] == "False"
    assert params["Own"]["batch"]["value"] == "32"
    assert params["Own"]["text"]["value"] == "ü – 漢字"
    assert params["Own"]["nested/deep"]["value"] == "[1, 2]"
    assert first["configuration"]["network"]["value"] == 'layers = [3, 5]\nact = "relu"'


def test_scalars(shared_server, first):
    curves = shared_server.call("events.scalar_metrics_iter_histogram", task=first["id"])
    assert curves["loss"]["train"]["x"] == list(range(50))
    assert curves["loss"]["train"]["y"] == [1.0 / (i + 1) for i in range(50)]
    assert curves["loss"]["test"]["y"] == [1.5 / (i + 1) for i in range(50)]
    last = {(v["metric"], v["variant"]): v for m in first["last_metrics"].values() for v in m.values()}
    assert last["loss", "train"]["value"] == 1.0 / 50
    assert last["loss", "train"]["min_value"] == 1.0 / 50
    assert last["loss", "train"]["max_value"] == 1.0
    assert last["loss", "train"]["max_value_iteration"] == 0
    assert last["loss", "train"]["count"] == 50
    single = shared_server.call("events.get_task_single_value_metrics", tasks=[first["id"]])
    assert [(v["metric"], v["variant"], v["value"]) for v in single["tasks"][0]["values"]] == [("Summary", "best", 0.125)]


def test_console(shared_server, first):
    events = shared_server.call("events.get_task_log", task=first["id"], batch_size=1000, order="asc")["events"]
    text = "".join(e["msg"] + "\n" for e in events)
    for line in ("a line of text", "printed to stdout, lr = 0.25", "printed to stderr"):
        assert text.count(line) == 1, f"{line!r} must be there once:\n{text}"


def test_plots_and_images(shared_server, first):
    plots = shared_server.call("events.get_task_plots", task=first["id"], iters=1)["plots"]
    assert {(p["metric"], p["variant"]) for p in plots} == {("confusion", "test"), ("curve", ""), ("table", "t")}
    matrix = next(json.loads(p["plot_str"]) for p in plots if p["metric"] == "confusion")
    assert matrix["data"][0]["z"] == [[5, 1], [2, 7]]
    images = shared_server.call("events.debug_images", metrics=[{"task": first["id"], "metric": "image"}], iters=1)
    event = images["metrics"][0]["iterations"][0]["events"][0]
    assert event["variant"] == "noise"
    status, headers, body = shared_server.raw(event["url"][len(shared_server.files):], None, shared_server.auth(),
                                              "GET", base=shared_server.files)
    assert status == 200
    pixels = numpy.asarray(PIL.Image.open(io.BytesIO(body)).convert("RGB"), int)
    sent = (numpy.arange(48 * 48 * 3) % 255).reshape(48, 48, 3)
    assert pixels.shape == sent.shape and abs(pixels - sent).mean() < 4  # the SDK sends a JPEG


def test_artifacts_come_back_equal(shared_server, first, tmp_path):
    out = run_script(shared_server, "-c", f"""
import numpy
from clearml import Task
t = Task.get_task(task_id={first['id']!r})
assert numpy.array_equal(t.artifacts["numbers"].get(), numpy.arange(10))
assert t.artifacts["words"].get() == {{"a": 1, "b": ["x", "ü"]}}
m = t.models["output"][0]
assert m.name == "the model", m.name
assert open(m.get_local_copy(), "rb").read() == bytes(range(256)) * 64
assert m.get_all_metadata()["quality"]["value"] == "good"
assert t.get_parameters()["Own/batch"] == "32"
assert t.get_reported_scalars()["loss"]["train"]["y"][0] == 1.0
assert t.get_last_iteration() == 49, t.get_last_iteration()
print("ALL EQUAL")
""", cwd=tmp_path)
    assert "ALL EQUAL" in out


def test_clone_with_overrides_is_used(shared_server, first, project, tmp_path):
    """What an agent does by hand: the clone's parameters win over the command line's defaults."""
    clone = shared_server.call("tasks.clone", task=first["id"], new_task_name="clone")["id"]
    shared_server.call("tasks.edit_hyper_params", task=clone, hyperparams=[
        {"section": "Args", "name": "lr", "value": "0.75"}, {"section": "Own", "name": "batch", "value": "64"}])
    shared_server.call("tasks.enqueue", task=clone, queue_name="sdk test")
    assert shared_server.call("tasks.get_by_id", task=clone)["task"]["status"] == "queued"
    shared_server.call("tasks.started", task=clone, force=True)
    env = shared_server.env(CLEARML_TASK_ID=clone, TRAINS_TASK_ID=clone, CLEARML_LOG_TASK_TO_BACKEND="1")
    out = run_script(shared_server, "full_run.py", cwd=project, env=env)
    assert f"TASK {clone} LR 0.75 BATCH 64 LAYERS [3, 5] relu" in out
    doc = shared_server.call("tasks.get_by_id", task=clone)["task"]
    assert doc["parent"] == first["id"]
    assert doc["hyperparams"]["Args"]["lr"]["value"] == "0.75"


def test_clone_by_the_sdk_is_run_by_our_agent(shared_server, first, tmp_path):
    """All of it through the SDK: clone, other parameters, another configuration, enqueue. The agent's run uses each of them,
    and what was not changed is as it was."""
    shared_server.call("queues.create", name="agent's")
    out = run_script(shared_server, "-c", f"""
from clearml import Task
t = Task.clone(source_task={first['id']!r}, name="by the SDK")
t.set_parameter("Args/lr", 0.5)
t.set_parameter("Own/batch", 128)
t.set_configuration_object("network", config_text="layers = [7]\\nact = gelu")
assert Task.get_task(task_id=t.id).get_parameters()["Own/text"] == "ü – 漢字"
Task.enqueue(t, queue_name="agent's")
assert Task.get_task(task_id=t.id).get_status() == "queued"
print("CLONE", t.id)
""", cwd=tmp_path)
    clone = re.search(r"CLONE (\w{32})", out)[1]
    env = shared_server.env(CLEARML_AGENT_SKIP_PYTHON_ENV_INSTALL="1", STOKER_STATE=str(tmp_path / "state"),
                            STOKER_CACHE=str(tmp_path / "cache"), PATH=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")

    def ended():
        task = shared_server.call("tasks.get_by_id", task=clone)["task"]
        return task["status"] in ("completed", "failed", "stopped") and task
    log = tmp_path / "agent.log"
    with open(log, "wb") as to:
        agent = subprocess.Popen([STOKER, "agent", "daemon", "--foreground", "--cpu-only", "--queue", "agent's"],
                                 env=env, stdin=subprocess.DEVNULL, stdout=to, stderr=to)
    try:
        task = wait_for("the clone to end", ended, guard=3 * GUARD)
    finally:
        agent.terminate()
        agent.wait(GUARD)
    events = shared_server.call("events.get_task_log", task=clone, batch_size=1000, order="asc")["events"]
    text = "".join(e["msg"] + "\n" for e in events)
    assert task["status"] == "completed", text + log.read_text()
    assert f"TASK {clone} LR 0.5 BATCH 128 LAYERS [7] gelu" in text
    assert task["parent"] == first["id"] and task["hyperparams"]["Own"]["text"]["value"] == "ü – 漢字"
    assert {(p["metric"], p["variant"]) for p in shared_server.call("events.get_task_plots", task=clone, iters=1)["plots"]} == {
        ("confusion", "test"), ("curve", ""), ("table", "t")}


def test_queries(shared_server, first, tmp_path):
    out = run_script(shared_server, "-c", f"""
from clearml import Task
names = [t.name for t in Task.get_tasks(project_name="SDK/all", task_name="one of everything")]
assert names == ["one of everything"], names
assert {first['id']!r} in Task.query_tasks(project_name="SDK/all", tags=["first"])
assert Task.query_tasks(project_name="SDK/all", tags=["no such tag"]) == []
assert Task.get_tasks(project_name="SDK/all", task_name="no such name") == []
t = Task.get_task(project_name="SDK/all", task_name="one of everything")
assert t.id == {first['id']!r}
t.add_tags(["second"])
t.reload()
assert set(t.get_tags()) == {{"first", "second"}}, t.get_tags()
t.publish()
assert t.get_status() == "published"
print("QUERIES DONE")
""", cwd=tmp_path)
    assert "QUERIES DONE" in out


def test_failure_is_recorded(shared_server, tmp_path):
    (tmp_path / "fails.py").write_text(
        "from clearml import Task\n"
        "t = Task.init(project_name='SDK/all', task_name='fails', auto_connect_frameworks=False)\n"
        "print('ID', t.id, flush=True)\nraise RuntimeError('as it must')\n")
    out = run_script(shared_server, "fails.py", cwd=tmp_path, code=1)
    task_id = re.search(r"ID ([0-9a-f]{32})", out)[1]
    assert shared_server.call("tasks.get_by_id", task=task_id)["task"]["status"] == "failed"


@pytest.mark.skipif(not os.environ.get("STOKER_TRAINS_ENV"), reason="trains 0.16.4 needs Python 3.8 or 3.9; none was found")
def test_trains_of_2021(shared_server, tmp_path):
    (tmp_path / "old.py").write_text(
        "from trains import Task\n"
        "t = Task.init(project_name='SDK/old', task_name='trains', auto_connect_frameworks=False)\n"
        "p = t.connect({'alpha': 0.5})\n"
        "for i in range(20):\n    t.get_logger().report_scalar('loss', 'train', 1.0 / (i + 1), i)\n"
        "print('hello from trains')\nprint('ID', t.id, flush=True)\nt.close()\n")
    env = shared_server.env(TRAINS_CONFIG_FILE=str(shared_server.config()))
    done = subprocess.run([os.path.join(os.environ["STOKER_TRAINS_ENV"], "bin", "python"), "old.py"], cwd=tmp_path,
                          env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    task_id = re.search(r"ID ([0-9a-f]{32})", done.stdout)[1]
    task = shared_server.call("tasks.get_by_id", task=task_id)["task"]
    assert task["status"] == "completed"
    assert task["hyperparams"]["General"]["alpha"]["value"] == "0.5"
    curves = shared_server.call("events.scalar_metrics_iter_histogram", task=task_id)
    assert curves["loss"]["train"]["y"] == [1.0 / (i + 1) for i in range(20)]
    old_shape = shared_server.call("tasks.get_by_id", _version="2.8", task=task_id)["task"]
    assert old_shape["status"] == "completed"


def test_module_and_changes_run_again(shared_server, tmp_path):
    """A module with an argument, staged and unstaged edits of one file, two new staged files: our agent's run of a clone has
    all of it, and the clone's argument wins over the recorded words."""
    work = tmp_path / "work"
    (work / "part1" / "part2").mkdir(parents=True)
    (work / "both.txt").write_text("".join(f"{i}\n" for i in range(40)))
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.check_call([*git, "init", "-q", "--bare", "-b", "main", tmp_path / "remote.git"])
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"],
                  ["remote", "add", "origin", str(tmp_path / "remote.git")], ["push", "-q", "-u", "origin", "main"]):
        subprocess.check_call([*git, *words], cwd=work)
    (work / "part1/part2/part3.py").write_text(
        "import argparse, hashlib\nfrom clearml import Task\nfrom part1.part2 import second\n"
        "t = Task.init(project_name='SDK/all', task_name='module', auto_connect_frameworks=False, auto_resource_monitoring=False)\n"
        "p = argparse.ArgumentParser(); p.add_argument('word'); a = p.parse_args()\n"
        "while not t.data.script.diff: t.reload()  # found out in the background\n"
        "print('TASK', t.id, 'GOT', a.word, second.x, *(hashlib.md5(open(f, 'rb').read()).hexdigest() for f in\n"
        "      ('both.txt', 'part1/part2/part3.py', 'part1/part2/second.py')), flush=True)\n")
    (work / "part1/part2/second.py").write_text("x = 'second'\n")
    (work / "both.txt").write_text((work / "both.txt").read_text().replace("5\n", "five\n", 1))
    subprocess.check_call([*git, "add", "-A"], cwd=work)
    (work / "both.txt").write_text((work / "both.txt").read_text().replace("35\n", "later\n", 1))
    here = re.search(r"TASK (\w{32}) GOT arg A (second .*)", run_script(shared_server, "-m", "part1.part2.part3", "arg A", cwd=work))
    first = shared_server.call("tasks.get_by_id", task=here[1])["task"]
    assert first["script"]["entry_point"].split()[:2] == ["-m", "part1.part2.part3"]
    assert first["hyperparams"]["Args"]["word"]["value"] == "arg A"
    clone = shared_server.call("tasks.clone", task=here[1])["id"]
    shared_server.call("tasks.edit_hyper_params", task=clone, hyperparams=[{"section": "Args", "name": "word", "value": "arg B"}])
    env = shared_server.env(CLEARML_AGENT_SKIP_PYTHON_ENV_INSTALL="1", STOKER_STATE=str(tmp_path / "state"),
                            STOKER_CACHE=str(tmp_path / "cache"), PATH=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
    done = subprocess.run([STOKER, "execute", "--id", clone], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"TASK {clone} GOT arg B {here[2]}" in done.stdout
