"""Models over the wire: making, editing, publishing with their task, deletion with what points at them."""
import pytest


@pytest.fixture
def s(shared_server):
    return shared_server


def task(s, **fields):
    return s.call("tasks.create", name="a task", type="training", **fields)["id"]


def model(s, name="a model", uri="file:///m", version="2.34", **fields):
    out = s.call("models.create", _version=version, name=name, uri=uri, **fields)
    assert out["created"] is True
    return out["id"]


def get(s, id, version="2.34"):
    return s.call("models.get_by_id", model=id, _version=version)["model"]


def test_create(s):
    m = get(s, model(s, " weights ", " u ", labels={"cat": 0}, tags=["b", "a"], ready=False))
    assert m.pop("created") == m.pop("last_update") == m.pop("last_change")
    who = m.pop("user")
    assert m.pop("last_changed_by") == who and m.pop("company") and len(m.pop("id")) == 32
    assert m == {"name": "weights", "uri": "u", "labels": {"cat": 0}, "design": {}, "tags": ["a", "b"],
                 "system_tags": [], "ready": False, "metadata": {}, "last_iteration": 0, "last_metrics": {}}
    assert get(s, model(s))["ready"] is True
    assert s.fails("models.create", name="ab", uri="u") == (400, 800)
    assert s.fails("models.create", name="abc") == (400, 12)
    assert s.fails("models.create", name="abc", uri="u", project="0" * 32) == (400, 12)
    assert s.fails("models.create", name="abc", uri="u", task="0" * 32) == (400, 101)
    assert s.fails("models.create", name="abc", uri="u", labels={"x": "y"}) == (400, 12)
    assert s.fails("models.get_by_id", model="0" * 32) == (400, 201)


def test_edit_and_update(s):
    t = task(s)
    id = model(s, ready=False)
    out = s.call("models.edit", model=id, name="new name", uri="u2", labels={"a": 1}, framework="PyTorch", task=t,
                 iteration=19)
    assert out["updated"] == 1 and out["fields"]["ui_cache"] == {} and "last_update" in out["fields"]
    m = get(s, id)
    assert (m["name"], m["uri"], m["labels"], m["framework"], m["task"]) == ("new name", "u2", {"a": 1}, "PyTorch", t)
    assert s.call("tasks.get_by_id", task=t)["task"]["last_iteration"] == 19
    s.call("models.edit", model=id, iteration=5)
    assert s.call("tasks.get_by_id", task=t)["task"]["last_iteration"] == 19
    assert s.call("models.edit", model=id) == {"updated": 0, "fields": {}}
    assert "last_update" not in s.call("models.edit", model=id, comment="c")["fields"]
    assert s.fails("models.edit", model=id, project="0" * 32) == (400, 16)
    out = s.call("models.update", model=id, name="third name", labels={"b": 2}, ready=True, framework="x")
    assert set(out["fields"]) == {"name", "last_change", "last_changed_by"}
    assert get(s, id)["labels"] == {"a": 1} and get(s, id)["ready"] is False


def test_metadata(s):
    id = model(s)
    s.call("models.add_or_update_metadata", model=id, metadata=[{"key": "a.b", "type": "str", "value": "v"},
                                                               {"key": "n", "value": "1"}])
    s.call("models.add_or_update_metadata", model=id, metadata=[{"key": "n", "type": "int", "value": "11"}])
    assert get(s, id)["metadata"] == {"a.b": {"key": "a.b", "type": "str", "value": "v"},
                                      "n": {"key": "n", "type": "int", "value": "11"}}
    assert get(s, id, "2.9")["metadata"] == []
    other = model(s)
    s.call("models.add_or_update_metadata", model=other, metadata=[{"key": "n", "value": "2"}])
    found = s.call("models.get_all_ex", id=[id, other], order_by=["metadata.n.value"],
                   only_fields=["metadata.n"])["models"]
    assert [m["id"] for m in found] == [other, id] and set(found[1]["metadata"]) == {"n"}
    assert [m["id"] for m in s.call("models.get_all_ex", **{"metadata.a%2Eb": ["v"]})["models"]] == [id]
    s.call("models.delete_metadata", model=id, keys=["n"])
    assert set(get(s, id)["metadata"]) == {"a.b"}
    s.call("models.add_or_update_metadata", model=id, metadata=[{"key": "z"}], replace_metadata=True)
    assert get(s, id)["metadata"] == {"z": {"key": "z"}}


