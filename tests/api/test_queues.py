"""queues.* and x_queues.* against a running server: order, flight, claims, waiting, lists, refusals."""
import signal
import threading
import time
import uuid

import pytest

from conftest import CallError, wait_for


@pytest.fixture
def server(shared_server):
    return shared_server


@pytest.fixture
def queue(server):
    return server.call("queues.create", name=f"q-{uuid.uuid4().hex}")["id"]


def make_task(server, name="a task"):
    return server.call("tasks.create", name=name, type="training")["id"]


def enqueue(server, queue, n):
    tasks = [make_task(server, f"task {i}") for i in range(n)]
    for t in tasks:
        assert server.call("tasks.enqueue", task=t, queue=queue)["queued"] == 1
    return tasks


def entries(server, queue):
    return [e["task"] for e in server.call("queues.get_by_id", queue=queue)["queue"]["entries"]]


def status(server, task):
    return server.call("tasks.get_by_id", task=task)["task"]["status"]


def refused(subcode, call, *args, status=400, **kwargs):
    with pytest.raises(CallError) as e:
        call(*args, **kwargs)
    assert (e.value.status, e.value.subcode) == (status, subcode), str(e.value)
    return e.value.msg


# -- queues ----------------------------------------------------------------------------------------------------------

def test_document(server):
    name = f"doc-{uuid.uuid4().hex}"
    id = server.call("queues.create", name=f"  {name} ", tags=["b", "a", "b"],
                     metadata={"k": {"key": "k", "type": "str", "value": "v"}})["id"]
    q = server.call("queues.get_by_id", queue=id)["queue"]
    assert q["name"] == name and q["tags"] == ["a", "b"] and q["system_tags"] == [] and q["entries"] == []
    assert q["metadata"] == {"k": {"key": "k", "type": "str", "value": "v"}}
    assert q["created"] == q["last_update"] and q["company"]
    assert "display_name" not in q and "resources" not in q
    # clients from before there was metadata get an empty list
    assert server.call("queues.get_by_id", _version="2.5", queue=id)["queue"]["metadata"] == []


def test_names(server):
    name = f"unique-{uuid.uuid4().hex}"
    server.call("queues.create", name=name)
    assert name in refused(801, server.call, "queues.create", name=name)
    assert "name" in refused(800, server.call, "queues.create", name="ab")
    refused(800, server.call, "queues.create", name="   a   ")
    assert "name" in refused(12, server.call, "queues.create")
    other = server.call("queues.create", name=name + "x")["id"]
    refused(801, server.call, "queues.update", queue=other, name=name)
    refused(16, server.call, "queues.create", name=name + "y", tags=["__$not"])


def test_update(server, queue):
    before = server.call("queues.get_by_id", queue=queue)["queue"]
    name = f"renamed-{uuid.uuid4().hex}"
    got = server.call("queues.update", queue=queue, name=name, display_name="Shown", tags=["x"])
    assert got == {"updated": 1, "fields": {"name": name, "display_name": "Shown", "tags": ["x"]}}
    after = server.call("queues.get_by_id", queue=queue)["queue"]
    assert (after["name"], after["display_name"], after["tags"]) == (name, "Shown", ["x"])
    assert after["last_update"] == before["last_update"]
    assert server.call("queues.update", queue=queue) == {"updated": 0, "fields": {}}
    assert server.call("queues.get_by_id", queue=queue)["queue"] == after
    refused(701, server.call, "queues.update", queue="nope", name="whatever")


def test_metadata(server, queue):
    put = lambda **kw: server.call("queues.add_or_update_metadata", queue=queue, **kw)
    get = lambda: server.call("queues.get_by_id", queue=queue)["queue"]["metadata"]
    assert put(metadata=[{"key": "a.b", "type": "str", "value": "1"}, {"key": "c", "value": "2"}]) == {"updated": 1}
    assert get() == {"a.b": {"key": "a.b", "type": "str", "value": "1"}, "c": {"key": "c", "value": "2"}}
    put(metadata=[{"key": "c", "type": "int", "value": "3"}])
    assert get()["c"] == {"key": "c", "type": "int", "value": "3"} and "a.b" in get()
    assert server.call("queues.delete_metadata", queue=queue, keys=["c", "never there"]) == {"updated": 1}
    assert list(get()) == ["a.b"]
    put(metadata=[{"key": "z", "value": "9"}], replace_metadata=True)
    assert list(get()) == ["z"]
    found = server.call("queues.get_all", **{"metadata.z.value": ["9"], "only_fields": ["id"]})["queues"]
    assert {"id": queue} in found
    found = server.call("queues.get_all", **{"metadata.z.value": ["8"], "only_fields": ["id"]})["queues"]
    assert {"id": queue} not in found


