"""What tasks report, against the real server: events.* and x_events.* (the console: test_console.py), with the cases of public bug reports."""
import hashlib
import json
import math
import sqlite3

import pytest

from conftest import CallError, wait_for

SINGLE = -2147483648
SDK = {"X-ClearML-Client": "clearml-2.1.12"}


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


def scalar(task, iteration, value, metric="m", variant="v", **more):
    return {"type": "training_stats_scalar", "task": task, "iter": iteration, "metric": metric, "variant": variant,
            "value": value, "timestamp": 1_700_000_000_000 + max(iteration or 0, 0), **more}


def log(task, msg, t, **more):
    return {"type": "log", "task": task, "msg": msg, "timestamp": t, "level": "INFO", "worker": "w", **more}


@pytest.fixture
def task(shared_server):
    return shared_server.call("tasks.create", name="test events", type="training")["id"]


def strict(server, name, **fields):
    """The data of a call, read by a JSON reader that refuses NaN (a browser's)."""
    status, _, body = server.raw(f"/{name}", json.dumps(fields).encode(), server.auth())
    assert status == 200, body

    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(body, parse_constant=refuse)["data"]


def last_metric(server, task, metric="m", variant="v", headers=None):
    t = server.call("tasks.get_by_id", task=task, _headers=headers)["task"]
    return t["last_metrics"][md5(metric)][md5(variant)]


# -- adding ------------------------------------------------------------------------------------------------------------


def test_add_and_read_back(shared_server, task):
    s = shared_server
    got = s.batch("events.add_batch", [scalar(task, i, i / 10, method="get") for i in range(20)])
    assert got == {"added": 20, "errors": 0, "errors_info": {}}
    h = s.call("events.scalar_metrics_iter_histogram", task=task)
    assert h == {"m": {"v": {"name": "v", "x": list(range(20)), "y": [i / 10 for i in range(20)]}}}
    events = s.call("events.get_task_events", task=task, event_type="training_stats_scalar")
    assert events["returned"] == events["total"] == 20
    first = events["events"][0]
    assert first["@timestamp"].endswith("Z") and first["worker"] == "<unknown>"
    del first["@timestamp"], first["worker"]
    assert first == {"type": "training_stats_scalar", "task": task, "iter": 0, "metric": "m", "variant": "v", "value": 0.0,
                     "timestamp": 1_700_000_000_000, "method": "get", "model_event": False}
    assert s.call("tasks.get_by_id", task=task)["task"]["last_iteration"] == 19


def test_last_metrics(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [scalar(task, i, v) for i, v in [(2, 5), (3, 1), (4, 2)]])
    first = last_metric(s, task)
    assert first == {"metric": "m", "variant": "v", "value": 2, "min_value": 1, "min_value_iteration": 3, "max_value": 5,
                     "max_value_iteration": 2, "first_value": 5, "first_value_iteration": 2, "count": 3,
                     "mean_value": 2.67}
    s.batch("events.add_batch", [scalar(task, i, v) for i, v in [(0, 0.5), (1, 7)]])  # older iterations, a later batch
    assert last_metric(s, task) == {
        "metric": "m", "variant": "v", "value": 7, "min_value": 0.5, "min_value_iteration": 0, "max_value": 7,
        "max_value_iteration": 1, "first_value": 5, "first_value_iteration": 2, "count": 5,
        "mean_value": round((2.67 * 3 + 7.5) / 5, 2)}
    t = s.call("tasks.get_by_id", task=task)["task"]
    assert t["unique_metrics"] == ["m/v"]
    assert t["metric_stats"][md5("m")]["metric"] == "m"
    assert t["metric_stats"][md5("m")]["event_stats_by_type"]["training_stats_scalar"]["last_update"] > 1_700_000_000_000
    assert t["last_iteration"] == 4


def test_the_later_batch_wins(shared_server, task):
    s = shared_server
    for value in (1, 2, 3):
        s.batch("events.add_batch", [scalar(task, 5, value)])
    assert s.call("events.scalar_metrics_iter_histogram", task=task)["m"]["v"] == {"name": "v", "x": [5], "y": [3]}
    assert s.call("events.get_task_events", task=task)["total"] == 1


def test_errors_are_counted_by_event(shared_server, task):
    s = shared_server
    bad = [{"task": task}, {"type": "nonsense", "task": task}, {"type": "log"}, scalar("0" * 32, 1, 1),
           scalar(task, 1, True), scalar(task, 1, "abc"), scalar(task, 1, 10 ** 400 + 0), scalar(task, 2 ** 70, 1)]
    got = s.batch("events.add_batch", bad + [scalar(task, 1, 1)])
    assert got["added"] == 1 and got["errors"] == len(bad)
    assert sum(got["errors_info"].values()) == len(bad)
    with pytest.raises(CallError) as e:
        s.batch("events.add_batch", bad)
    assert (e.value.code, e.value.subcode) == (400, 131)
    with pytest.raises(CallError) as e:
        s.batch("events.add_batch", [])
    assert (e.value.code, e.value.subcode) == (400, 17)
    assert s.fails("events.add_batch") == (400, 17)
    with pytest.raises(CallError) as e:
        s.batch("events.add_batch", [scalar(task, 1, 9), scalar(task, 2, 9, allow_locked=True)])
    assert (e.value.code, e.value.subcode) == (400, 12)
    assert s.call("events.scalar_metrics_iter_histogram", task=task)["m"]["v"]["y"] == [1]


