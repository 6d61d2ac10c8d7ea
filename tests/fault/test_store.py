"""The store under faults: the server killed at random points under load, a disk that is full.

What a client was told is done must be there afterwards; what it was not told may or may not be; nothing is there twice.
"""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import threading
import time
import urllib.error
import uuid

import pytest

from conftest import CallError, Server, wait_for

ROUNDS, THREADS = 30, 4


class Load:
    """Clients that create, enqueue, take and log until the server is gone, and note what was acknowledged."""

    def __init__(self, server, queue):
        self.server, self.queue = server, queue
        self.lock = threading.Lock()
        self.created, self.enqueued, self.popped = {}, set(), set()
        self.maybe_out = 0  # takes whose answer never came
        self.claims = {}    # token -> task or None (no answer)
        self.lines = {}     # task -> (how many log lines were sent at once, were they acknowledged)
        self.points = {}    # task -> the same of points
        self.checked = {"lines": 0, "points": 0}
        self.unexpected = []

    def note(self, fn):
        with self.lock:
            fn()

    def one_round(self, rng):
        call, name = self.server.call, uuid.uuid4().hex
        task = call("tasks.create", name=name, type="training")["id"]
        self.note(lambda: self.created.__setitem__(task, name))
        call("tasks.enqueue", task=task, queue=self.queue)
        self.note(lambda: self.enqueued.add(task))
        kind = rng.randrange(4)
        if kind == 0:
            self.note(lambda: setattr(self, "maybe_out", self.maybe_out + 1))
            got = call("queues.get_next_task", queue=self.queue)
            def popped():
                self.maybe_out -= 1
                if got:
                    self.popped.add(got["entry"]["task"])
            self.note(popped)
        elif kind == 1:
            token = uuid.uuid4().hex
            self.note(lambda: self.claims.__setitem__(token, None))
            got = call("x_queues.claim", queues=[self.queue], worker="w", token=token)
            self.note(lambda: self.claims.__setitem__(token, got.get("task", "")))
        elif kind == 2:
            n = rng.randrange(1, 20)
            self.note(lambda: self.lines.__setitem__(task, (n, False)))
            self.server.batch("events.add_batch", [
                {"type": "log", "task": task, "msg": f"line {i}", "timestamp": 1700000000000 + i} for i in range(n)])
            self.note(lambda: self.lines.__setitem__(task, (n, True)))
        else:
            n = rng.randrange(1, 50)
            self.note(lambda: self.points.__setitem__(task, (n, False)))
            self.server.batch("events.add_batch", [
                {"type": "training_stats_scalar", "task": task, "metric": "m", "variant": "v", "iter": i, "value": i / 2,
                 "timestamp": 1700000000000 + i} for i in range(n)])
            self.note(lambda: self.points.__setitem__(task, (n, True)))

    def client(self, seed):
        rng = random.Random(seed)
        while True:
            try:
                self.one_round(rng)
            except (urllib.error.URLError, OSError, json.JSONDecodeError, EOFError):
                return  # the server is gone
            except CallError as e:
                self.note(lambda: self.unexpected.append(str(e)))
                return
            except Exception as e:  # http.client's many ways to say that a connection broke
                if type(e).__module__ != "http.client":
                    self.note(lambda: self.unexpected.append(repr(e)))
                return

    def run_until_killed(self, seed, tasks, seconds):
        """Kill the server so many seconds after so many tasks were created, however long that takes."""
        threads = [threading.Thread(target=self.client, args=(seed * 100 + i,)) for i in range(THREADS)]
        at = len(self.created)
        for t in threads:
            t.start()
        try:
            wait_for("load", lambda: len(self.created) >= at + tasks or self.unexpected, 0.001)
            time.sleep(seconds)
        finally:
            self.server.kill()
            for t in threads:
                t.join()


def integrity(server):
    """On a copy of what the crash left: the database and its log."""
    copy = server.folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for file in server.data.glob("stoker.db*"):
        if not file.name.endswith("-shm"):
            shutil.copy(file, copy)
    db = sqlite3.connect(copy / "stoker.db")
    try:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        twice = db.execute("SELECT task, count(*) FROM queue_entry GROUP BY task HAVING count(*) > 1").fetchall()
        assert twice == []
        wrong = db.execute("SELECT q.id FROM queue q WHERE q.length <> (SELECT count(*) FROM queue_entry e"
                           " WHERE e.queue = q.seq) OR q.added_sum <> (SELECT ifnull(sum(e.added), 0)"
                           " FROM queue_entry e WHERE e.queue = q.seq)").fetchall()
        assert wrong == [], "length and added_sum follow the entries"
    finally:
        db.close()