def test_default(server):
    for q in server.call("queues.get_all", system_tags=["default"])["queues"]:
        server.call("queues.update", queue=q["id"], system_tags=[])
    refused(707, server.call, "queues.get_default")
    one = server.call("queues.create", name=f"def-{uuid.uuid4().hex}", system_tags=["default"])["id"]
    assert server.call("queues.get_default")["id"] == one
    two = server.call("queues.create", name=f"def-{uuid.uuid4().hex}", system_tags=["default"])["id"]
    refused(708, server.call, "queues.get_default")
    server.call("queues.delete", queue=two)
    task = make_task(server)
    assert server.call("tasks.enqueue", task=task)["fields"]["execution.queue"] == one


def test_delete(server, queue):
    tasks = enqueue(server, queue, 2)
    assert queue in refused(702, server.call, "queues.delete", queue=queue)
    assert entries(server, queue) == tasks
    assert server.call("queues.delete", queue=queue, force=True) == {"deleted": 1}
    refused(701, server.call, "queues.get_by_id", queue=queue)
    refused(701, server.call, "queues.delete", queue=queue)
    for t in tasks:
        doc = server.call("tasks.get_by_id", task=t)["task"]
        assert doc["status"] == "created" and "queue" not in doc["execution"]
        assert doc["status_reason"] == f"Queue {queue} was deleted"


# -- entries ---------------------------------------------------------------------------------------------------------

def test_first_in_first_out(server, queue):
    tasks = enqueue(server, queue, 4)
    assert entries(server, queue) == tasks
    assert server.call("queues.get_num_entries", queue=queue) == {"num": 4}
    assert server.call("queues.peek_task", queue=queue) == {"task": tasks[0]}
    for t in tasks:
        got = server.call("queues.get_next_task", queue=queue)
        assert got["entry"]["task"] == t and got["entry"]["added"].endswith("+00:00")
    assert server.call("queues.get_next_task", queue=queue) == {}
    assert server.call("queues.peek_task", queue=queue) == {"task": None}
    assert server.call("queues.get_num_entries", queue=queue) == {"num": 0}


def test_get_next_task_forms(server, queue):
    a, b = enqueue(server, queue, 2)
    assert server.call("queues.get_next_task", queue=queue, task=b) == {}  # not the first
    got = server.call("queues.get_next_task", queue=queue, task=a, get_task_info=True)
    assert got["entry"]["task"] == a and set(got["task_info"]) == {"company", "user"}
    refused(701, server.call, "queues.get_next_task", queue="0" * 32)
    assert "queue" in refused(12, server.call, "queues.get_next_task")


def test_add_and_remove(server, queue):
    task = make_task(server)
    assert server.call("queues.add_task", queue=queue, task=task) == {"added": 1}
    doc = server.call("tasks.get_by_id", task=task)["task"]
    assert doc["status"] == "created" and doc["execution"]["queue"] == queue
    refused(706, server.call, "queues.add_task", queue=queue, task=task)
    assert server.call("queues.remove_task", queue=queue, task=task) == {"removed": 1}
    refused(703, server.call, "queues.remove_task", queue=queue, task=task)
    refused(701, server.call, "queues.add_task", queue="nope", task=task)
    other = make_task(server)
    server.call("queues.add_task", queue=queue, task=other, update_execution_queue=False)
    assert "queue" not in server.call("tasks.get_by_id", task=other)["task"]["execution"]
    server.call("queues.add_task", queue=queue, task=uuid.uuid4().hex)  # need not exist
    (queued,) = enqueue(server, queue, 1)
    assert server.call("queues.remove_task", queue=queue, task=queued, update_task_status=True) == {"removed": 1}
    doc = server.call("tasks.get_by_id", task=queued)["task"]
    assert doc["status"] == "created" and doc["status_reason"] == f"Task was removed from the queue {queue}"
    (again,) = enqueue(server, queue, 1)  # without being told the task's status stays, with its reason
    server.call("queues.remove_task", queue=queue, task=again)
    doc = server.call("tasks.get_by_id", task=again)["task"]
    assert doc["status"] == "queued" and doc["status_reason"] == ""


