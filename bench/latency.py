#!/usr/bin/env python3
"""latency.py [RUNS] - from tasks.enqueue to the user's process and to its first line, in a known environment.

The same server, the same task (a git repository, one pinned requirement, a script that prints the time at its first
line), our agent and then the reference agent (STOKER_AGENT_ENV, clearml-agent from PyPI, its defaults: it polls every
5 s). Each agent runs the task twice before anything counts. "process started" is read from the kernel's start time of
the process, which has a grain of 10 ms.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from conftest import STOKER, Server, wait_for  # noqa: E402

SCRIPT = """import time
first = time.time()
ticks = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
print(f"FIRST {first:.6f} STARTED {boot + ticks / 100:.6f}", flush=True)
"""


def repository(folder):
    work, remote = folder / "work", folder / "remote.git"
    work.mkdir()
    (work / "main.py").write_text(SCRIPT)
    git = ["git", "-c", "user.name=b", "-c", "user.email=b@localhost"]
    subprocess.check_call([*git, "init", "-q", "--bare", "-b", "main", remote])
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"],
                  ["remote", "add", "origin", str(remote)], ["push", "-q", "-u", "origin", "main"]):
        subprocess.check_call([*git, *words], cwd=work)
    return str(remote), subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=work, text=True).strip()


def one_run(server, project, repo, commit, queue):
    task = server.call("tasks.create", name="latency", type="training", project=project, script={
        "repository": repo, "branch": "main", "version_num": commit, "entry_point": "main.py", "working_dir": ".",
        "binary": "python3", "requirements": {"pip": "six==1.17.0"}})["id"]
    enqueued = time.time()
    server.call("tasks.enqueue", task=task, queue=queue)

    def ended():
        status = server.call("tasks.get_all", id=[task], only_fields=["status"])["tasks"][0]["status"]
        return status if status in ("completed", "failed", "stopped") else None

    status = wait_for("the task to end", ended, 0.05, 600)
    done = time.time()
    log = "".join(e["msg"] + "\n" for e in
                  server.call("events.get_task_log", task=task, batch_size=5000, order="asc")["events"])
    m = re.search(r"FIRST ([\d.]+) STARTED ([\d.]+)", log)
    if status != "completed" or not m:
        sys.exit(f"latency: the task ended as {status}:\n{log[-4000:]}")
    return (float(m[2]) - enqueued) * 1000, (float(m[1]) - enqueued) * 1000, (done - enqueued) * 1000


def measure(name, server, command, env, project, repo, commit, runs):
    queue = server.call("queues.create", name=f"bench {name}")["id"]
    log = open(server.folder / f"{name}.log", "wb")
    agent = subprocess.Popen([*command, "--queue", f"bench {name}", "--foreground", "--cpu-only"], env=env,
                             stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for("the agent to register", lambda: any(
            queue in [q["id"] for q in w.get("queues", [])] for w in server.call("workers.get_all")["workers"]))
        for _ in range(2):
            one_run(server, project, repo, commit, queue)
        rows = []
        for i in range(runs):
            time.sleep(0.37 * (i % 7))  # no phase of a poll is preferred
            rows.append(one_run(server, project, repo, commit, queue))
    finally:
        agent.terminate()
        agent.wait()
    medians = []
    for what, column in zip(("process started", "first line", "completed"), zip(*rows)):
        medians.append(statistics.median(column))
        print(f"{name}: enqueue -> {what}: median {medians[-1]:.0f} ms ({min(column):.0f}-{max(column):.0f}), "
              f"{len(column)} runs", flush=True)
    return medians


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        server = Server(folder / "server").start()
        try:
            repo, commit = repository(folder)
            project = server.call("projects.create", name="latency", description="")["id"]
            env = {**server.env(), "STOKER_STATE": str(folder / "state")}
            ours = measure("stoker", server, [STOKER, "agent", "daemon"], env, project, repo, commit, runs)
            peer_env = os.environ.get("STOKER_AGENT_ENV")
            if peer_env:
                peer = [f"{peer_env}/bin/python", "-m", "clearml_agent", "daemon"]
                env = {**server.env(), "PATH": f"{peer_env}/bin:{os.environ['PATH']}"}
                theirs = measure("clearml-agent", server, peer, env, project, repo, commit, max(3, runs // 4))
                for what, a, b in zip(("process started", "first line", "completed"), ours, theirs):
                    print(f"ratio, clearml-agent / stoker, {what}: {b / max(a, 0.1):.0f}", flush=True)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
