"""The reference agent, unchanged from PyPI (STOKER_AGENT_ENV), takes tasks from our server and ends them.

The first test lets it build a real environment with pip, which takes a while; the others tell it to use an interpreter
that is there."""
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from conftest import GUARD, STOKER, wait_for  # noqa: E402
from daemon_bench import console, make_task, queue_id, task_of, wait_console, wait_status  # noqa: E402

ENV = os.environ.get("STOKER_AGENT_ENV")
pytestmark = pytest.mark.skipif(not ENV, reason="STOKER_AGENT_ENV is not set: ./dev test makes that environment")
SLOW = 1500


@pytest.fixture
def peer(server, tmp_path):
    """Start the reference agent: peer("daemon", ...) -> process."""
    made = []
    env = server.env(PATH=f"{ENV}/bin:{os.environ['PATH']}", CLEARML_WORKER_NAME="peer",
                     CLEARML_AGENT_QUEUE_POLL_FREQ_SEC="1", TMPDIR=str(tmp_path))  # there it notes which ids are taken
    env.pop("PYTHONPATH", None)

    def start(*words, **more):
        out = open(tmp_path / f"peer{len(made)}.log", "wb")
        p = subprocess.Popen([f"{ENV}/bin/python", "-m", "clearml_agent", *words], env={**env, **more}, stdin=subprocess.DEVNULL,
                             stdout=out, stderr=out, cwd=tmp_path)
        p.text = lambda: pathlib.Path(out.name).read_text(errors="replace")
        made.append(p)
        return p
    yield start
    for p in made:
        if p.poll() is None:
            p.terminate()
            try:
                p.wait(60)
            except subprocess.TimeoutExpired:
                p.kill()


def ended(server, task, process):
    def look():
        t = task_of(server, task)
        if process.poll() is not None and t["status"] in ("created", "queued", "in_progress"):
            pytest.fail(f"the agent ended with {process.returncode}:\n{process.text()[-3000:]}")
        return t["status"] in ("completed", "failed", "stopped") and t
    return wait_for("the task to end", look, 0.2, SLOW)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """What makes it use an interpreter that is there (it wants one with pip in it)."""
    folder = tmp_path_factory.mktemp("peer-python")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return {"CLEARML_AGENT_SKIP_PIP_VENV_INSTALL": f"{folder}/bin/python"}


def test_daemon_builds_and_runs(server, peer, tmp_path):
    p = peer("daemon", "--queue", "default", "second queue", "--create-queue", "--foreground", "--cpu-only")
    wait_for("the worker", lambda: server.call("workers.get_all")["workers"], 0.2, SLOW)
    (w,) = server.call("workers.get_all")["workers"]
    assert w["id"] == "peer:cpu:0"
    assert [q["name"] for q in w["queues"]] == ["default", "second queue"]
    task = make_task(server, "import os, six\nprint('six', six.__version__, os.environ['CLEARML_TASK_ID'])",
                     requirements="six==1.17.0")
    t = ended(server, task, p)
    assert t["status"] == "completed", console(server, task)
    assert t["status_reason"] == "worker execution done"
    wait_console(server, task, f"six 1.17.0 {task}")
    assert "six==1.17.0" in t["script"]["requirements"]["pip"]  # the frozen list was written back
    assert t["script"]["requirements"]["org_pip"] == "six==1.17.0"


def test_daemon_ends(server, peer, here, tmp_path):
    """Exit codes, an abort, its own end."""
    p = peer("daemon", "--queue", "default", "--create-queue", "--foreground", "--cpu-only", **here)
    wait_for("the worker", lambda: server.call("workers.get_all")["workers"], 0.2, SLOW)
    bad = make_task(server, "import sys; sys.exit(3)")
    t = ended(server, bad, p)
    assert (t["status"], t["status_reason"]) == ("failed", "worker execution exit code 3")
    flag = tmp_path / "begun"
    long = make_task(server, f"import time\nopen({str(flag)!r}, 'w').close()\nwhile True: time.sleep(0.1)")
    wait_for("the long task", flag.exists, 0.2, SLOW)
    server.call("tasks.stop", task=long)  # it sees "stopping" at its next look, and kills
    assert ended(server, long, p)["status"] == "stopped"
    p.send_signal(signal.SIGTERM)
    assert p.wait(120) == 254
    assert server.call("workers.get_all")["workers"] == []


def test_execute_by_hand(server, peer, here):
    task = make_task(server, "print('by hand')", enqueue=False)
    p = peer("execute", "--id", task, **here)
    assert p.wait(SLOW) == 0, p.text()[-3000:]
    t = wait_status(server, task)
    assert t["status"] == "completed", p.text()[-3000:]
    wait_console(server, task, "by hand")


def test_both_agents_share_a_queue(server, peer, here, tmp_path):
    """Ours and theirs take from one queue: every task runs once."""
    env = server.env(STOKER_STATE=str(tmp_path / "state"), CLEARML_WORKER_NAME="ours",
                     CLEARML_AGENT_SKIP_PYTHON_ENV_INSTALL="1")
    p = peer("daemon", "--queue", "default", "--create-queue", "--foreground", "--cpu-only", **here)
    wait_for("the worker", lambda: server.call("workers.get_all")["workers"], 0.2, SLOW)
    script = f"import os, time\nopen({str(tmp_path / 'runs')!r}, 'a').write('%d ')\n"
    wait = f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.05)\n"
    tasks = [make_task(server, script % i + (wait if i < 2 else ""), enqueue=False) for i in range(6)]
    queue = queue_id(server)
    server.call("tasks.enqueue", task=tasks[0], queue=queue)
    wait_status(server, tasks[0], "in_progress")  # theirs has one, and is busy with it until ours has one, too
    with open(tmp_path / "ours.log", "wb") as log:
        ours = subprocess.Popen([STOKER, "agent", "daemon", "--queue", "default", "--foreground", "--cpu-only"], env=env,
                                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        for task in tasks[1:]:
            server.call("tasks.enqueue", task=task, queue=queue)
        wait_status(server, tasks[1], "in_progress")
        (tmp_path / "go").touch()
        ends = [ended(server, task, p) for task in tasks]
    finally:
        ours.terminate()
        ours.wait(GUARD)
    assert {t["status"] for t in ends} == {"completed"}, json.dumps([t["status_reason"] for t in ends])
    assert sorted((tmp_path / "runs").read_text().split()) == [str(i) for i in range(6)]
    assert [t["last_worker"] for t in ends[:2]] == ["peer:cpu:0", "ours:cpu:0"]
