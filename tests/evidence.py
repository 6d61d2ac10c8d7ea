"""What a test that failed leaves behind, printed with it, so that the output of a run alone tells what happened: the ends of
the logs of its servers and agents, the journals of its runs, and the last tasks of each server with the ends of their consoles.
Secrets are masked. And a test that hangs fails in the end, so that it is named and its evidence printed.

A helper that starts a program says so by keep(); logs and journals below a test's own folder are found without.
"""
import json
import os
import pathlib
import re
import signal

import pytest

LINES, BYTES = 60, 8000  # of one log
TASKS = 4
HANG = 1800  # seconds for one test, whatever it waits for
SKIPPED = {"cache", "home", "env", "code", "copy", "files", "__pycache__"}  # folders in which no log of ours lies
SECRET = re.compile(r"""eyJ[\w-]+\.[\w-]+\.[\w-]+ | (?<=code=)\w+ | (?<=://)[^/\s@]+(?=@) | (?<="token":")\w+ | (?<![\w-])[\w-]{43}(?![\w-])
                    | (?<=secret_key)(["']?\s*[:=]\s*)["']?[^\s"']+""", re.X)
kept = []  # of this test, and of servers that several tests share


class Kept:
    def __init__(self, name, path, secret, about):
        self.name, self.path, self.secret, self.about = name, pathlib.Path(path), secret, about
        self.before = 0  # bytes that were there when the test began

    def size(self):
        return self.path.stat().st_size if self.path.exists() else 0


def keep(name, path, secret="", about=None):
    """A log that is of use when this test fails; `about`: the Server, or whatever else has a process that writes it."""
    kept.append(Kept(name, path, secret, about))


def mask(text):
    for secret in {k.secret for k in kept if k.secret}:
        text = text.replace(secret, "****")
    return SECRET.sub(lambda m: f"{m[1] or ''}****", text)


def tail(path, before=0):
    """The last lines of a file, of what was written behind `before`."""
    with open(path, "rb") as f:
        size = f.seek(0, os.SEEK_END)
        f.seek(max(before, size - BYTES))
        lines = f.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-LINES:])


def logs_below(folder):
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        for name in sorted(files):
            if name.endswith(".log") or name in ("log", "journal"):
                yield pathlib.Path(path) / name


def tasks_of(server):
    """The tasks that changed last, with the ends of their consoles; what the server does not say in time is left out."""
    def call(name, **fields):
        status, _, body = server.raw(f"/{name}", json.dumps(fields).encode(), {**server.auth(), "Content-Type": "application/json"},
                                     timeout=20)
        return json.loads(body)["data"] if status == 200 else {}

    if server.process is None or server.process.poll() is not None:
        return
    members = ["id", "name", "status", "status_reason", "status_message", "last_worker", "last_update"]
    for t in call("tasks.get_all", order_by=["-last_update"], page=0, page_size=TASKS, only_fields=members, search_hidden=True).get("tasks", []):
        lines = call("x_events.log", task=t["id"], limit=LINES).get("lines", [])
        yield f"task {t['id']}", "\n".join([json.dumps({k: t.get(k) for k in members[1:]}), *(x["text"] for x in lines)])


def collect(folder):
    """(title, text) of all there is."""
    seen = set()
    for k in list(kept):
        seen.add(k.path)
        if k.size() > k.before:
            yield f"{k.name}: {k.path}", tail(k.path, k.before)
    for path in logs_below(folder) if folder else ():
        if path not in seen and path.stat().st_size:
            yield str(path), tail(path)
    for k in list(kept):
        if hasattr(k.about, "call"):
            yield from tasks_of(k.about)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed:
        try:
            for title, text in collect(getattr(item, "funcargs", {}).get("tmp_path")):
                report.sections.append((title, mask(text)))
        except Exception as error:  # the evidence is not to hide the failure
            report.sections.append(("evidence", f"incomplete: {error!r}"))
    return report


def pytest_runtest_setup():
    kept[:] = [k for k in kept if k.about is not None and k.about.process is not None and k.about.process.poll() is None]
    for k in kept:
        k.before = k.size()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    def hangs(*_):
        signal.alarm(HANG // 6)  # so that its teardown ends, too
        pytest.fail(f"{item.nodeid} does not end: given up after {HANG} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(HANG)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
