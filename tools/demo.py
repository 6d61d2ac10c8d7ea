#!/usr/bin/env python3
"""demo.py [--once] [--port N] [--data DIR] - the main job from end to end, on build/stoker.

Starts `stoker up` in a temporary data folder, runs examples/logistic once on this machine with the unmodified SDK,
clones that task with another learning rate through the command line, enqueues the clone, follows the agent while it
runs it, checks what the server recorded, and prints the address of the page. Keeps running for you to look; --once
ends by itself with exit status 0 when the clone has completed.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
STOKER = os.environ.get("STOKER", str(ROOT / "build" / "stoker"))
NEW_LR = "0.8"


class Stage:
    """`with Stage ("words"):` prints one line with the seconds it took."""

    def __init__(self, words):
        self.words = words

    def __enter__(self):
        self.start = time.monotonic()
        print(f"{self.words:<52}", end="", flush=True)

    def __exit__(self, kind, *_):
        print(f"{time.monotonic() - self.start:7.1f} s" if kind is None else " failed", flush=True)


def free_ports(n=3):
    """The first of n consecutive free ports."""
    import socket
    for base in range(18080, 28080, 10):
        socks = []
        try:
            for i in range(n):
                s = socket.socket()
                s.bind(("127.0.0.1", base + i))
                socks.append(s)
            return base
        except OSError:
            continue
        finally:
            for s in socks:
                s.close()
    sys.exit("demo: no three free ports in a row between 18080 and 28080")


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
children = []  # all that were started, in order


def start(cmd, **kw):
    """A child that end_children knows, with all that it starts: no signal comes between its birth and its place in the list."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        children.append(subprocess.Popen(cmd, stdin=subprocess.DEVNULL, start_new_session=True, **kw,
                                         preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)))
        return children[-1]
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def check(cmd, log, **kw):
    """Run to the end; on failure show what it printed and stop."""
    with open(log, "wb") as out:
        code = start(cmd, stdout=out, stderr=subprocess.STDOUT, **kw).wait()
    if code:
        print(f"\ndemo: {' '.join(map(str, cmd))} ended with exit code {code}:", file=sys.stderr)
        print(pathlib.Path(log).read_text(errors="replace")[-6000:], file=sys.stderr)
        raise SystemExit(1)
    return pathlib.Path(log).read_text(errors="replace")


def make_project(folder):
    """The example as its users have it: a git repository with a remote."""
    work, remote = folder / "logistic", folder / "logistic.git"
    shutil.copytree(ROOT / "examples" / "logistic", work)
    git = ["git", "-c", "user.name=demo", "-c", "user.email=demo@localhost", "-C", str(work)]
    log = folder / "git.log"
    check(["git", "init", "-q", "--bare", "-b", "main", str(remote)], log)
    check(git + ["init", "-q", "-b", "main"], log)
    check(git + ["add", "-A"], log)
    check(git + ["commit", "-q", "-m", "logistic regression"], log)
    check(git + ["remote", "add", "origin", str(remote)], log)
    check(git + ["push", "-q", "-u", "origin", "main"], log)
    return work


def start_up(folder, args):
    """`stoker up` in the background; returns the process and what it wrote for clients."""
    data = pathlib.Path(args.data).resolve() if args.data else folder / "data"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CLEARML_", "TRAINS_"))}
    for tries in range(5):
        port = args.port or free_ports()
        with open(folder / "up.log", "wb") as log:
            up = start([STOKER, "up", "--data", str(data), "--port", str(port), "--json"], stdout=subprocess.PIPE, stderr=log, env=env)
        line = up.stdout.readline()
        if line:
            break
        up.wait()
        children.clear()
        words = (folder / "up.log").read_text(errors="replace")
        if args.port or tries == 4 or not re.search(r"port \d+ is (taken|busy)", words):  # somebody was faster: other ports
            sys.exit("demo: stoker up ended at once:\n" + words[-4000:])
    facts = json.loads(line)
    client_env = {**env, "CLEARML_CONFIG_FILE": facts["config"]}
    return up, facts, client_env


def end_children():
    """The youngest first; the cluster itself (the eldest) stops in order."""
    for p in reversed(children):
        if p.poll() is not None:
            continue
        if p is not children[0]:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
            continue
        p.terminate()
        try:
            p.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()


class Told(Exception):
    """A signal asked for the end."""


def end_on_signals():
    """Whoever ends the demo (Ctrl-C, kill, a closed terminal) ends its server and agent too."""
    def told(number, _):
        for s in SIGNALS:
            signal.signal(s, signal.SIG_IGN)
        raise Told(number)

    for s in SIGNALS:
        signal.signal(s, told)


def remove(folder):
    """Also while what was killed a moment ago still writes into it."""
    for _ in range(50):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--once", action="store_true", help="end when the clone has completed")
    parser.add_argument("--port", type=int, help="first of three ports (default: the first free ones)")
    parser.add_argument("--data", help="data folder to keep (default: a temporary one)")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-demo-"))
    shown_all = False
    end_on_signals()

    def stoker(*words):
        log = folder / f"{words[0]}-{words[1]}.log"
        return json.loads(check([STOKER, *words, "--json"], log, env=env) or "null")

    try:
        with Stage("start server and agent (stoker up)"):
            up, facts, env = start_up(folder, args)
        work = make_project(folder)
        with Stage("run examples/logistic here, with the SDK"):
            check([sys.executable, "train.py"], folder / "local.log", cwd=work, env=env)
        first = stoker("task", "ls", "--project", "Examples", "--name", "logistic regression")[0]
        with Stage(f"clone it with Args/lr = {NEW_LR}, enqueue"):
            clone = stoker("task", "clone", first["id"], "--name", f"logistic regression, lr {NEW_LR}",
                           "--set", f"Args/lr={NEW_LR}", "--queue", "default")
        with Stage("agent: environment, repository, training"):
            check([STOKER, "task", "log", clone["id"], "--follow"], folder / "follow.log", env=env)
        shown = stoker("task", "show", clone["id"])
        log = (folder / "follow.log").read_text(errors="replace")
        if shown["status"] != "completed" or f"done: learning rate {NEW_LR}" not in log:
            sys.exit(f"demo: the clone ended as {shown['status']} ({shown.get('status_reason', '')}):\n{log[-6000:]}")
        if not facts.get("link"):
            sys.exit("demo: stoker up gave no link to the page")
        page = f"{facts['web']}/projects/{shown['project']['id']}/tasks/{clone['id']}"
        print(f"\nThe clone completed with learning rate {NEW_LR}. Its page: {page}")
        if args.once:
            return
        print(f"Open this link first, it logs you in:                       {facts['link']}")
        print(f"Use the server from your own code:                          export CLEARML_CONFIG_FILE={facts['config']}")
        print("Ctrl-C ends the demo.", flush=True)
        shown_all = True
        up.wait()
    except Told as e:
        print(flush=True)
        if not shown_all:
            sys.exit(128 + e.args[0])
    finally:
        end_children()
        remove(folder)


if __name__ == "__main__":
    main()