@pytest.mark.parametrize("body", [b"{", b"[1]\n", b"{}\n\n{}\n", b"nonsense"])
def test_malformed_lines_refuse_the_whole_batch(shared_server, task, body):
    good = json.dumps(scalar(task, 1, 1)).encode() + b"\n"
    status, _, out = shared_server.raw("/events.add_batch", good + body,
                                       {"Content-Type": "application/json-lines", **shared_server.auth()})
    assert (status, json.loads(out)["meta"]["result_subcode"]) == (400, 0)
    assert shared_server.call("events.scalar_metrics_iter_histogram", task=task) == {}


def test_add_takes_one_event(shared_server, task):
    s = shared_server
    assert s.call("events.add", **scalar(task, 3, 1.5)) == {"added": 1, "errors": 0, "errors_info": {}}
    assert s.call("events.scalar_metrics_iter_histogram", task=task)["m"]["v"]["x"] == [3]
    assert s.fails("events.add", task=task) == (400, 131)
    assert s.call("events.add_batch", **scalar(task, 4, 2.5))["added"] == 1  # a plain object is a batch of one


def test_published_tasks_are_locked(shared_server, task):
    s = shared_server
    s.call("tasks.started", task=task, force=True)
    s.call("tasks.stopped", task=task, force=True)
    s.call("tasks.publish", task=task, force=True)
    with pytest.raises(CallError) as e:
        s.batch("events.add_batch", [scalar(task, 1, 1)])
    assert (e.value.code, e.value.subcode) == (400, 131)
    assert s.batch("events.add_batch", [scalar(task, 1, 1, allow_locked=True)])["added"] == 1
    assert s.fails("events.clear_task_log", task=task) == (400, 101)


def test_reset_hides_all_events_at_once(shared_server, task):
    s = shared_server
    plot = {"type": "plot", "task": task, "metric": "p", "variant": "v", "iter": 1, "plot_str": "{}"}
    s.batch("events.add_batch", [scalar(task, 1, 1), log(task, "hello", 5), plot])
    s.call("tasks.reset", task=task, force=True)
    assert s.call("events.scalar_metrics_iter_histogram", task=task) == {}
    assert s.call("events.get_task_log", task=task)["events"] == []
    assert s.call("events.get_task_plots", task=task)["plots"] == []
    assert s.call("tasks.get_by_id", task=task)["task"].get("last_metrics", {}) == {}
    s.batch("events.add_batch", [scalar(task, 7, 7)])
    assert last_metric(s, task)["first_value"] == 7 and last_metric(s, task)["count"] == 1


def test_unknown_task_is_refused(shared_server):
    for name in ("scalar_metrics_iter_histogram", "get_task_log", "get_task_plots", "get_task_events"):
        assert shared_server.fails(f"events.{name}", task="1" * 32) == (400, 101)
    assert shared_server.fails("x_events.scalars", task="1" * 32) == (400, 101)
    assert shared_server.fails("x_events.log", task="1" * 32) == (400, 101)


# -- NaN and infinities (bug reports: 1.0, NaN, +Inf, 2.0) -----------------------------------------------------------------


def test_nan_is_kept_counted_and_never_averaged(shared_server, task):
    s = shared_server
    values = [1.0, math.nan, math.inf, 2.0, "NaN", "-Infinity"]
    s.batch("events.add_batch", [scalar(task, 0, None, metric="null"), scalar(task, 1, 1.0, metric="null")])
    curve = strict(s, "x_events.scalars", task=task, metrics=[{"metric": "null"}])["series"][0]
    assert curve["x"] == [0, 1] and curve["y"] == [None, 1]
    assert s.batch("events.add_batch", [scalar(task, i, v) for i, v in enumerate(values)])["added"] == 6
    y = s.call("events.scalar_metrics_iter_histogram", task=task, _headers=SDK)["m"]["v"]["y"]
    assert y[0] == 1 and math.isnan(y[1]) and y[2] == math.inf and y[3] == 2 and math.isnan(y[4]) and y[5] == -math.inf
    assert strict(s, "events.scalar_metrics_iter_histogram", task=task)["m"]["v"]["y"] == [1, None, None, 2, None, None]
    last = last_metric(s, task, headers=SDK)
    assert (last["min_value"], last["max_value"], last["mean_value"], last["count"]) == (1, 2, 1.5, 6)
    assert last["value"] == -math.inf
    page = last_metric(s, task, headers={"X-Stoker-Request": "1"})  # our page reads words, which tell one from the other
    assert (page["value"], page["max_value"]) == ("-Infinity", 2)
    got = strict(s, "x_events.scalars", task=task)["series"][0]
    assert got["y"] == [1, None, None, 2, None, None] and got["nan"] == [0, 1, 0, 0, 1, 0] and got["inf"] == [0, 0, 1, 0, 0, 1]
    assert got["minus_inf"] == [0, 0, 0, 0, 0, 1]
    assert got["last"] == "-Infinity" and got["last_iter"] == 5