def test_one_queue_at_a_time(server, queue):
    (task,) = enqueue(server, queue, 1)
    other = server.call("queues.create", name=f"o-{uuid.uuid4().hex}")["id"]
    server.call("tasks.enqueue", task=task, queue=other)
    assert entries(server, queue) == [] and entries(server, other) == [task]
    refused(706, server.call, "tasks.enqueue", task=task, queue=other)
    assert entries(server, other) == [task] and status(server, task) == "queued"


def test_enqueue_that_leaves_the_execution_queue(server, queue):
    """update_execution_queue=false: execution.queue stays what it is; a task that has none gets this queue. Older
    schedulers stop a task and push it into a queue of their own so, whether it had a queue or not."""
    pending = server.call("queues.create", name=f"pending-{uuid.uuid4().hex}")["id"]
    push = lambda task: server.call("tasks.enqueue", task=task, queue=pending, update_execution_queue=False)
    get = lambda task: server.call("tasks.get_by_id", task=task)["task"]
    (had,) = enqueue(server, queue, 1)
    assert server.call("queues.get_next_task", queue=queue)["entry"]["task"] == had
    server.call("tasks.stop", task=had, force=True)
    got = push(had)
    assert got["queued"] == 1 and "execution.queue" not in got["fields"]
    assert (get(had)["status"], get(had)["execution"]["queue"]) == ("queued", queue)
    never = make_task(server)
    got = push(never)
    assert got["queued"] == 1 and got["fields"]["execution.queue"] == pending
    assert (get(never)["status"], get(never)["execution"]["queue"]) == ("queued", pending)
    (waits,) = enqueue(server, queue, 1)  # still in its queue: it moves
    push(waits)
    assert (get(waits)["status"], get(waits)["execution"]["queue"]) == ("queued", queue)
    assert entries(server, queue) == [] and entries(server, pending) == [had, never, waits]
    assert "verify_watched_queue" in refused(12, server.call, "tasks.enqueue", task=make_task(server), queue=pending,
                                             update_execution_queue=False, verify_watched_queue=True)


def test_clear(server, queue):
    tasks = enqueue(server, queue, 3)
    stray = uuid.uuid4().hex
    server.call("queues.add_task", queue=queue, task=stray)
    assert server.call("queues.clear_queue", queue=queue) == {"removed_tasks": tasks}
    assert entries(server, queue) == [] and [status(server, t) for t in tasks] == ["created"] * 3
    assert {server.call("tasks.get_by_id", task=t)["task"]["status_reason"] for t in tasks} == {f"Queue {queue} was cleared"}
    assert server.call("queues.clear_queue", queue=queue) == {"removed_tasks": []}


def test_moving(server, queue):
    a, b, c, d, e = tasks = [uuid.uuid4().hex for _ in range(5)]
    for t in tasks:
        server.call("queues.add_task", queue=queue, task=t)
    move = lambda how, task, **kw: server.call(f"queues.move_task_{how}", queue=queue, task=task, **kw)["position"]
    assert move("forward", d) == 2 and entries(server, queue) == [a, b, d, c, e]
    assert move("backward", a, count=2) == 2 and entries(server, queue) == [b, d, a, c, e]
    assert move("to_front", e) == 0 and entries(server, queue) == [e, b, d, a, c]
    assert move("to_back", b) == 4 and entries(server, queue) == [e, d, a, c, b]
    assert move("forward", e, count=7) == 0 and entries(server, queue) == [e, d, a, c, b]
    assert move("backward", e, count=99) == 4 and entries(server, queue) == [d, a, c, b, e]
    refused(703, server.call, "queues.move_task_to_front", queue=queue, task=uuid.uuid4().hex)
    refused(12, server.call, "queues.move_task_forward", queue=queue, task=a, count=0)