def test_metadata_with_the_model(s):
    given = {"a.b": {"key": "a.b", "type": "str", "value": "v"}, "n": {"key": "n", "type": "int", "value": "7"}}
    id = model(s, metadata=given)
    assert get(s, id)["metadata"] == given and get(s, id, "2.16")["metadata"] == []
    assert get(s, model(s, metadata=None))["metadata"] == {}
    other = {"only": {"key": "only", "type": "str", "value": "x"}}
    assert s.call("models.edit", model=id, metadata=other)["fields"]["metadata"] == other
    assert get(s, id)["metadata"] == other
    s.call("models.update", model=id, metadata=given)
    assert get(s, id)["metadata"] == given
    for bad in (["a"], "a", {"n": "7"}, {"n": {"key": "n", "value": 7}}):
        assert s.fails("models.create", name="a model", uri="u", metadata=bad) == (400, 12)
        assert s.fails("models.edit", model=id, metadata=bad) == (400, 12)
        assert s.fails("models.update", model=id, metadata=bad) == (400, 12)
    assert get(s, id)["metadata"] == given


def test_metadata_keys_and_values_of_projects(s):
    project = s.call("projects.create", name="models/metadata/below")["id"]
    parent = s.call("projects.get_all", name="^models/metadata$")["projects"][0]["id"]
    meta = lambda **v: {k: {"key": k, "type": "str", "value": x} for k, x in v.items()}
    model(s, metadata=meta(in_root="1"))
    model(s, project=project, metadata=meta(below="b", both="2"))
    model(s, project=parent, metadata=meta(both="1"))
    keys = lambda **f: s.call("projects.get_model_metadata_keys", **f)["keys"]
    assert keys(project=parent) == ["below", "both"] and keys(project=parent, include_subprojects=False) == ["both"]
    assert {"in_root", "below", "both"} <= set(keys())
    root = keys(include_subprojects=False)
    assert "in_root" in root and "both" not in root
    assert s.call("projects.get_model_metadata_values", key="both", projects=[parent]) == {"total": 2,
                                                                                          "values": ["1", "2"]}
    assert s.call("projects.get_model_metadata_values", key="both", projects=[project])["values"] == ["2"]
    shared = model(s, project=project, metadata=meta(both="3"))
    s.call("models.make_public", ids=[shared])
    values = lambda **f: s.call("projects.get_model_metadata_values", key="both", projects=[project], **f)["values"]
    assert values() == values(allow_public=True) == ["2", "3"] and values(allow_public=False) == ["2"]


def test_publish(s):
    running = task(s)
    s.call("tasks.started", task=running)
    id = model(s, task=running, ready=False)
    assert s.fails("models.set_ready", model=id) == (400, 110)
    assert get(s, id)["ready"] is False and s.call("tasks.get_by_id", task=running)["task"]["status"] == "in_progress"
    assert "published_task" not in s.call("models.set_ready", model=id, publish_task=False)
    assert get(s, id)["ready"] is True
    assert s.fails("models.set_ready", model=id) == (400, 203)
    id = model(s, task=running, ready=False)
    out = s.call("models.set_ready", model=id, force_publish_task=True)
    assert out["updated"] == 1 and out["published_task"]["id"] == running
    assert out["published_task"]["data"]["fields"]["status"] == "published"
    other = model(s, task=running, ready=False)
    out = s.call("models.publish_many", ids=[other, "0" * 32])
    assert out["succeeded"] == [{"id": other, "updated": True, "published_task": None}]
    assert out["failed"][0]["error"]["codes"] == [400, 201]
    for name in ("publish_tasks", "publish_task"):  # either name: the task stays as it is
        stays = task(s)
        s.call("tasks.started", task=stays)
        s.call("tasks.stopped", task=stays)
        other = model(s, task=stays, ready=False)
        assert s.call("models.publish_many", ids=[other], **{name: False})["succeeded"][0]["published_task"] is None
        assert get(s, other)["ready"] is True and s.call("tasks.get_by_id", task=stays)["task"]["status"] == "stopped"
    stopped = task(s)
    draft = model(s, task=stopped, ready=False)
    s.call("tasks.add_or_update_model", task=stopped, name="m", model=draft, type="output")
    s.call("tasks.started", task=stopped)
    s.call("tasks.stopped", task=stopped)
    s.call("tasks.publish", task=stopped)
    assert get(s, draft)["ready"] is True