def test_nan_outside_values_is_null(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [scalar(task, 1, 1, stray=[math.nan, math.inf], method="NaN"), log(task, "x", 1, stray=math.nan)])
    events = strict(s, "events.get_task_events", task=task)["events"]
    assert events[0]["stray"] == [None, None] and events[0]["method"] == "NaN" and events[1]["stray"] is None


def test_only_nan(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [scalar(task, 1, math.nan)])
    assert strict(s, "tasks.get_by_id", task=task)["task"]["last_metrics"][md5("m")][md5("v")]["value"] is None
    assert math.isnan(last_metric(s, task, headers=SDK)["value"])
    assert last_metric(s, task, headers={"X-Stoker-Request": "1"})["value"] == "NaN"


# -- histograms ------------------------------------------------------------------------------------------------------------


def test_sampling_means_of_equal_stretches(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [scalar(task, i, i) for i in range(100)])
    got = s.call("events.scalar_metrics_iter_histogram", task=task, samples=10)["m"]["v"]
    assert got["x"] == list(range(0, 100, 10)) and got["y"] == [i + 4.5 for i in range(0, 100, 10)]
    assert len(s.call("events.scalar_metrics_iter_histogram", task=task, samples=100)["m"]["v"]["x"]) == 100
    by_time = s.call("events.scalar_metrics_iter_histogram", task=task, key="timestamp")["m"]["v"]
    assert by_time["x"][0] == 1_700_000_000_000 and len(by_time["x"]) == 100
    iso = s.call("events.scalar_metrics_iter_histogram", task=task, key="iso_time")["m"]["v"]
    assert iso["x"][0] == "2023-11-14T22:13:20.000Z"
    assert s.fails("events.scalar_metrics_iter_histogram", task=task, samples=0) == (400, 12)
    assert s.fails("events.scalar_metrics_iter_histogram", task=task, key="nonsense") == (400, 12)


def test_exact_values(shared_server, task):
    values = [0.1, 1 / 3, 1e-300, 1.7976931348623157e308, 5e-324, 123456789.123456789, -0.0]
    shared_server.batch("events.add_batch", [scalar(task, i, v) for i, v in enumerate(values)])
    assert shared_server.call("events.scalar_metrics_iter_histogram", task=task)["m"]["v"]["y"] == values


def test_150_metrics_all_there(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [scalar(task, i, i, metric=str(n), variant="series") for n in range(150) for i in range(3)])
    h = s.call("events.scalar_metrics_iter_histogram", task=task)
    assert sorted(h) == sorted(str(n) for n in range(150))
    assert len(s.call("tasks.get_by_id", task=task)["task"]["unique_metrics"]) == 150
    one = s.call("events.scalar_metrics_iter_histogram", task=task, metrics=[{"metric": "7"}, {"metric": "8", "variants": ["x"]}])
    assert list(one) == ["7"]


def test_odd_names(shared_server, task):
    s = shared_server
    names = ["", "a/b", "loss.a/b", "train $x", "ünï", "tab\there", 'quote"', "\u0000nul", "💥", "a" * 500]
    s.batch("events.add_batch", [scalar(task, 1, 1, metric=n, variant=n) for n in names])
    h = s.call("events.scalar_metrics_iter_histogram", task=task)
    for n in names:
        n = n.replace("\u0000", "\ufffd")
        assert h[n][n]["y"] == [1]
    assert md5("ünï") in s.call("tasks.get_by_id", task=task)["task"]["last_metrics"]


def test_multi_task_histogram(shared_server):
    s = shared_server
    tasks = [s.call("tasks.create", name=f"multi {i}", type="training")["id"] for i in range(2)]
    for t in tasks:
        s.batch("events.add_batch", [scalar(t, i, i, metric=m, variant=v) for i in range(10) for m in "ab" for v in "xy"])
    got = s.call("events.multi_task_scalar_metrics_iter_histogram", tasks=tasks)["metrics"]
    assert sorted(got) == ["a", "b"] and sorted(got["a"]) == ["x", "y"] and sorted(got["a"]["x"]) == sorted(tasks)
    assert got["a"]["x"][tasks[0]] == {"name": "multi 0", "x": list(range(10)), "y": list(range(10))}
    assert s.fails("events.multi_task_scalar_metrics_iter_histogram", tasks=["1" * 32]) == (400, 101)
    assert s.fails("events.multi_task_scalar_metrics_iter_histogram", tasks=tasks * 51) == (400, 12)


def test_single_values(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [scalar(task, SINGLE, 0.5, metric="Summary", variant="final")])
    s.batch("events.add_batch", [scalar(task, SINGLE, 0.7, metric="Summary", variant="final")])
    assert s.call("events.scalar_metrics_iter_histogram", task=task) == {}
    got = s.call("events.get_task_single_value_metrics", tasks=[task])["tasks"]
    assert got[0]["task"] == task and got[0]["task_name"] == "test events" and len(got[0]["values"]) == 1
    assert got[0]["values"][0]["value"] == 0.7 and got[0]["values"][0]["metric"] == "Summary"
    assert s.call("events.get_task_metrics", tasks=[task])["metrics"] == [{"task": task, "metrics": []}]
    assert last_metric(s, task, "Summary", "final")["value"] == 0.7
    assert s.call("tasks.get_by_id", task=task)["task"]["last_iteration"] == 0
    raw = s.call("events.scalar_metrics_iter_raw", task=task, metric={"metric": "Summary"})
    assert raw["variants"] == {"final": {"iter": [SINGLE], "y": [0.7]}}