def check(load):
    server = load.server
    claimed = [t for t in load.claims.values() if t]
    for token, task in load.claims.items():  # the answer was lost: asked again, the same task or a new one, never another's
        if task is None:
            got = server.call("x_queues.claim", queues=[load.queue], worker="w", token=token).get("task", "")
            load.claims[token] = got
            claimed += [got] if got else []
    assert len(claimed) == len(set(claimed)), "a task was claimed twice"
    claimed = set(claimed)
    entries = [e["task"] for e in server.call("queues.get_by_id", queue=load.queue)["queue"]["entries"]]
    assert len(entries) == len(set(entries)), "an entry twice"
    entries = set(entries)
    names = {}
    ids = list(load.created)
    for i in range(0, len(ids), 500):
        for t in server.call("tasks.get_all", id=ids[i:i + 500], only_fields=["id", "name"])["tasks"]:
            names[t["id"]] = t["name"]
    assert names == load.created, "an acknowledged task is missing"
    assert not entries & load.popped, "a popped entry is still there"
    assert not entries & claimed, "a claimed entry is still there"
    assert not claimed & load.popped, "popped and claimed"
    missing = load.enqueued - entries - load.popped - claimed
    assert len(missing) <= load.maybe_out, "an acknowledged entry is missing"
    for task, (n, acknowledged) in load.lines.items():
        total = server.call("events.get_task_log", task=task, batch_size=500)["total"]
        assert total == n or not acknowledged and total == 0, "a batch of lines is there whole or not at all"
    for task, (n, acknowledged) in load.points.items():
        curves = server.call("events.scalar_metrics_iter_histogram", task=task, samples=1000)
        if curves or acknowledged:
            curve = curves["m"]["v"]
            assert curve["x"] == list(range(n)) and curve["y"] == [i / 2 for i in range(n)]
    for what in load.checked:
        load.checked[what] += sum(ok for _, ok in getattr(load, what).values())
        getattr(load, what).clear()
    assert load.unexpected == []


def test_kill_at_random_points(server_factory):
    server = server_factory()
    load = Load(server, server.call("queues.create", name="crash")["id"])
    seed = int(os.environ.get("FAULT_SEED", time.time_ns() % 10**6))
    rng = random.Random(seed)
    print(f"FAULT_SEED={seed}")
    for round in range(ROUNDS):
        load.run_until_killed(seed + round, rng.randrange(60), rng.uniform(0, 0.05))
        integrity(server)
        server.token = None
        server.start()
        if round % 5 == 4 or round == ROUNDS - 1:
            check(load)
        if round % 5 == 4:
            load.maybe_out = 0
            load.enqueued = {e["task"] for e in
                             server.call("queues.get_by_id", queue=load.queue)["queue"]["entries"]}
    print(f"acknowledged: {len(load.created)} tasks, {len(load.popped)} taken, {len(load.claims)} claims")
    assert len(load.created) > ROUNDS and load.popped and any(load.claims.values()) and all(load.checked.values()), \
        "or the load shows nothing"


# -- a full disk ------------------------------------------------------------------------------------------------------

@pytest.fixture
def small_disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a small file system can only be mounted by root")
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(mount)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no tmpfs here: {done.stderr.strip()}")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def test_full_disk(small_disk):
    server = Server(small_disk / "server")
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (6 << 20))
    server.start()
    try:
        fill_and_free(server, filler)
        assert server.stop() == 0, server.log_text()
    finally:
        if server.process is not None:
            server.kill()


def fill_and_free(server, filler):
    kept, failure = [], None
    for i in range(2000):
        try:
            kept.append(server.call("tasks.create", name=f"task {i}", type="training", comment="x" * 50000)["id"])
        except CallError as e:
            failure = e
            break
    assert failure is not None, "24 MB never filled"
    assert (failure.status, failure.subcode) == (500, 4), str(failure)
    assert "full" in failure.msg
    assert kept, "nothing was stored before"
    # reading goes on, small or not, and what was acknowledged is there
    for id in (kept[0], kept[-1]):
        assert server.call("tasks.get_by_id", task=id)["task"]["comment"] == "x" * 50000
    with pytest.raises(CallError) as e:
        server.call("tasks.create", name="still full", type="training", comment="y" * 200000)
    assert (e.value.status, e.value.subcode) == (500, 4)
    # room again: it goes on without a restart
    filler.unlink()
    id = server.call("tasks.create", name="room again", type="training", comment="z" * 50000)["id"]
    assert server.call("tasks.get_by_id", task=id)["task"]["comment"] == "z" * 50000
    names = server.call("tasks.get_all", name="still full", only_fields=["id"])["tasks"]
    assert names == [], "what was refused is not there"
    found = 0
    for i in range(0, len(kept), 500):
        found += len(server.call("tasks.get_all", id=kept[i:i + 500], only_fields=["id"])["tasks"])
    assert found == len(kept)


# -- the folder --------------------------------------------------------------------------------------------------------

def test_one_process_a_folder(server):
    """A second server on the same data folder says who has it and ends; the first does not notice."""
    from conftest import STOKER, clean_env, free_ports
    port = free_ports(1)[0]
    done = subprocess.run([STOKER, "server", "--data", str(server.data), "--listen", f"127.0.0.1:{port}"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, env=clean_env(), timeout=120)
    assert done.returncode != 0
    assert str(server.data) in done.stderr and str(server.process.pid) in done.stderr
    assert server.call("queues.get_all") is not None


def test_newer_data_is_refused(server_factory):
    server = server_factory()
    server.call("queues.get_all")
    assert server.stop() == 0
    db = sqlite3.connect(server.data / "stoker.db")
    db.execute("INSERT INTO migration VALUES (9999, 'from_the_future', 0)")
    db.commit()
    db.close()
    from conftest import STOKER, clean_env, free_ports
    port = free_ports(1)[0]
    done = subprocess.run([STOKER, "server", "--data", str(server.data), "--listen", f"127.0.0.1:{port}"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, env=clean_env(), timeout=120)
    assert done.returncode != 0 and "newer" in done.stderr and "9999" in done.stderr