def test_delete(s):
    id = model(s, uri="file:///w")
    user = task(s, models={"input": [{"name": "in", "model": id}]})
    maker = task(s)
    s.call("models.edit", model=id, task=maker)
    s.call("tasks.add_or_update_model", task=maker, name="out", model=id, type="output")
    assert s.fails("models.delete", model=id) == (400, 205)
    assert s.call("models.delete", model=id, force=True) == {"deleted": True, "url": "file:///w"}
    assert s.call("tasks.get_by_id", task=user)["task"]["models"]["input"][0]["model"] == "__DELETED__" + id
    assert s.call("tasks.get_by_id", task=maker)["task"]["models"]["output"] == []
    id = model(s, task=maker)
    s.call("tasks.add_or_update_model", task=maker, name="out", model=id, type="output")
    s.call("tasks.publish", task=maker, force=True)
    assert s.fails("models.delete", model=id) == (400, 206)
    out = s.call("models.delete_many", ids=[id, "0" * 32], force=True)
    assert len(out["succeeded"]) == len(out["failed"]) == 1
    t = s.call("tasks.get_by_id", task=maker)["task"]
    assert t["models"]["output"][0]["model"] == "__DELETED__" + id and t["output"]["error"]


def test_update_for_task(s):
    t = task(s, execution={"framework": "f", "model_labels": {"a": 1}})
    old = {"_version": "2.9"}
    assert s.fails("models.update_for_task", task=t, uri="u")[0] == 301
    assert s.fails("models.update_for_task", **old, task=t) == (400, 11)
    first = s.call("models.update_for_task", **old, task=t, uri="u1", iteration=3)
    assert first["created"] is True
    m = get(s, first["id"])
    assert (m["name"], m["ready"], m["framework"], m["labels"]) == ("a task", False, "f", {"a": 1})
    second = s.call("models.update_for_task", **old, task=t, uri="u2")
    assert (second["id"], second["created"], second["updated"]) == (first["id"], False, 1)
    assert get(s, first["id"])["uri"] == "u2"
    outputs = s.call("tasks.get_by_id", task=t)["task"]["models"]["output"]
    assert [(o["name"], o["model"]) for o in outputs] == [("Output Model", first["id"])]
    assert s.call("models.get_by_task_id", **old, task=t)["model"]["id"] == first["id"]
    assert s.call("tasks.get_by_id", task=t)["task"]["last_iteration"] == 3
    s.call("tasks.started", task=t)
    s.call("tasks.completed", task=t)
    assert s.fails("models.update_for_task", **old, task=t, uri="u3") == (400, 110)


def test_lists(s):
    project = s.call("projects.create", name="models/lists")["id"]
    a = model(s, framework="Framework A", project=project, labels={"x": 1, "y": 2})
    assert s.call("models.get_frameworks", projects=[project])["frameworks"] == ["Framework A"]
    assert "Framework A" in s.call("models.get_frameworks")["frameworks"]
    found = s.call("models.get_all_ex", id=[a], include_stats=True)["models"][0]
    assert found["stats"] == {"labels_count": 2} and found["project"] == {"id": project}
    assert "stats" not in s.call("models.get_all_ex", id=[a])["models"][0]
    assert s.call("models.update_tags", ids=[a], add_tags=["t"]) == {"updated": 1}
    s.call("models.archive_many", ids=[a])
    assert get(s, a)["system_tags"] == ["archived"]
    assert s.call("models.get_all", id=[a], system_tags=["-archived"])["models"] == []
    s.call("models.unarchive_many", ids=[a])
    moved = s.call("models.move", ids=[a], project_name="models/moved")["project_id"]
    assert get(s, a)["project"] == moved and get(s, a)["tags"] == ["t"]
    assert s.call("models.make_public", ids=[a]) == {"updated": 1}
    assert s.fails("models.update", model=a, name="new name") == (400, 201)
    assert s.call("models.make_private", ids=[a]) == {"updated": 1}