# -- raw pages -------------------------------------------------------------------------------------------------------------


def test_raw_pages(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [scalar(task, i, i, variant=v) for i in range(50) for v in "ab"])
    seen, scroll, pages = [], None, 0
    while True:
        got = s.call("events.scalar_metrics_iter_raw", task=task, metric={"metric": "m"}, count_total=True,
                     **({"scroll_id": scroll} if scroll else {"batch_size": 15}))  # the scroll remembers the size
        assert got["total"] == 100
        if not got["returned"]:
            assert got["variants"] == {}
            break
        seen += got["variants"]["a"]["iter"]
        assert got["variants"]["a"]["iter"] == got["variants"]["b"]["iter"] == got["variants"]["a"]["y"]
        scroll, pages = got["scroll_id"], pages + 1
    assert seen == list(range(50)) and pages == 7
    assert s.fails("events.scalar_metrics_iter_raw", task=task, metric={"metric": "m"}, scroll_id=scroll + "x") == (400, 1104)
    assert s.fails("events.scalar_metrics_iter_raw", task=task, metric={"metric": "m"}, scroll_id="nonsense") == (400, 1104)
    assert s.fails("events.get_task_events", task=task, scroll_id=scroll) == (400, 1104)


def test_get_task_events_pages(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [scalar(task, i, i) for i in range(-5, 6)] + [log(task, f"l{i}", i) for i in range(7)])
    for order, want in (("asc", list(range(-5, 6))), ("desc", list(range(5, -6, -1)))):
        iters, logs, scroll = [], [], None
        while True:
            got = s.call("events.get_task_events", task=task, batch_size=3, order=order,
                         **({"scroll_id": scroll} if scroll else {}))
            if not got["returned"]:
                break
            assert got["total"] == 18
            iters += [e["iter"] for e in got["events"] if e["type"] != "log"]
            logs += [e["msg"] for e in got["events"] if e["type"] == "log"]
            scroll = got["scroll_id"]
        assert iters == want and logs == [f"l{i}" for i in range(7)]


# -- plots and images ----------------------------------------------------------------------------------------------------------


def plot(task, iteration, metric="p", variant="v", text="{}", **more):
    return {"type": "plot", "task": task, "iter": iteration, "metric": metric, "variant": variant, "plot_str": text, **more}


def image(task, iteration, url, metric="img", variant="v", **more):
    return {"type": "training_debug_image", "task": task, "iter": iteration, "metric": metric, "variant": variant, "url": url,
            "timestamp": 1000 + iteration, **more}


def test_plots(shared_server, task):
    s = shared_server
    small, big = json.dumps({"data": [{"x": [1]}]}), json.dumps({"data": [{"x": list(range(60000))}], "ü": "💥"})
    s.batch("events.add_batch", [plot(task, 1, "a", "x", small), plot(task, 2, "a", "x", big), plot(task, 2, "b", "y", small)])
    got = s.call("events.get_task_plots", task=task)
    assert [(p["metric"], p["variant"], p["iter"]) for p in got["plots"]] == [("a", "x", 2), ("b", "y", 2)]
    assert got["plots"][0]["plot_str"] == big and got["plots"][0]["plot_len"] == len(big)
    assert got["returned"] == 2 and got["scroll_id"] is None
    got = s.call("events.get_task_plots", task=task, iters=5, metrics=[{"metric": "a"}])
    assert [p["iter"] for p in got["plots"]] == [2, 1]
    s.batch("events.add_batch", [plot(task, 2, "b", "y", '{"source": "s3://bucket/a.png"}')])
    got = s.call("events.get_task_plots", task=task, metrics=[{"metric": "b"}])["plots"]
    assert len(got) == 1 and got[0]["source_urls"] == ["s3://bucket/a.png"]


def test_a_large_plot_between_small_ones(server_factory):
    """Every plot that fits into a request is stored; a request over the limit is refused whole, and its words name the limit."""
    s = server_factory(["--max-request-mb", "40"])
    task = s.call("tasks.create", name="large plots", type="training")["id"]
    small, large = json.dumps({"data": []}), json.dumps({"data": [{"cells": {"values": ["x" * (30 << 20)]}}]})
    got = s.batch("events.add_batch", [plot(task, 1, "a", "v", small), plot(task, 1, "b", "v", large), plot(task, 1, "c", "v", small)])
    assert got == {"added": 3, "errors": 0, "errors_info": {}}
    found = {p["metric"]: p["plot_str"] for p in s.call("events.get_task_plots", task=task)["plots"]}
    assert found == {"a": small, "b": large, "c": small}
    with pytest.raises(CallError) as e:
        s.batch("events.add_batch", [plot(task, 1, "d", "v", small), plot(task, 1, "e", "v", large), plot(task, 1, "f", "v", large)])
    assert e.value.status == 413 and f"limit of {40 << 20} bytes" in e.value.msg
    mixed = [plot(task, 2, "d", "v", small), plot(task, 2 ** 70, "e", "x", small), plot(task, 2, "f", "v", small),
             plot(task, 2, "g", "y", {"data": []})]
    got = s.batch("events.add_batch", mixed)  # one that cannot be stored takes no other with it, and is named
    assert (got["added"], got["errors"]) == (2, 2)
    first, second = sorted(got["errors_info"])
    assert first.startswith("iter must be") and first.endswith("(metric e, variant x)")
    assert second == "plot_str must be a string (metric g, variant y)"
    got = s.batch("events.add_batch", [plot(task, 2, "x" + "ü" * 100, "v", 5), plot(task, 2, "h", "v", small)])
    assert list(got["errors_info"]) == ["plot_str must be a string (metric x" + "ü" * 39 + ", variant v)"]
    assert [p["metric"] for p in s.call("events.get_task_plots", task=task)["plots"]] == ["a", "b", "c", "d", "f", "h"]


