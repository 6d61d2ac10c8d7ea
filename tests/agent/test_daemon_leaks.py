"""Many short tasks on one agent: afterwards it holds what it held before."""
import collections
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from conftest import wait_for  # noqa: E402
from daemon_bench import children, daemons, make_task, task_of  # noqa: E402, F401


def held(d):
    """What the agent's process holds: descriptors by kind, threads, children; the files of its folders."""
    pid = d.process.pid
    kinds = collections.Counter()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            kinds[re.sub(r"\d+", "N", os.readlink(fd))] += 1
        except OSError:
            pass
    files = sorted(str(f) for place in ("state", "cache") for f in (d.folder / place).glob("**/*"))
    return {"descriptors": dict(kinds), "threads": len(os.listdir(f"/proc/{pid}/task")), "children": len(children(pid)),
            "files": files, "temporary": sorted(os.listdir(d.env["TMPDIR"]))}


# What the script of task number i does: it ends well, it fails, it takes its supervisor with it.
ENDS = [("pass", "completed"), ("raise SystemExit(1)", "failed"), ("import os; os.kill(os.getppid(), 9)", "failed")]


def run_many(server, d, n):
    tasks = [(make_task(server, script), status) for script, status in ENDS * n]
    for task, status in tasks:
        ended = wait_for("its end", lambda: (s := task_of(server, task)["status"]) in ("completed", "failed") and s)
        assert ended == status
    runs = d.folder / "state" / "runs"  # a folder goes after the journal in it, and is held open meanwhile
    wait_for("the folders to go", lambda: not os.listdir(runs) and not children(d.process.pid))


def held_at_rest(d):
    """The same at two looks."""
    last = {}

    def same():
        nonlocal last
        before, last = last, held(d)
        return before == last
    wait_for("the agent to be at rest", same, pause=0.2)
    return last


def test_nothing_is_left_of_many_tasks(server, daemons, tmp_path):
    (tmp_path / "tmp").mkdir()
    d = daemons(server, "--queue", "default", "--slots", "4", env={"TMPDIR": str(tmp_path / "tmp")}).ready()
    run_many(server, d, 5)
    before = held_at_rest(d)
    run_many(server, d, 50)
    wait_for(f"what it held before: {before}", lambda: held(d) == before)
