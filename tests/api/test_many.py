"""The _many calls: what a failure of one id tells, as the reference tells it (`error.data`)."""
import pytest


@pytest.fixture
def s(shared_server):
    return shared_server


def task(s, **fields):
    return s.call("tasks.create", name="a task", type="training", **fields)["id"]


def model(s, **fields):
    return s.call("models.create", name="a model", uri="file:///m", **fields)["id"]


def failed(s, call, ids, **fields):
    """[(id, codes, data)] of those that failed; each has words, too."""
    items = s.call(call, ids=ids, **fields)["failed"]
    assert all(set(i) == {"id", "error"} and set(i["error"]) == {"codes", "msg", "data"} and i["error"]["msg"] for i in items)
    return [(i["id"], i["error"]["codes"], i["error"]["data"]) for i in items]


TASK_CALLS = ["stop_many", "publish_many", "enqueue_many", "reset_many", "delete_many", "archive_many", "unarchive_many"]


def test_unknown_ids(s):
    company, none = s.call("users.get_current_user")["user"]["company"]["id"], "0" * 32
    told = {"id": none, "company": company}
    for call in TASK_CALLS:
        assert failed(s, f"tasks.{call}", [none, none]) == [(none, [400, 101], told)] * 2, call
    for call in ("publish_many", "delete_many", "archive_many", "unarchive_many"):
        assert failed(s, f"models.{call}", [none]) == [(none, [400, 201], told)], call


def test_status_forbids(s):
    draft, running, done = task(s), task(s), task(s)
    for t in (running, done):
        s.call("tasks.started", task=t)
    s.call("tasks.completed", task=done, publish=True)
    change = lambda old, new: {"current_status": old, "new_status": new}
    assert failed(s, "tasks.stop_many", [draft]) == [(draft, [400, 110], change("created", "stopped"))]
    assert failed(s, "tasks.publish_many", [draft, running]) == [
        (draft, [400, 110], change("created", "published")), (running, [400, 110], change("in_progress", "published"))]
    assert failed(s, "tasks.reset_many", [done]) == [(done, [400, 110], change("published", "created"))]
    assert failed(s, "tasks.enqueue_many", [done], queue_name="many") == [(done, [400, 110], change("published", "queued"))]
    assert failed(s, "tasks.delete_many", [running]) == [
        (running, [400, 123], {"task": running, "expected": "created", "current": "in_progress"})]


def test_what_hangs_on_it_forbids(s):
    parent = task(s)
    for ready in (True, True, False):
        model(s, task=parent, ready=ready)
    child = task(s, parent=parent)
    s.call("tasks.started", task=child)
    s.call("tasks.completed", task=child, publish=True)
    for call in ("tasks.delete_many", "tasks.reset_many"):
        assert failed(s, call, [parent]) == [(parent, [400, 123], {"task": parent, "children": 1, "models": 2})]
    used, ready = model(s), model(s)
    for t in (task(s), task(s)):
        s.call("tasks.add_or_update_model", task=t, name="in", model=used, type="input")
    assert failed(s, "models.delete_many", [used]) == [(used, [400, 205], {"num_tasks": 2})]
    company = s.call("users.get_current_user")["user"]["company"]["id"]
    assert failed(s, "models.publish_many", [ready]) == [(ready, [400, 203], {"company": company, "model": ready})]
    maker = task(s)
    made = model(s, task=maker)
    s.call("tasks.started", task=maker)
    s.call("tasks.completed", task=maker, publish=True)
    assert failed(s, "models.delete_many", [made]) == [(made, [400, 206], {"task": maker})]


def test_queues(s):
    t, none = task(s), "0" * 32
    assert failed(s, "tasks.enqueue_many", [t], queue=none) == [(t, [400, 701], {"queue": none})]
    s.call("tasks.enqueue_many", ids=[t], queue_name="many")
    assert failed(s, "tasks.enqueue_many", [t], queue_name="many") == [(t, [400, 706], {"task": t})]


def test_each_tells_of_itself(s):
    """Nothing of one failure is told with the next."""
    none, draft = "0" * 32, task(s)
    (_, _, first), (_, _, second), (_, codes, third) = failed(
        s, "tasks.enqueue_many", [none, draft, draft], queue_name="ab", queue="0" * 32)
    assert set(first) == {"id", "company"} and second == third == {} and codes == [400, 12]