def test_plots_walk(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [plot(task, i, "a", v, str(i)) for i in range(3) for v in "xy"])
    got = s.call("events.plots", metrics=[{"task": task}], iters=1)
    page = got["metrics"][0]
    assert page["task"] == task and [i["iter"] for i in page["iterations"]] == [2]
    assert [e["variant"] for e in page["iterations"][0]["events"]] == ["x", "y"]
    got = s.call("events.plots", metrics=[{"task": task}], iters=1, scroll_id=got["scroll_id"])
    assert [i["iter"] for i in got["metrics"][0]["iterations"]] == [1]
    got = s.call("events.plots", metrics=[{"task": task}], iters=1, scroll_id=got["scroll_id"], navigate_earlier=False)
    assert [i["iter"] for i in got["metrics"][0]["iterations"]] == [2]
    assert s.call("events.debug_images", metrics=[{"task": task}], scroll_id=got["scroll_id"])["metrics"][0]["iterations"] == []


def test_debug_images(shared_server, task):
    s = shared_server
    empty = s.call("events.debug_images", metrics=[{"task": task, "metric": "img"}], iters=5)
    assert empty["metrics"] == [{"task": task, "iterations": []}] and empty["scroll_id"]
    s.batch("events.add_batch", [image(task, i, f"http://h/{i % 3}.png") for i in range(5)])
    got = s.call("events.debug_images", metrics=[{"task": task, "metric": "img"}], iters=2)
    scroll = got["scroll_id"]
    assert [i["iter"] for i in got["metrics"][0]["iterations"]] == [4, 3]
    got = s.call("events.debug_images", metrics=[{"task": task, "metric": "img"}], iters=2, scroll_id=scroll)
    assert [i["iter"] for i in got["metrics"][0]["iterations"]] == [2]  # 0 and 1 were overwritten by 3 and 4
    got = s.call("events.debug_images", metrics=[{"task": task, "metric": "img"}], iters=2, scroll_id=scroll)
    assert got["metrics"][0]["iterations"] == []
    s.batch("events.add_batch", [image(task, 9, "http://h/new.png")])
    got = s.call("events.debug_images", metrics=[{"task": task, "metric": "img"}], iters=1, scroll_id=scroll, refresh=True)
    assert [i["iter"] for i in got["metrics"][0]["iterations"]] == [9]
    old = s.call("events.debug_images", task=task, iters=1, _version="1.8")
    assert [e["iter"] for e in old["images"]] == [9] and old["task"] == task


def test_image_sent_again_replaces(shared_server, task):
    s = shared_server
    for url in ("http://h/a.png", "http://h/b.png"):
        s.batch("events.add_batch", [image(task, 1, url)])
    events = s.call("events.get_task_events", task=task, event_type="training_debug_image")["events"]
    assert [e["url"] for e in events] == ["http://h/b.png"]


def test_multi_task_plots(shared_server):
    s = shared_server
    tasks = [s.call("tasks.create", name=f"plots {i}", type="training")["id"] for i in range(2)]
    for t in tasks:
        s.batch("events.add_batch", [plot(t, i, "a", v, str(i)) for i in range(3) for v in "xy"])
    got = s.call("events.get_multi_task_plots", tasks=tasks, iters=2)
    assert got["returned"] == 1 and sorted(got["plots"]["a"]) == ["x", "y"]
    one = got["plots"]["a"]["x"][tasks[0]]
    assert sorted(one) == ["1", "2"] and one["2"]["name"] == "plots 0" and one["2"]["plots"][0]["plot_str"] == "2"


def test_which_metrics_there_are(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [scalar(task, 1, 1, metric="s", variant=v) for v in "ab"] + [plot(task, 1, "p", "pv"),
                                 image(task, 1, "http://h/i", metric="i"), log(task, "x", 1, metric="l", variant="lv")])
    assert s.call("events.get_task_metrics", tasks=[task], event_type="plot")["metrics"] == [{"task": task, "metrics": ["p"]}]
    s.batch("events.add_batch", [log(task, "x", 1, metric="with iteration", iter=3)])
    assert s.call("events.get_task_metrics", tasks=[task], event_type="log")["metrics"][0]["metrics"] == ["with iteration"]
    assert s.call("events.get_task_metrics", tasks=[task])["metrics"] == [{"task": task, "metrics": ["i", "p", "s"]}]
    multi = s.call("events.get_multi_task_metrics", tasks=[task])["metrics"]
    assert multi == [{"metric": "i", "variants": ["v"]}, {"metric": "l", "variants": ["lv"]}, {"metric": "p", "variants": ["pv"]},
                     {"metric": "s", "variants": ["a", "b"]}, {"metric": "with iteration", "variants": [""]}]
    assert s.call("events.get_scalar_metrics_and_variants", task=task)["metrics"] == {"s": ["a", "b"]}