def test_moving_many_times_between_the_same_two(server, queue):
    """Half-way places run out after some twenty moves: the queue is numbered anew and nothing is lost."""
    tasks = [uuid.uuid4().hex for _ in range(4)]
    for t in tasks:
        server.call("queues.add_task", queue=queue, task=t)
    want = list(tasks)
    for _ in range(30):
        last = want.pop()
        want.insert(1, last)
        assert server.call("queues.move_task_forward", queue=queue, task=last, count=2)["position"] == 1
        assert entries(server, queue) == want


# -- lists -----------------------------------------------------------------------------------------------------------

def test_lists(server):
    mark = uuid.uuid4().hex
    ids = [server.call("queues.create", name=f"{mark}-{i}", tags=[f"t{i}"])["id"] for i in range(3)]
    get = lambda **kw: [q["id"] for q in server.call("queues.get_all", name=mark, **kw)["queues"]]
    assert get() == ids
    assert get(order_by=["-name"]) == ids[::-1]
    assert get(tags=["t1", "t2"]) == ids[1:]
    assert get(tags=["-t1"]) == [ids[0], ids[2]]
    assert get(page=1, page_size=2) == ids[2:]
    assert get(id=[ids[2]]) == [ids[2]]
    assert server.call("queues.get_all", id=[ids[0]], only_fields=["name"])["queues"] == [{"name": f"{mark}-0"}]
    refused(14, server.call, "queues.get_all", only_fields=["nope"])
    refused(21, server.call, "queues.get_all", name="(")
    hidden = server.call("queues.create", name=f"{mark}-hidden", system_tags=["k8s-glue"])["id"]
    everything = [q["id"] for q in server.call("queues.get_all", only_fields=["id"])["queues"]]
    assert hidden not in everything and ids[0] in everything
    assert hidden in [q["id"] for q in server.call("queues.get_all", search_hidden=True)["queues"]]
    assert hidden in get()  # by name


def test_max_task_entries(server, queue):
    tasks = enqueue(server, queue, 3)
    one = server.call("queues.get_by_id", queue=queue, max_task_entries=2)["queue"]
    assert [e["task"] for e in one["entries"]] == tasks[:2]
    (many,) = server.call("queues.get_all", id=[queue], max_task_entries=1)["queues"]
    assert [e["task"] for e in many["entries"]] == tasks[:1]
    assert many["name"] == one["name"]


def test_get_all_ex(server, queue):
    task = make_task(server, "has a name")
    server.call("tasks.enqueue", task=task, queue=queue)
    gone = uuid.uuid4().hex
    server.call("queues.add_task", queue=queue, task=gone)
    worker = f"w-{uuid.uuid4().hex}"
    server.call("workers.register", worker=worker, queues=[queue])
    (q,) = server.call("queues.get_all_ex", id=[queue], only_fields=["name"])["queues"]
    assert [e["task"] for e in q["entries"]] == [{"id": task, "name": "has a name"}, {"id": gone}]
    assert set(q["company"]) == {"id"}
    (w,) = q["workers"]
    assert w["name"] == worker and w["ip"] == "127.0.0.1" and w["task"] is None and w["key"].endswith("_" + worker)
    server.call("workers.unregister", worker=worker)
    assert server.call("queues.get_all_ex", id=[queue])["queues"][0]["workers"] == []


def test_metrics(server, queue):
    refused(16, server.call, "queues.get_queue_metrics", from_date=10, to_date=10, interval=1)
    now = time.time()
    ask = lambda **kw: server.call("queues.get_queue_metrics", from_date=now - 600, to_date=now + 600, interval=5,
                                   **kw)["queues"]
    assert ask(queue_ids=[queue]) == []
    enqueue(server, queue, 3)
    (q,) = ask(queue_ids=[queue])
    assert q["queue"] == queue and len(q["dates"]) == len(q["avg_waiting_times"]) == len(q["queue_lengths"])
    assert max(q["queue_lengths"]) == 3 and all(d % 5000 == 0 for d in q["dates"])
    (total,) = ask()
    assert total["queue"] == "total" and max(total["queue_lengths"]) >= 3
    refused(701, server.call, "queues.get_queue_metrics", from_date=1, to_date=2, interval=1, queue_ids=["nope"])


