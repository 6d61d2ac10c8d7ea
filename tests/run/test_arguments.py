"""A script of a person, recorded by the SDK where it was written, cloned, changed and run by us: from git, in an environment
made by uv, its arguments are those of the clone, each of the kind it had, and the task is the one that was enqueued.
"""
import json
import re
import subprocess
import sys

from conftest import GUARD
from test_execute import machine, sh  # noqa: F401

SCRIPT = """
import argparse, json
from clearml import Task
task = Task.init(project_name='arguments', task_name='of a person', auto_resource_monitoring=False)
p = argparse.ArgumentParser()
p.add_argument('--days_count', type=int, default=365)
p.add_argument('--depth', nargs='+', type=int, default=[None])
p.add_argument('--layers', nargs='+', type=int, default=[1, 2])
p.add_argument('--flag', type=bool, default=False)
p.add_argument('--rate', type=float, default=1e-3)
p.add_argument('--name', default=None)
p.add_argument('--text', default='a, b: "c"')
print('ARGS', task.id, json.dumps(vars(p.parse_args())), flush=True)
task.close()  # waits until the repository and the packages are known
"""
DEFAULTS = {"days_count": 365, "depth": [None], "layers": [1, 2], "flag": False, "rate": 1e-3, "name": None, "text": 'a, b: "c"'}


def seen(text):
    """(id of the task, its arguments) as the script printed them."""
    m = re.search(r"ARGS ([0-9a-f]{32}) (.*)", text)
    assert m, text
    return m[1], json.loads(m[2])


def test_arguments_survive_the_clone(machine, tmp_path):  # noqa: F811
    server, work = machine.server, tmp_path / "work"
    work.mkdir()
    (work / "train.py").write_text(SCRIPT)
    sh(tmp_path, "git init -q --bare remote.git && cd work && git init -q . && git add . && git commit -qm one && "
                 f"git remote add origin {tmp_path}/remote.git && git push -q -u origin HEAD:main")
    done = subprocess.run([sys.executable, "train.py"], cwd=work, env=machine.base, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=3 * GUARD)
    assert done.returncode == 0, done.stdout + done.stderr
    first, args = seen(done.stdout)
    assert args == DEFAULTS
    recorded = machine.get(first)
    assert recorded["script"]["repository"] == f"{tmp_path}/remote.git" and len(recorded["script"]["version_num"]) == 40

    unchanged = server.call("tasks.clone", task=first)["id"]
    changed = server.call("tasks.clone", task=first)["id"]
    server.call("tasks.edit_hyper_params", task=changed, hyperparams=[
        {"section": "Args", "name": "days_count", "value": "10"}, {"section": "Args", "name": "depth", "value": "[3, 4]"},
        {"section": "Args", "name": "flag", "value": "True"}])
    count = server.call("tasks.get_all_ex", search_hidden=True, only_fields=["id"], page=0, page_size=500)["tasks"]
    for task, want in ((unchanged, DEFAULTS), (changed, {**DEFAULTS, "days_count": 10, "depth": [3, 4], "flag": True})):
        assert machine.run(task) == 0, machine.err
        log = "\n".join(machine.log(task))
        assert seen(log) == (task, want)
        assert machine.get(task)["status"] == "completed"
    after = server.call("tasks.get_all_ex", search_hidden=True, only_fields=["id"], page=0, page_size=500)["tasks"]
    assert len(count) >= 3 and {t["id"] for t in after} == {t["id"] for t in count}, "a run made another task"