# -- our own curves -------------------------------------------------------------------------------------------------------------


def test_x_scalars_lose_no_spike(shared_server, task):
    s = shared_server
    values = [math.sin(i / 100) for i in range(10000)]
    values[4321], values[8765] = 1000.0, -1000.0
    for start in range(0, 10000, 500):
        s.batch("events.add_batch", [scalar(task, i, values[i]) for i in range(start, start + 500)])
    got = s.call("x_events.scalars", task=task, samples=200)
    curve = got["series"][0]
    assert curve["interval"] == 50 and len(curve["x"]) == 200 and curve["total_points"] == 10000
    assert max(curve["max"]) == 1000 and min(curve["min"]) == -1000 and sum(curve["count"]) == 10000
    assert curve["x"][1] == 50 and abs(curve["y"][1] - sum(values[50:100]) / 50) < 1e-12
    full = s.call("x_events.scalars", task=task, samples=5000)["series"][0]
    assert full["y"] == values and full["x"] == list(range(10000))
    by_time = s.call("x_events.scalars", task=task, samples=200, key="timestamp")["series"][0]
    assert by_time["x"] == [1_700_000_000_000 + i for i in range(0, 10000, 50)]
    assert max(by_time["max"]) == 1000 and min(by_time["min"]) == -1000 and sum(by_time["count"]) == 10000
    assert s.fails("x_events.scalars", task=task, key="iso_time") == (400, 12)


def test_a_single_outlier_among_a_hundred_thousand_points(shared_server, task):
    """100,000 times 0.8 and one 0.0: the 0.0 is the minimum of the curve, of its stretch, and of no other."""
    s = shared_server
    for start in range(0, 100_000, 10_000):
        s.batch("events.add_batch", [scalar(task, i, 0.0 if i == 50_001 else 0.8) for i in range(start, start + 10_000)])
    curve = s.call("x_events.scalars", task=task)["series"][0]
    assert curve["x"] == list(range(0, 100_000, 200)) and curve["total_points"] == 100_000
    at = curve["x"].index(50_000)
    assert curve["min"] == [0.8] * at + [0.0] + [0.8] * (499 - at) and curve["max"] == [0.8] * 500
    assert last_metric(s, task)["min_value"] == 0 and last_metric(s, task)["min_value_iteration"] == 50_001


def test_x_scalars_thin_each_curve_for_itself(shared_server, task):
    """A short curve beside a long one is not coarser for it; a sparse one over the same range has the long one's edges."""
    s = shared_server

    def put(metric, iterations):
        for start in range(0, len(iterations), 500):
            s.batch("events.add_batch", [scalar(task, i, i, metric=metric) for i in iterations[start:start + 500]])

    put("long", range(10_000))
    put("short", range(300))
    put("sparse", range(0, 10_000, 40))
    put("late", range(9_000, 9_700))
    curves = {c["metric"]: c for c in s.call("x_events.scalars", task=task, samples=100)["series"]}
    assert curves["long"]["x"] == list(range(0, 10_000, 100)) and curves["long"]["interval"] == 100
    assert curves["short"]["x"] == list(range(0, 300, 3)) and curves["short"]["count"] == [3] * 100
    assert curves["short"]["y"] == [i + 1 for i in range(0, 300, 3)]
    assert curves["sparse"]["x"] == list(range(0, 10_000, 100)) and sum(curves["sparse"]["count"]) == 250
    assert curves["late"]["x"] == list(range(8_995, 9_700, 7)) and curves["late"]["total_points"] == 700
    put("few", range(0, 1_000_000, 5_000))
    few = s.call("x_events.scalars", task=task, samples=100, metrics=[{"metric": "few"}])["series"][0]
    assert few["x"] == list(range(0, 1_000_000, 5_000)) and few["count"] == [1] * 200  # 200 points: point by point


def test_folding_changes_nothing(server):
    """Hundreds of small overlapping batches, read before and after the background fold."""
    s = server
    task = s.call("tasks.create", name="fold", type="training")["id"]
    truth = {}
    for k in range(200):
        batch = []
        for i in range(k * 7, k * 7 + 20):
            truth[i] = k + i / 1000
            batch.append(scalar(task, i, truth[i]))
        s.batch("events.add_batch", batch)
    want = {"name": "v", "x": sorted(truth), "y": [truth[i] for i in sorted(truth)]}

    def waiting():
        """Batches that are not folded yet, read before the curve is looked at."""
        db = sqlite3.connect(f"file:{s.data}/stoker.db?mode=ro", uri=True)
        try:
            n = db.execute("SELECT count(*) FROM metric_batch").fetchone()[0]
        finally:
            db.close()
        assert s.call("events.scalar_metrics_iter_histogram", task=task)["m"]["v"] == want
        return n
    # Streams of 64 batches and more are folded; what comes after a fold that began early may wait for more of its kind.
    wait_for("the fold", lambda: waiting() < 64)
    assert last_metric(s, task)["count"] == 4000
    s.stop()
    s.start()
    assert s.call("events.scalar_metrics_iter_histogram", task=task)["m"]["v"] == want


