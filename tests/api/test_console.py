"""The console of tasks against the real server: events.get_task_log, x_events.log, and what pages make of it."""
import json
import time

import pytest

from conftest import wait_for


def log(task, msg, t, **more):
    return {"type": "log", "task": task, "msg": msg, "timestamp": t, "level": "INFO", "worker": "w", **more}


@pytest.fixture
def task(shared_server):
    return shared_server.call("tasks.create", name="test console", type="training")["id"]


def test_log_pages_both_ways(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [log(task, str(i), 1000 + i, metric=f"Metric_{i % 5}") for i in range(10)])
    got = s.call("events.get_task_log", task=task, batch_size=5)
    assert [e["msg"] for e in got["events"]] == ["9", "8", "7", "6", "5"] and got["total"] == 10 and got["returned"] == 5
    got = s.call("events.get_task_log", task=task, batch_size=5, order="asc")
    assert [e["msg"] for e in got["events"]] == ["5", "6", "7", "8", "9"]
    got = s.call("events.get_task_log", task=task, batch_size=5, from_timestamp=1005)
    assert [e["msg"] for e in got["events"]] == ["4", "3", "2", "1", "0"]
    got = s.call("events.get_task_log", task=task, batch_size=3, navigate_earlier=False, from_timestamp=1002)
    assert [e["msg"] for e in got["events"]] == ["3", "4", "5"]
    got = s.call("events.get_task_log", task=task, batch_size=3, navigate_earlier=False, order="desc")
    assert [e["msg"] for e in got["events"]] == ["2", "1", "0"]
    got = s.call("events.get_task_log", task=task, metrics=[{"metric": "Metric_2"}])
    assert [e["msg"] for e in got["events"]] == ["7", "2"] and got["total"] == 2
    e = got["events"][0]
    assert e["level"] == "INFO" and e["worker"] == "w" and e["type"] == "log" and e["@timestamp"].endswith("Z")


def test_old_log_versions_scroll(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [log(task, str(i), i + 1) for i in range(10)])

    def walk(version, **fields):
        pages, scroll = [], None
        while True:
            got = s.call("events.get_task_log", task=task, batch_size=4, _version=version, **fields,
                         **({"scroll_id": scroll} if scroll else {}))
            scroll = got["scroll_id"]
            if not got["events"]:
                assert scroll == "FFFF"
                return pages
            pages.append("".join(e["msg"] for e in got["events"]))

    assert walk("1.7", **{"from": "head", "order": "asc"}) == ["0123", "4567", "89"]
    assert walk("1.7", **{"from": "head"}) == ["3210", "7654", "98"]
    assert walk("1.7") == ["9876", "5432", "10"]
    assert walk("1.5", order="asc") == ["0123", "4567", "89"]
    assert s.call("events.get_task_log", task=task, _version="1.7", scroll_id="FFFF")["events"] == []


def test_log_text_survives(shared_server, task):
    s = shared_server
    texts = ["<script>alert(1)</script>", "\u202e right to left", "a\u0000b", "tab\tnewline\nend", "💥 ünï", "", "\x1b[31mred\x1b[0m"]
    s.batch("events.add_batch", [log(task, t, i + 1) for i, t in enumerate(texts)])
    got = s.call("events.get_task_log", task=task, order="asc")["events"]
    assert [e["msg"] for e in got] == texts
    status, headers, body = s.raw("/events.download_task_log", json.dumps({"task": task, "line_type": "text",
                                  "line_format": "{asctime} {worker} {level} {msg}"}).encode(), s.auth())
    assert status == 200 and f"task_{task}.log" in headers["Content-Disposition"]
    assert body.decode() == "".join(f"{i + 1} w INFO {t}\n" for i, t in enumerate(texts))
    assert s.fails("events.download_task_log", task=task, line_type="text", line_format="{nonsense}") == (400, 16)


def test_clear_task_log(shared_server, task):
    s = shared_server
    now = int(time.time() * 1000)
    s.batch("events.add_batch", [log(task, "old", now - 3_600_000), log(task, "new", now), log(task, "kept", 1, metric="k")])
    assert s.call("events.clear_task_log", task=task, threshold_sec=60, exclude_metrics=["k"])["deleted"] == 1
    assert [e["msg"] for e in s.call("events.get_task_log", task=task)["events"]] == ["new", "kept"]
    assert s.call("events.get_task_log", task=task)["total"] == 2
    assert s.call("events.clear_task_log", task=task)["deleted"] == 2
    assert s.call("events.get_task_log", task=task)["events"] == []


