"""A run is held at each of its stations, and then the task is aborted or its agent told to stop: the status is right, no
process and nothing half made is left."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from conftest import wait_for  # noqa: E402
from daemon_bench import (  # noqa: E402, F401
    COUNTER, Proxy, carriers, config_by, console, daemons, lines, make_task, queue_id, task_of, wait_status)

UV_CACHE = pathlib.Path(os.environ.get("STOKER_CACHE", pathlib.Path.home() / ".cache" / "stoker-dev")) / "uv-cache"
PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"

BEFORE_THE_SCRIPT = ("login", "fetch", "code", "environment", "start")

# A program in the place of another: with certain words it waits, and tells so.
GATE = """#!/bin/sh
case " $* " in *" {words} "*) touch {folder}/asked; while [ ! -e {folder}/go ]; do sleep 0.01; done;; esac
exec {program} "$@"
"""


class Place:
    """Where the run of a test is held, by a row of STATIONS."""

    def __init__(self, server, daemons, folder, row):
        self.server, self.folder, self.row = server, folder, row
        self.proxy = Proxy(server.api_port)
        (folder / "bin").mkdir()
        env = {"STOKER_GRACE_SEC": "1", "UV_CACHE_DIR": str(UV_CACHE),
               "PATH": f"{folder}/bin:{os.environ['PATH']}:{os.path.dirname(os.path.realpath(sys.executable))}"}
        if row.get("environment"):
            env["CLEARML_AGENT_SKIP_PYTHON_ENV_INSTALL"] = "0"
        for program, words in row.get("gates", {}).items():
            gate = folder / "bin" / program
            gate.write_text(GATE.format(words=words, folder=folder, program=shutil.which(program)))
            gate.chmod(0o755)
        self.start = lambda: daemons(server, "--queue", "default", conf=config_by(server, self.proxy, folder / "proxy.conf"),
                                     env=env).ready()
        self.d = self.start()

    def script(self):
        script = {"diff": COUNTER.format(folder=str(self.folder)),
                  "entry_point": "main.py", "working_dir": ".", "binary": self.row.get("binary", PYTHON),
                  "requirements": {"pip": self.row.get("pip", "")}}
        if self.row.get("repository"):
            origin = self.folder / "origin"
            subprocess.run(["sh", "-ec", f"git init -q -b main {origin} && cd {origin} && touch main.py && git add . && "
                            "git -c user.name=T -c user.email=t@example.com commit -qm one"], check=True)
            script |= {"repository": f"file://{origin}", "branch": "main",
                       "diff": f"diff --git a/main.py b/main.py\n--- a/main.py\n+++ b/main.py\n@@ -0,0 +1 @@\n+{script['diff']}"}
        return script

    def hold(self):
        """The id of a task whose run stands at the station."""
        if (call := self.row.get("call")) and not self.row.get("ended"):
            self.proxy.hold(call)
        task = self.server.call("tasks.create", name="held", type="training", script=self.script())["id"]
        self.server.call("tasks.enqueue", task=task, queue=queue_id(self.server))
        if self.row.get("ended"):
            wait_for("the script", lambda: lines(self.folder) > 20)
            self.proxy.hold(call)
            (self.folder / "enough").touch()
            wait_for("its end", lambda: self.d.journals()[task]["stage"] == "exited")
        wait_for("the station", lambda: self.proxy.waiting if call else (self.folder / self.row.get("sign", "asked")).exists())
        return task

    def let_go(self):
        (self.folder / "go").touch()
        self.proxy.let_go()


STATIONS = {
    "login": {"call": "auth.login"},
    "fetch": {"call": "tasks.get_by_id"},
    "code": {"gates": {"git": "fetch"}, "repository": True},
    "environment": {"gates": {"uv": "pip install"}, "environment": True, "pip": "six==1.16.0"},
    "start": {"gates": {"python3": "-u"}, "binary": "python3"},
    "running": {"sign": "lines"},
    "last lines": {"call": "events.add_batch", "ended": True},
    "status": {"call": "tasks.completed", "ended": True},
}


@pytest.mark.parametrize("by", ["abort", "stop of the agent", "kill of the supervisor"])
@pytest.mark.parametrize("station", STATIONS)
def test_end_at_a_station(server, daemons, tmp_path, station, by):
    place = Place(server, daemons, tmp_path, STATIONS[station])
    task = place.hold()
    run = wait_for("the journal", lambda: (r := place.d.journals().get(task)) and r.get("pid") and r)["run"]
    if by == "abort":
        server.call("tasks.stop", task=task)
    elif by == "stop of the agent":
        place.d.process.terminate()
        wait_for("the signal", lambda: "Stopping: 1 running task gets TERM" in place.d.text())
    else:
        os.kill(place.d.journals()[task]["pid"], signal.SIGKILL)
    if place.row.get("call"):  # what waits for the server goes on when it answers; all else is ended where it stands
        place.let_go()
    t = wait_status(server, task)
    wanted = "completed" if place.row.get("ended") else "failed" if by == "kill of the supervisor" else "stopped"
    assert t["status"] == wanted, t["status_reason"]
    if by == "stop of the agent":
        assert place.d.wait() == 254
    wait_for("the run's folder to go", lambda: not place.d.journals())
    wait_for("the last process", lambda: carriers(run) == [])
    assert (tmp_path / "lines").exists() == (station not in BEFORE_THE_SCRIPT)
    place.let_go()
    (tmp_path / "enough").touch()
    if by == "stop of the agent":
        place.d = place.start()
    server.call("tasks.reset", task=task)
    server.call("tasks.enqueue", task=task, queue=queue_id(server))
    assert wait_status(server, task)["status"] == "completed", console(server, task)
    wait_for("the run's folder to go", lambda: not place.d.journals())
    assert list((tmp_path / "cache").glob("**/*.new")) == []
    place.d.end()
    place.proxy.cut()