def test_what_was_acknowledged_survives_kill(server):
    s = server
    task = s.call("tasks.create", name="killed", type="training")["id"]
    for k in range(20):
        s.batch("events.add_batch", [scalar(task, k, k), log(task, f"line {k}", k + 1)])
    s.kill()
    s.start()
    s.token = None
    assert s.call("events.scalar_metrics_iter_histogram", task=task)["m"]["v"]["y"] == list(range(20))
    assert s.call("x_events.log", task=task)["total"] == 20
    wait_for("the server", lambda: s.call("tasks.get_by_id", task=task)["task"]["last_iteration"] == 19)


def test_model_events(shared_server, task):
    s = shared_server
    model = s.call("models.create", name="model with events", uri="file:///x", ready=False)["id"]
    locked = s.call("models.create", name="a ready model", uri="file:///y", ready=True)["id"]
    event = scalar(None, 3, 0.25, model_event=True, model=model, x_axis_label="epochs")
    del event["task"]
    bad = {"type": "log", "model": model, "model_event": True, "msg": "x"}
    got = s.batch("events.add_batch", [event, bad, scalar(task, 1, 1), {**event, "model": locked}])
    assert got["added"] == 2 and got["errors"] == 2
    h = s.call("events.scalar_metrics_iter_histogram", task=model, model_events=True)
    assert h["m"]["v"] == {"name": "v", "x": [3], "y": [0.25], "x_axis_label": "epochs"}
    assert s.call("models.get_by_id", model=model)["model"]["last_iteration"] == 3


@pytest.mark.parametrize("noun", ["tasks", "models"])
def test_every_member_of_a_metric_orders_and_filters(shared_server, noun):
    """What last_metrics shows is what it orders and filters by."""
    s = shared_server
    project = s.call("projects.create", name=f"members of metrics of {noun}", description="")["id"]
    low, high = (s.call(f"{noun}.create", name=f"{name} one", project=project,
                        **({"type": "training"} if noun == "tasks" else {"uri": "file:///x", "ready": False}))["id"]
                 for name in ("low", "high"))
    owner = (lambda i: {"task": i}) if noun == "tasks" else (lambda i: {"task": "", "model": i, "model_event": True})
    # (iteration, value): every member of `low` is below that of `high`, and no member is like another of the same entity
    for i, points in ((low, [(2, 50), (3, 10), (4, 20)]), (high, [(14, 70), (16, 90), (15, 60), (17, 85)])):
        s.batch("events.add_batch", [{**scalar("", n, v), **owner(i)} for n, v in points])
    want = {"value": (20, 85), "min_value": (10, 60), "min_value_iteration": (3, 15), "max_value": (50, 90),
            "max_value_iteration": (2, 16), "first_value": (50, 70), "first_value_iteration": (2, 14), "count": (3, 4),
            "mean_value": (26.67, 76.25), "metric": ("m", "m"), "variant": ("v", "v")}
    get = {"tasks": "task", "models": "model"}[noun]
    shown = [s.call(f"{noun}.get_by_id", **{get: i})[get]["last_metrics"][md5("m")][md5("v")] for i in (low, high)]
    assert {k: tuple(x[k] for x in shown) for k in want} == want

    def found(**query):
        return [x["id"] for x in s.call(f"{noun}.get_all_ex", project=[project], only_fields=["id"], **query)[noun]]

    for member, (a, b) in want.items():
        path = f"last_metrics.{md5('m')}.{md5('v')}.{member}"
        if a == b:
            continue
        assert found(order_by=[path]) == [low, high] and found(order_by=["-" + path]) == [high, low], member
        assert found(**{path: [a - 0.5, a + 0.5]}) == [low] and found(**{path: [b - 0.5, b + 0.5]}) == [high], member


def test_delete_for_task(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [scalar(task, 1, 1)])
    assert s.call("events.delete_for_task", task=task)["deleted"]
    assert s.call("events.scalar_metrics_iter_histogram", task=task) == {}


def test_gzip_and_ndjson_batches(shared_server, task):
    import gzip
    s = shared_server
    lines = "\n".join(json.dumps(scalar(task, i, i)) for i in range(3)).encode()
    status, _, out = s.raw("/events.add_batch", gzip.compress(lines),
                           {"Content-Type": "application/json-lines", "Content-Encoding": "gzip", **s.auth()})
    assert (status, json.loads(out)["data"]["added"]) == (200, 3)
    status, _, out = s.raw("/events.add_batch", lines, {"Content-Type": "application/x-ndjson", **s.auth()})
    assert (status, json.loads(out)["data"]["added"]) == (200, 3)


# -- one at a time ---------------------------------------------------------------------------------------------------------