def test_lines_sent_twice_are_stored_once(shared_server, task):
    s = shared_server
    lines = [log(task, f"line {i}", 100 + i, x_run="r1", x_offset=i * 10) for i in range(5)]
    assert s.batch("events.add_batch", lines[:3])["added"] == 3
    assert s.batch("events.add_batch", lines[:3])["added"] == 3  # the answer was lost: acknowledged again
    assert s.batch("events.add_batch", lines[1:])["added"] == 4
    s.batch("events.add_batch", [log(task, "other run", 300, x_run="r2", x_offset=0)])
    got = s.call("events.get_task_log", task=task, order="asc")["events"]
    assert [e["msg"] for e in got] == [f"line {i}" for i in range(5)] + ["other run"]
    assert "x_run" not in got[0]


def test_x_log_pages_by_line(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [log(task, "a\nb\n", 10), log(task, "c", 20, level="ERROR")])
    s.batch("events.add_batch", [log(task, "d\n\ne", 15)])
    got = s.call("x_events.log", task=task, limit=4)
    assert [(x["n"], x["text"], x["t"]) for x in got["lines"]] == [(3, "c", 20), (4, "d", 15), (5, "", 15), (6, "e", 15)]
    assert got["lines"][0]["level"] == "ERROR" and got["total"] == 6 and got["open"] is True
    before = s.call("x_events.log", task=task, before=got["prev"])
    assert [x["text"] for x in before["lines"]] == ["a", "b"] and "prev" not in before
    again = s.call("x_events.log", task=task, after=before["next"], limit=2)
    assert [x["text"] for x in again["lines"]] == ["c", "d"]
    assert s.call("x_events.log", task=task, after=got["next"])["lines"] == []
    assert s.call("x_events.log", task=task, after="", limit=2)["lines"][0]["n"] == 1
    assert s.fails("x_events.log", task=task, after="nonsense") == (400, 12)
    assert s.fails("x_events.log", task=task, after="1-1", before="1-1") == (400, 12)


def asleep(s, task, cursor):
    """A call that waits for lines after the cursor. One that waits shorter is asked later and answered earlier: it sleeps."""
    waiter = s.ask("x_events.log", task=task, after=cursor, wait_ms=60000)
    assert s.call("x_events.log", task=task, after=cursor, wait_ms=100)["lines"] == []
    assert not waiter.answered()
    return waiter


def test_x_log_waits_for_lines(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [log(task, "first", 1)])
    waiter = asleep(s, task, s.call("x_events.log", task=task)["next"])
    s.batch("events.add_batch", [log(task, "second", 2)])
    assert [x["text"] for x in waiter.answer()["lines"]] == ["second"]


def test_x_log_waits_once(shared_server, task):
    """Not anew after every bell for something else: it is answered before another that waits longer, and hears none."""
    s = shared_server
    quiet = s.call("tasks.create", name="test console", type="training")["id"]
    once, longer = (s.ask("x_events.log", task=t, after="", wait_ms=ms) for t, ms in ((task, 1000), (quiet, 60000)))

    def over():
        s.call("tasks.edit", task=task, comment="a bell", force=True)
        return once.answered() or longer.answered()

    wait_for("an answer", over)
    assert not longer.answered()
    assert once.answer()["lines"] == []


def test_x_log_stops_waiting_when_the_task_ends(shared_server, task):
    s = shared_server
    s.call("tasks.started", task=task, force=True)
    s.batch("events.add_batch", [log(task, "first", 1)])
    waiter = asleep(s, task, s.call("x_events.log", task=task)["next"])
    s.call("tasks.completed", task=task)
    got = waiter.answer()
    assert got["lines"] == [] and got["open"] is False


def test_x_log_after_reset_starts_anew(shared_server, task):
    s = shared_server
    s.batch("events.add_batch", [log(task, "one\ntwo\nthree", 1)])
    cursor = s.call("x_events.log", task=task)["next"]
    s.call("tasks.reset", task=task, force=True)
    s.batch("events.add_batch", [log(task, "new", 2)])
    assert [x["text"] for x in s.call("x_events.log", task=task, after=cursor)["lines"]] == ["new"]
    stale = s.call("x_events.log", task=task, before=cursor)
    assert stale["lines"] == [] and [x["text"] for x in s.call("x_events.log", task=task, after=stale["next"])["lines"]] == ["new"]


def test_many_console_lines(shared_server, task):
    """34,374 lines in small batches (bug report): every one is there, in order, also once chunks were joined."""
    s = shared_server
    n, sent = 34374, 0
    while sent < n:
        upto = min(n, sent + 250)
        s.batch("events.add_batch", [log(task, "\n".join(f"line {i}" for i in range(sent, upto)), 1000 + sent)])
        sent = upto
    cursor, seen = None, []
    first = s.call("x_events.log", task=task, limit=1)
    assert first["total"] == n
    while True:
        got = s.call("x_events.log", task=task, after=cursor or f"{first['next'].split('-')[0]}-0", limit=5000)
        if not got["lines"]:
            break
        seen += [x["text"] for x in got["lines"]]
        cursor = got["next"]
    assert seen == [f"line {i}" for i in range(n)]