# -- claiming --------------------------------------------------------------------------------------------------------

def claim(server, queues, token=None, worker="claimer", **kw):
    return server.call("x_queues.claim", queues=queues, worker=worker, token=token or uuid.uuid4().hex, **kw)


def test_claim(server, queue):
    low = server.call("queues.create", name=f"low-{uuid.uuid4().hex}")["id"]
    (second,) = enqueue(server, low, 1)
    (first,) = enqueue(server, queue, 1)
    token = uuid.uuid4().hex
    got = claim(server, [queue, low], token)
    assert (got["task"], got["queue"]) == (first, queue) and got["task_info"]["name"] == "task 0"
    doc = server.call("tasks.get_by_id", task=first)["task"]
    assert doc["status"] == "in_progress" and doc["last_worker"] == "claimer"
    again = claim(server, [queue, low], token)  # the answer was lost
    assert again == got
    assert claim(server, [queue, low])["task"] == second
    assert claim(server, [queue, low]) == {}


def test_claim_skips_what_does_not_want_to_run(server, queue):
    stopped, gone, good = enqueue(server, queue, 2) + [None]
    server.call("queues.add_task", queue=queue, task=uuid.uuid4().hex)  # no such task
    (good,) = enqueue(server, queue, 1)
    server.call("tasks.delete", task=gone, force=True)
    server.call("tasks.stop", task=stopped, force=True)
    assert claim(server, [queue])["task"] == good
    assert entries(server, queue) == []


def test_claim_refusals(server, queue):
    refused(701, claim, server, ["nope"])
    assert "queues" in refused(12, claim, server, [])
    assert "token" in refused(12, claim, server, [queue], token="short")
    assert "wait_ms" in refused(12, claim, server, [queue], wait_ms=10 ** 9)


def test_waiting_claim_is_woken(server, queue):
    low = server.call("queues.create", name=f"low-{uuid.uuid4().hex}")["id"]
    sleepers = [server.ask("x_queues.claim", queues=[queue, low], worker=f"s{i}", token=uuid.uuid4().hex, wait_ms=60000)
                for i in range(2)]
    assert claim(server, [queue, low], wait_ms=100) == {}  # asked later, answered earlier: they sleep
    assert not any(s.answered() for s in sleepers)
    a = enqueue(server, low, 1) + enqueue(server, queue, 1)
    assert sorted(s.answer()["task"] for s in sleepers) == sorted(a)
    assert {status(server, t) for t in a} == {"in_progress"}


def test_waiting_claim_ends_empty(server, queue):
    assert claim(server, [queue], wait_ms=50) == {}


def test_claims_race_for_few_tasks(server, queue):
    """Twelve claimers, five tasks: each task goes to exactly one."""
    tasks, got, lock = enqueue(server, queue, 5), [], threading.Lock()

    def one(i):
        answer = claim(server, [queue], worker=f"w{i}")
        with lock:
            got.append(answer.get("task"))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(t for t in got if t) == sorted(tasks) and got.count(None) == 7


def test_claimed_and_never_heard_of_again(server_factory, tmp_path):
    """The worker is lost; while the server itself was away it could hear nobody: that time does not count."""
    conf = tmp_path / "server.conf"
    conf.write_text("server { }\n")
    s = server_factory(["--config", str(conf)])
    queue = s.call("queues.create", name="a queue")["id"]
    (task,) = enqueue(s, queue, 1)
    assert claim(s, [queue])["task"] == task
    by_hand = make_task(s)
    s.call("tasks.started", task=by_hand)
    s.kill()
    conf.write_text("server { worker_lost_sec: 2, task_silent_sec: 4 }\n")
    time.sleep(4)
    started = time.monotonic()
    s.start()
    wait_for("the task to fail", lambda: status(s, task) == "failed")
    assert time.monotonic() - started >= 2
    doc = s.call("tasks.get_by_id", task=task)["task"]
    assert doc["status_reason"] == doc["status_message"] == "Forced stop (worker lost)" and "completed" not in doc
    wait_for("the other to be stopped", lambda: status(s, by_hand) == "stopped")
    assert time.monotonic() - started >= 4
    doc = s.call("tasks.get_by_id", task=by_hand)["task"]
    assert doc["status_reason"] == doc["status_message"] == "Forced stop (non-responsive)" and "completed" not in doc
    s.call("tasks.ping", task=by_hand)
    assert status(s, by_hand) == "in_progress"