def test_image_viewer(shared_server, task):
    s = shared_server
    none = s.call("events.get_debug_image_sample", task=task, metric="img", variant="a")
    assert none["event"] is None and none["min_iteration"] is None and none["max_iteration"] is None
    s.batch("events.add_batch", [image(task, i, f"http://h/{v}{i % 3}.png", variant=v) for i in range(5) for v in "ab"])
    got = s.call("events.get_debug_image_sample", task=task, metric="img", variant="a")
    assert (got["event"]["iter"], got["min_iteration"], got["max_iteration"]) == (4, 2, 4)
    got = s.call("events.get_debug_image_sample", task=task, metric="img", variant="a", iteration=3, scroll_id=got["scroll_id"])
    assert got["event"]["iter"] == 3
    assert s.call("events.get_debug_image_sample", task=task, metric="img", variant="a", iteration=1)["event"] is None

    def step(earlier, **more):
        return s.call("events.next_debug_image_sample", task=task, scroll_id=got["scroll_id"], navigate_earlier=earlier, **more)

    seen = []
    while (one := step(False))["event"]:
        seen.append((one["event"]["variant"], one["event"]["iter"]))
    assert seen == [("b", 3), ("a", 4), ("b", 4)] and one["min_iteration"] is None
    seen = []
    while (one := step(True))["event"]:
        seen.append((one["event"]["variant"], one["event"]["iter"]))
    assert seen == [("a", 4), ("b", 3), ("a", 3), ("b", 2), ("a", 2)]
    assert step(False, next_iteration=True)["event"]["iter"] == 3
    assert s.fails("events.next_debug_image_sample", task=task, scroll_id="nonsense") == (400, 1104)


def test_plot_viewer(shared_server, task):
    s = shared_server
    assert s.call("events.get_plot_sample", task=task, metric="a")["events"] == []
    s.batch("events.add_batch", [plot(task, i, m, v, f"{m}{v}{i}") for i in range(2) for m in "ab" for v in "xy"])
    got = s.call("events.get_plot_sample", task=task, metric="a", navigate_current_metric=False)
    assert [e["plot_str"] for e in got["events"]] == ["ax1", "ay1"] and (got["min_iteration"], got["max_iteration"]) == (0, 1)
    seen = []
    while (one := s.call("events.next_plot_sample", task=task, scroll_id=got["scroll_id"]))["events"]:
        seen.append([e["plot_str"] for e in one["events"]])
    assert seen == [["bx0", "by0"], ["ax0", "ay0"]]


# -- the rarely used -------------------------------------------------------------------------------------------------------


def test_latest_values(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [scalar(task, i, i - 5) for i in range(20)])
    got = s.call("events.get_task_latest_scalar_values", task=task)
    assert got["metrics"] == [{"name": "m", "variants": [{"name": "v", "last_value": 14, "last_10_value": 9.5}]}]
    assert got["last_iter"] == 19 and got["last_timestamp"] == 1_700_000_000_019


def test_scalar_metric_data(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [scalar(task, i, i) for i in range(700)])
    first = s.call("events.get_scalar_metric_data", task=task, metric="m")
    assert first["returned"] == 500 and first["total"] == 700 and first["events"][0]["iter"] == 699
    second = s.call("events.get_scalar_metric_data", task=task, metric="m", scroll_id=first["scroll_id"])
    assert second["returned"] == 200 and second["events"][-1]["iter"] == 0
    third = s.call("events.get_scalar_metric_data", task=task, metric="m", scroll_id=second["scroll_id"])
    assert third["events"] == [] and third["scroll_id"] == "FFFF"


def test_vectors(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [{"type": "training_stats_vector", "task": task, "metric": "h", "variant": "w", "iter": i,
                                  "values": [i, i + 0.5]} for i in (2, 1)])
    assert s.call("events.get_vector_metrics_and_variants", task=task)["metrics"] == {"h": ["w"]}
    got = s.call("events.vector_metrics_iter_histogram", task=task, metric="h", variant="w")
    assert got == {"metric": "h", "variant": "w", "iterations": [1, 2], "vectors": [[1, 1.5], [2, 2.5]]}


def test_tasks_are_filtered_and_ordered_by_metrics(shared_server):
    """A run with loss NaN is never "below 0.1" (bug report), and stands at the end of both orders."""
    s = shared_server
    project = s.call("projects.create", name="metrics of runs", description="")["id"]
    values = {"a": 0.05, "b": math.nan, "c": 0.5, "d": math.inf, "e": -3}
    ids = {}
    for name, value in values.items():
        ids[name] = s.call("tasks.create", name=f"run {name}", type="training", project=project)["id"]
        s.batch("events.add_batch", [scalar(ids[name], 1, 100, metric="avg model score"), scalar(ids[name], 1, value, metric="loss")])
    ids["f"] = s.call("tasks.create", name="run without", type="training", project=project)["id"]
    path = f"last_metrics.{md5('loss')}.{md5('v')}.value"

    def found(**query):
        return [t["name"][-1] for t in s.call("tasks.get_all_ex", project=[project], only_fields=["name"], **query)["tasks"]]

    assert sorted(found(**{path: [None, 0.1]})) == ["a", "e", "t"]  # no loss at all: as the reference, below every maximum
    assert sorted(found(**{path: [-100, 0.1]})) == ["a", "e"]
    assert sorted(found(**{path: [0.1, None]})) == ["c"] and found(**{path: [">0.1"]}) == ["c"]
    assert sorted(found(**{path: ["<0.1"]})) == ["a", "e"]
    up, down = found(order_by=[path]), found(order_by=["-" + path])
    assert up[:4] == ["e", "a", "c", "d"] and down[:4] == ["d", "c", "a", "e"] and set(up[4:]) == set(down[4:]) == {"b", "t"}
