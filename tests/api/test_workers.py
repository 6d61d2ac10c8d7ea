"""workers.* against a running server: registration, reports, lists, statistics, properties."""
import time
import uuid

import pytest

from conftest import CallError, wait_for


@pytest.fixture
def server(shared_server):
    return shared_server


@pytest.fixture
def worker(server):
    name = f"w-{uuid.uuid4().hex}"
    yield name
    server.call("workers.unregister", worker=name)


def find(server, worker, **kw):
    found = [w for w in server.call("workers.get_all", last_seen=0, **kw)["workers"] if w["id"] == worker]
    assert len(found) <= 1
    return found[0] if found else None


def refused(subcode, call, *args, **kwargs):
    with pytest.raises(CallError) as e:
        call(*args, **kwargs)
    assert (e.value.status, e.value.subcode) == (400, subcode), str(e.value)
    return e.value.msg


def report(server, worker, at=None, **kw):
    return server.call("workers.status_report", worker=worker, timestamp=int((at or time.time()) * 1000), **kw)


def test_register_and_report(server, worker):
    queue = server.call("queues.create", name=f"q-{uuid.uuid4().hex}")["id"]
    assert server.call("workers.register", worker=worker, queues=[queue], tags=["a"], timeout=60) == {}
    w = find(server, worker)
    assert w["ip"] == "127.0.0.1" and w["tags"] == ["a"] and w["system_tags"] == []
    assert w["register_timeout"] == 60 and w["queues"] == [{"id": queue, "name": w["queues"][0]["name"], "num_tasks": 0}]
    assert w["key"] == f"worker_{w['company']['id']}_{w['user']['id']}_{worker}"
    assert "task" not in w and "last_report_time" not in w and "register_time" in w

    task = server.call("tasks.create", name="the task", type="training")["id"]
    waiting = server.call("tasks.create", name="next one", type="training")["id"]
    server.call("tasks.enqueue", task=waiting, queue=queue)
    server.call("tasks.started", task=task)
    assert report(server, worker, task=task, queue=queue, tags=None) == {}
    w = find(server, worker)
    assert w["task"]["id"] == task and w["task"]["name"] == "the task" and w["task"]["last_iteration"] == 0
    assert w["task"]["running_time"] >= 0
    assert w["queue"]["id"] == queue and w["queue"]["num_tasks"] == 1
    assert w["queue"]["next_task"] == {"id": waiting, "name": "next one"}
    assert w["queues"][0]["id"] == queue, "a report without queues leaves them"
    assert w["tags"] == [], "a report without tags clears them"
    assert w["last_report_time"] >= w["register_time"]
    assert server.call("tasks.get_by_id", task=task)["task"]["last_worker"] == worker

    report(server, worker)
    assert "task" not in find(server, worker)
    assert server.call("workers.unregister", worker=worker) == {}
    assert find(server, worker) is None
    assert server.call("workers.unregister", worker=worker) == {}, "an unknown one is fine"


def test_report_of_a_stranger_registers(server, worker):
    report(server, worker)
    w = find(server, worker)
    assert w["queues"] == [] and w["register_timeout"] == 600
    report(server, worker, x_timeout=90)  # the timeout it would have registered with
    assert find(server, worker)["register_timeout"] == 90
    report(server, worker)
    assert find(server, worker)["register_timeout"] == 90
    assert "x_timeout" in refused(1002, report, server, worker, x_timeout=-1)


def test_worker_without_a_report_is_gone(server, worker):
    """It left no word: after its timeout it is not there any more."""
    server.call("workers.register", worker=worker, timeout=1)
    wait_for("the worker to be gone", lambda: find(server, worker) is None)
    report(server, worker, x_timeout=1)
    wait_for("the worker to be gone again", lambda: find(server, worker) is None)


def test_refusals(server, worker):
    refused(701, server.call, "workers.register", worker=worker, queues=["nope"])
    refused(1002, server.call, "workers.register", worker=worker, timeout=-1)
    refused(101, report, server, worker, task="nope")
    assert "timestamp" in refused(12, server.call, "workers.status_report", worker=worker)
    assert find(server, worker) is None, "what was refused changed nothing"


def test_resources_reach_the_queue(server, worker):
    queue = server.call("queues.create", name=f"q-{uuid.uuid4().hex}")["id"]
    server.call("workers.register", worker=worker, queues=[queue], resources={"cpu_usage": 1, "gpu_usage": 0.5})
    assert server.call("queues.get_by_id", queue=queue)["queue"]["resources"] == {"cpu_usage": 1, "gpu_usage": 0.5}


def test_filters(server):
    mark = uuid.uuid4().hex
    for name, tags in ((f"{mark}-a", ["x"]), (f"{mark}-b", ["x", "y"]), (f"{mark}-c", [])):
        server.call("workers.register", worker=name, tags=tags, system_tags=["s"])
    names = lambda **kw: [w["id"][-1] for w in server.call("workers.get_all", worker_pattern=f"{mark}*", **kw)["workers"]]
    assert names() == ["a", "b", "c"]
    assert names(tags=["x"]) == ["a", "b"]
    assert names(tags=["x", "-y"]) == ["a"]
    assert names(tags=["-x"], system_tags=["s"]) == ["c"]
    assert names(tags=["x"], system_tags=["-s"]) == []
    assert server.call("workers.get_count", worker_pattern=f"{mark}-?") == {"count": 3}
    assert server.call("workers.get_count", worker_pattern=f"{mark}-?", tags=["y"]) == {"count": 1}
    assert server.call("workers.get_count", worker_pattern=mark) == {"count": 0}


