"""Requests nobody should send: values of wrong kinds in every field of every call about tasks, projects and models. The
answer is always 200 or a 4xx that names the fault, never a 500, and the server lives on."""
import json
import os
import pathlib
import random
import re

import pytest

THOROUGH = "STOKER_THOROUGH" in os.environ  # every value in every field
API = pathlib.Path(__file__).resolve().parent.parent.parent / "api"
VALUES = [None, True, 0, -1, 1.5, 10**20, "", "x", "-", "a" * 300, "\u0000", "\ud83d\ude00", "__$all", "2026-01-01", [], {},
          [None], [1], ["x"], ["-x"], ["__$not"], [[]], [{}], {"a": 1}, {"": ""}, {"$a": {}}, {"a": {"b": {"c": []}}},
          {"any": {"include": [None]}}, {"fields": ["name"], "pattern": "("}, [">=2026-01-01", 5], "(((", "^a|b$", ["*"],
          ["a.b.c"], ["-a.b"], [".", ".."], {"input": [{}]}, {"S": {"n": {"value": 1}}}, {"S": {"n": {"value": "v"}}}]
QUERY = ["id", "name", "tags", "system_tags", "type", "status", "project", "parent", "created", "started", "last_update",
         "last_iteration", "user", "comment", "_any_", "_all_", "filters", "order_by", "only_fields", "projection", "page",
         "page_size", "size", "start", "scroll_id", "search_text", "search_hidden", "include_subprojects", "ready",
         "hyperparams.a.b", "hyperparams.", "last_metrics.a.b.value", "last_metrics.", "runtime.x", "metadata.k", "basename",
         "children_type", "children_tags", "children_tags_filter", "active_users", "include_stats", "include_stats_filter",
         "shallow_search", "check_own_contents", "include_dataset_stats", "allow_public", "execution.queue",
         "models.input.model", "script", "execution", "runtime", "models", "container", "output", "configuration"]


def calls():
    for service in ("tasks", "projects", "models", "x_tasks"):
        for m in re.finditer(r"^call (\w+) [\d.]+ .*?\n\}", (API / f"{service}.api").read_text(), re.M | re.S):
            fields = re.findall(r"(\w+) \[?(?:string|int|bool|json|float|param|param_key|metadata_item|configuration_item)\b",
                                m[0].split("out {")[0])
            yield f"{service}.{m[1]}", fields


@pytest.fixture(scope="module")
def ids(shared_server):
    s = shared_server
    project = s.call("projects.create", name="odd/one")["id"]
    task = s.call("tasks.create", name="a task", type="training", project=project)["id"]
    model = s.call("models.create", name="a model", uri="u")["id"]
    return {"task": task, "project": project, "model": model, "ids": [task], "tasks": [task], "wait_ms": 0,
            "name": "a name", "type": "training", "uri": "u"}


@pytest.mark.parametrize("call, fields", list(calls()), ids=lambda v: v if isinstance(v, str) else "")
def test_wrong_kinds(shared_server, ids, call, fields):
    rng = random.Random(call)
    names = list(dict.fromkeys(fields + QUERY)) if "get_all" in call or not fields else fields
    for name in names:
        for value in VALUES if THOROUGH else rng.sample(VALUES, 6):
            body = {k: v for k, v in ids.items() if k in fields}
            body[name] = value
            if rng.random() < 0.3:
                body[rng.choice(names)] = rng.choice(VALUES)
            if "wait_ms" in body:
                body["wait_ms"] = 0
            status, _, answer = shared_server.raw(f"/v2.34/{call}", json.dumps(body).encode(),
                                                  {"Content-Type": "application/json", **shared_server.auth()})
            assert status < 500, (body, answer)
            meta = json.loads(answer)["meta"]
            assert status == 200 or len(meta["result_msg"]) > 3, body


def test_nul_cuts_nothing(shared_server, ids):
    """A NUL in a string ends it nowhere: what stands behind it is kept, and no id is one that it begins with."""
    s = shared_server
    project = s.call("projects.create", name="abc\0def/ghi")["id"]
    assert s.call("projects.get_by_id", project=project)["project"]["name"] == "abc\ufffddef/ghi"
    task = s.call("tasks.create", name="abc\0def", type="training", comment="\0c", project=project, tags=["a\0b", "a"],
                  hyperparams={"S": {"n\0m": {"section": "S", "name": "n\0m", "value": "v\0w"}}})["id"]
    t = s.call("tasks.get_by_id", task=task)["task"]
    assert (t["name"], t["comment"], t["tags"]) == ("abc\ufffddef", "\ufffdc", ["a", "a\ufffdb"])
    (name, item), = t["hyperparams"]["S"].items()
    assert name.startswith("n") and name.endswith("m") and item["value"] in ("v\0w", "v\ufffdw")
    for call in ("tasks.delete", "tasks.get_by_id", "tasks.started", "tasks.edit", "tasks.clone"):
        assert s.fails(call, task=task + "\0junk") == (400, 101), call
    assert s.fails("projects.delete", project=project + "\0", force=True) == (400, 401)