def test_a_server_that_stood_still_takes_nobody_for_lost(server_factory, tmp_path):
    """The machine slept: nobody could be heard in that time, and it does not count either."""
    conf = tmp_path / "server.conf"
    conf.write_text("server { worker_lost_sec: 2 }\n")
    s = server_factory(["--config", str(conf)])
    queue = s.call("queues.create", name="a queue")["id"]
    (task,) = enqueue(s, queue, 1)
    assert claim(s, [queue])["task"] == task
    s.process.send_signal(signal.SIGSTOP)
    time.sleep(4)
    awake = time.monotonic()
    s.process.send_signal(signal.SIGCONT)
    wait_for("the task to fail", lambda: status(s, task) == "failed")
    assert time.monotonic() - awake >= 2


@pytest.mark.parametrize("by_hand", [False, True])
def test_who_follows_a_run_learns_at_once_that_it_was_taken_for_dead(server_factory, tmp_path, by_hand):
    """And that it lives: who watches is answered before others that wait shorter, and for nothing."""
    conf = tmp_path / "server.conf"
    conf.write_text("server { worker_lost_sec: 1, task_silent_sec: 2 }\n")
    s = server_factory(["--config", str(conf)])
    queue = s.call("queues.create", name="a queue")["id"]
    quiet, (task,) = make_task(s), enqueue(s, queue, 1)
    ask = lambda task, status, message, ms: s.ask("x_tasks.watch", task=task, status=status, status_message=message, wait_ms=ms)
    alive, dead = ("in_progress", ""), ("failed", "Forced stop (worker lost)")
    signs = {"workers.status_report": dict(worker="claimer", task=task, timestamp=int(time.time() * 1000)),
             "events.add": dict(type="log", task=task, msg="a line")}
    if by_hand:
        dead, signs = ("stopped", "Forced stop (non-responsive)"), {"tasks.ping": dict(task=task)}
        s.call("tasks.started", task=task, force=True)
    else:
        assert claim(s, [queue])["task"] == task

    def told(watch, of):
        in_vain = ask(quiet, "created", "", 20000)
        wait_for("an answer", lambda: in_vain.answered() or watch.answered())
        assert not in_vain.answered()
        got = watch.answer()
        assert (got["status"], got["status_message"]) == of

    for sign, fields in signs.items():
        console = s.ask("x_events.log", task=task, after="", wait_ms=100000)
        told(ask(task, *alive, 30000), dead)
        assert console.answer()["open"] is False
        watch = ask(task, *dead, 30000)
        s.call(sign, **fields)
        told(watch, alive)


def test_watch_tells_whose_run_it_is(server, queue):
    """By a mark of the claim, not by its token; whoever waits with another mark is told at once."""
    (task,) = enqueue(server, queue, 1)
    watch = lambda **more: server.call("x_tasks.watch", task=task, **more)
    assert watch() == {"status": "queued", "status_message": ""}
    token = uuid.uuid4().hex
    assert claim(server, [queue], token)["task"] == task
    first = watch()
    assert first["status"] == "in_progress" and len(first["run"]) == 16 and first["run"] not in token
    assert claim(server, [queue], token)["task"] == task and watch() == first
    server.call("tasks.reset", task=task, force=True)
    assert "run" not in watch()
    server.call("tasks.enqueue", task=task, queue=queue)
    assert claim(server, [queue])["task"] == task
    second = watch()
    assert second["run"] != first["run"] and second["status"] == first["status"]
    assert watch(**first, wait_ms=30000) == second  # would wait if status and message alone counted