# -- statistics ------------------------------------------------------------------------------------------------------

def test_stats(server, worker):
    refused(1005, server.call, "workers.get_metric_keys", worker_ids=[worker])
    start = time.time() // 40 * 40 - 400
    for i in range(10):
        report(server, worker, start + 40 * i + 1,
               machine_stats={"cpu_usage": [10 + i, 20 + i], "memory_free": 5, "disk_read": 0, "gpu_usage": [50, 70]})
    keys = {c["name"]: c["metric_keys"]
            for c in server.call("workers.get_metric_keys", worker_ids=[worker])["categories"]}
    assert keys == {"cpu": ["cpu_usage"], "memory": ["memory_free"], "gpu": ["gpu_usage"]}, "zeros are not measured"

    stats = server.call("workers.get_stats", worker_ids=[worker], from_date=start, to_date=start + 400, interval=1,
                        split_by_resource=True,
                        items=[{"key": "cpu_usage", "aggregation": a} for a in ("avg", "max", "min")] +
                        [{"key": "gpu_usage"}])["workers"]
    assert [w["worker"] for w in stats] == [worker]
    cpu, gpu = stats[0]["metrics"]
    assert cpu["metric"] == "cpu_usage" and [s["aggregation"] for s in cpu["stats"]] == ["avg", "max", "min"]
    avg, top, low = cpu["stats"]
    assert avg["dates"] == [int(start + 40 * i) * 1000 for i in range(10)]
    assert avg["values"] == [15 + i for i in range(10)]
    assert top["values"] == [20 + i for i in range(10)] and low["values"] == [10 + i for i in range(10)]
    assert avg["resource_series"] == []
    assert gpu["stats"][0]["values"] == [60] * 10
    assert gpu["stats"][0]["resource_series"] == [{"name": "0", "values": [50] * 10}, {"name": "1", "values": [70] * 10}]

    empty = server.call("workers.get_stats", worker_ids=[worker], from_date=start, to_date=start + 800, interval=40,
                        items=[{"key": "memory_free", "aggregation": "avg"}])["workers"][0]["metrics"][0]["stats"][0]
    assert set(empty["values"]) == {5, 0} and len(empty["values"]) in (19, 20)
    assert server.call("workers.get_stats", worker_ids=["nobody"], from_date=start, to_date=start + 400, interval=40,
                       items=[{"key": "cpu_usage"}])["workers"] == []
    refused(16, server.call, "workers.get_stats", from_date=5, to_date=5, interval=1, items=[{"key": "cpu_usage"}])
    refused(12, server.call, "workers.get_stats", from_date=4, to_date=5, interval=1, items=[])


def test_spans_that_are_too_much(server, worker):
    """Of time, of intervals, of values in all: refused by the name of the field, and the server lives on."""
    now = int(time.time())
    report(server, worker, now - 20, machine_stats={"gpu_usage": [50] * 1000, "cpu_usage": [10]})
    items = {"items": [{"key": "gpu_usage", "aggregation": "avg"}, {"key": "cpu_usage", "aggregation": "max"}]}
    for interval in (10 ** 20, 2 ** 63 - 1, 10 ** 12):
        for call, more in (("workers.get_activity_report", {}), ("workers.get_stats", items), ("queues.get_queue_metrics", {})):
            assert "interval" in refused(16, server.call, call, from_date=1, to_date=100, interval=interval, **more)
    ask = lambda span, **more: server.call("workers.get_stats", worker_ids=[worker], from_date=now - span, to_date=now + 60,
                                           interval=40, **items, **more)["workers"]
    assert "interval" in refused(16, ask, 3_000_000, split_by_resource=True)
    (one,) = ask(3_000_000)
    assert [max(m["stats"][0]["values"]) for m in one["metrics"]] == [50, 10]
    (one,) = ask(4000, split_by_resource=True)
    assert len(one["metrics"][0]["stats"][0]["resource_series"]) == 1000


def test_activity(server, worker):
    task = server.call("tasks.create", name="active", type="training")["id"]
    start = time.time() // 40 * 40 - 40 * 1000  # a time of its own, so that other tests do not count
    for i in range(10):
        report(server, worker, start + 40 * i, machine_stats={"cpu_usage": [1]}, task=task if i % 2 else None)
    got = server.call("workers.get_activity_report", from_date=start, to_date=start + 400, interval=40)
    assert got["total"]["dates"] == [int(start + 40 * i) * 1000 for i in range(10)] == got["active"]["dates"]
    assert got["total"]["counts"] == [1] * 10 and got["active"]["counts"] == [0, 1] * 5


# -- runtime properties ----------------------------------------------------------------------------------------------

def test_runtime_properties(server, worker):
    get = lambda: server.call("workers.get_runtime_properties", worker=worker)["runtime_properties"]
    assert get() == []
    put = lambda *items: server.call("workers.set_runtime_properties", worker=worker, runtime_properties=list(items))
    assert put({"key": "max_num_instances", "value": "-1"}, {"key": "b", "value": {"n": 1}}) == {"added": 2, "errors": []}
    assert get() == [{"key": "b", "value": {"n": 1}}, {"key": "max_num_instances", "value": "-1"}]
    put({"key": "b", "value": "other", "expiry": 3600})
    assert get()[0]["value"] == "other" and get()[0]["expiry"]
    put({"key": "b", "value": "gone", "expiry": 0})
    assert [p["key"] for p in get()] == ["max_num_instances"]
    refused(12, put, {"value": "no key"})
