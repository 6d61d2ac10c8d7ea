"""Tasks over the wire: the life of a task verb by verb and status by status, its documents, copies, parts, queues, and
what is left when it goes."""
import datetime
import urllib.parse

import pytest

from conftest import CallError, wait_for

STATUSES = ["created", "queued", "in_progress", "stopped", "failed", "completed", "closed", "published"]
# What each verb does to a task of each status: the status after it, or code/subcode when it is refused. Measured.
MATRIX = """
started                      in_progress in_progress in_progress in_progress 400/110     in_progress 400/110     400/110
started force                in_progress in_progress in_progress in_progress in_progress in_progress in_progress in_progress
stop                         400/110     stopped     stopped     stopped     stopped     400/110     stopped     400/110
stop force                   stopped     stopped     stopped     stopped     stopped     stopped     stopped     stopped
stopped                      400/110     stopped     stopped     stopped     stopped     400/110     stopped     400/110
stopped force                stopped     stopped     stopped     stopped     stopped     stopped     stopped     stopped
failed                       400/110     400/110     failed      failed      failed      400/110     failed      400/110
failed force                 failed      failed      failed      failed      failed      failed      failed      failed
completed                    400/110     400/110     completed   completed   400/110     completed   400/110     400/110
completed force              completed   completed   completed   completed   completed   completed   completed   completed
close                        400/110     400/110     400/110     closed      400/110     400/110     closed      400/110
close force                  closed      closed      closed      closed      closed      closed      closed      closed
publish                      400/110     400/110     400/110     published   published   published   published   400/110
publish force                published   published   published   published   published   published   published   published
reset                        created     created     created     created     created     created     created     400/110
reset force                  created     created     created     created     created     created     created     created
enqueue                      queued      400/706     400/110     queued      queued      400/110     400/110     400/110
enqueue force                queued      400/706     queued      queued      queued      queued      queued      queued
dequeue                      created     created     created     stopped     failed      completed   closed      published
edit                         created     400/110     400/110     400/110     400/110     400/110     400/110     400/110
edit force                   created     queued      in_progress stopped     failed      completed   closed      published
update                       created     queued      in_progress stopped     failed      completed   closed      published
edit_hyper_params            created     400/110     400/110     400/110     400/110     400/110     400/110     400/110
edit_hyper_params force      created     queued      in_progress 400/110     400/110     400/110     400/110     400/110
add_or_update_artifacts      created     queued      in_progress 400/110     400/110     400/110     400/110     400/110
delete                       gone        400/123     400/123     400/123     400/123     400/123     400/123     400/123
delete force                 gone        gone        gone        gone        gone        gone        gone        gone
"""
EXTRA = {"edit": {"comment": "c"}, "update": {"comment": "c"}, "add_or_update_artifacts": {
    "artifacts": [{"key": "k", "type": "custom", "uri": "file:///k"}]},
    "edit_hyper_params": {"hyperparams": [{"section": "S", "name": "n", "value": "1"}]},
    "enqueue": {"queue_name": "matrix queue"}}
ROWS = [(words[:-8], words[-8:]) for words in map(str.split, MATRIX.strip().splitlines())]


@pytest.fixture
def s(shared_server):
    return shared_server


def make(s, name="a task", **fields):
    return s.call("tasks.create", name=name, type=fields.pop("type", "training"), **fields)["id"]


def get(s, task, *only, version="2.34"):
    t = s.call("tasks.get_by_id", task=task, _version=version)["task"]
    return {k: t.get(k) for k in only} if only else t


def in_status(s, status):
    task = make(s)
    if status == "queued":
        s.call("tasks.enqueue", task=task, queue_name="matrix queue")
    elif status != "created":
        s.call("tasks.edit", task=task, force=True, status=status)
    return task


@pytest.mark.parametrize("verb, cells", ROWS, ids=lambda v: " ".join(v) if isinstance(v, list) and len(v) < 3 else "")
def test_status_matrix(s, verb, cells):
    name, force = verb[0], {"force": True} if len(verb) > 1 else {}
    for status, want in zip(STATUSES, cells):
        task = in_status(s, status)
        if want.startswith("400/"):
            assert s.fails(f"tasks.{name}", task=task, **force, **EXTRA.get(name, {})) == (400, int(want[4:])), status
            assert get(s, task)["status"] == status
        else:
            s.call(f"tasks.{name}", task=task, **force, **EXTRA.get(name, {}))
            if want == "gone":
                assert s.fails("tasks.get_by_id", task=task) == (400, 101)
            else:
                assert get(s, task)["status"] == want, status


def test_a_fresh_task(s):
    project = s.call("projects.create", name="fresh/one")["id"]
    task = make(s, "  train 01 ", project=project, tags=["b", "a", "b"], system_tags=None, comment="hello")
    t = get(s, task)
    assert t.pop("created") == t.pop("last_update") == t.pop("last_change")
    who = t.pop("user")
    assert who and t.pop("last_changed_by") == who and t.pop("company")
    assert t == {
        "id": task, "name": "train 01", "type": "training", "status": "created", "comment": "hello",
        "report_assets": [], "project": project, "output": {}, "tags": ["a", "b"], "system_tags": [],
        "execution": {"test_split": 0, "parameters": {}, "model_desc": {}, "model_labels": {}, "artifacts": []},
        "script": {"binary": "python", "repository": "", "entry_point": "", "requirements": {}}, "last_iteration": 0,
        "last_metrics": {}, "unique_metrics": [], "metric_stats": {}, "hyperparams": {}, "configuration": {},
        "runtime": {}, "models": {"input": [], "output": []}, "container": {}}


@pytest.mark.parametrize("fields, want", [
    ({"name": "ab"}, (400, 800)), ({"type": "bogus"}, (400, 12)), ({"project": "0" * 32}, (400, 16)),
    ({"parent": "0" * 32}, (400, 16)), ({"tags": ["__$x"]}, (400, 16)), ({"container": ["x"]}, (400, 16)),
    ({"script": {"foo": 1}}, (400, 12)), ({"models": {"input": [{"name": "m", "model": "0" * 32}]}}, (400, 201)),
    ({"hyperparams": {"S": {"n": {"section": "S", "name": "n", "value": 5}}}}, (400, 800)),
    ({"configuration": {"c": {"name": "c", "value": 5}}}, (400, 800)), ({"runtime": {"$x": 1}}, (400, 800)),
    ({"execution": {"model_labels": {"a": 1, "b": 1}}}, (400, 800))])
def test_create_refuses(s, fields, want):
    assert s.fails("tasks.create", **{"name": "a task", "type": "training", **fields}) == want
    if "runtime" not in fields:
        assert s.fails("tasks.validate", **{"name": "a task", "type": "training", **fields}) == want


def test_parameters_with_odd_names_round_trip(s):
    odd = {"a > 0.5": "0.4", "x.y": "1", "$z": "2", "ok": "3", "é/ü": "ß", "a__b": "4", "%2E": "5", '"q"': '"'}
    params = {n: {"section": "General", "name": n, "value": v, "type": "str"} for n, v in odd.items()}
    task = make(s, hyperparams={"General": params})
    assert get(s, task)["hyperparams"] == {"General": params}
    s.call("tasks.edit_hyper_params", task=task,
           hyperparams=[{"section": "Other.x", "name": n, "value": v} for n, v in odd.items()])
    found = get(s, task)["hyperparams"]
    assert {n: p["value"] for n, p in found["Other.x"].items()} == odd
    assert found["General"] == params
    flat = s.call("tasks.get_hyper_params", tasks=[task])["params"][0]["hyperparams"]
    assert [(p["section"], p["name"]) for p in flat] == sorted((p["section"], p["name"]) for p in flat)
    assert len(flat) == 2 * len(odd)


def test_times_of_a_run(s):
    task = make(s)
    begun = s.call("tasks.started", task=task)
    assert begun["started"] == 1 and begun["updated"] == 1 and begun["fields"]["status"] == "in_progress"
    first = get(s, task)["started"]
    assert "started" not in s.call("tasks.started", task=task)["fields"]  # a run that goes on keeps its beginning
    assert get(s, task)["started"] == first
    done = s.call("tasks.completed", task=task, status_reason="all done")
    assert done["published"] == 0 and done["fields"]["status_reason"] == "all done"
    t = get(s, task)
    assert datetime.datetime.fromisoformat(t["completed"]) >= datetime.datetime.fromisoformat(t["started"])
    s.call("tasks.started", task=task)
    assert get(s, task, "completed") == {"completed": None}
    s.call("tasks.completed", task=task)
    assert s.call("tasks.completed", task=task, publish=True)["fields"]["status"] == "published"
    assert get(s, task)["published"]


def test_stop_asks_a_living_worker(s):
    queue = s.call("queues.create", name="stop queue")["id"]
    task = make(s)
    s.call("tasks.enqueue", task=task, queue=queue)
    assert s.call("queues.get_next_task", queue=queue)["entry"]["task"] == task
    s.call("tasks.started", task=task)
    s.call("workers.register", worker="stop-worker", queues=[queue])
    s.call("workers.status_report", worker="stop-worker", task=task, timestamp=1_700_000_000)
    s.call("tasks.stop", task=task, status_reason="enough")
    assert get(s, task, "status", "status_message", "status_reason", "completed") == {
        "status": "in_progress", "status_message": "stopping", "status_reason": "enough", "completed": None}
    s.call("tasks.stopped", task=task)
    assert get(s, task)["status"] == "stopped"
    dev = make(s, system_tags=["development"])
    s.call("tasks.started", task=dev)
    s.call("workers.status_report", worker="stop-worker", task=dev, timestamp=1_700_000_000)
    s.call("tasks.stop", task=dev)
    t = get(s, dev, "status", "status_message", "completed")
    assert t["status"] == "stopped" and t["status_message"].startswith("Stopped by ") and t["completed"] is None


def test_queues(s):
    task = make(s, system_tags=["development", "x"])
    done = s.call("tasks.enqueue", task=task, queue_name="made by name")
    queue = s.call("queues.get_all", name="^made by name$", only_fields=["id", "entries"])["queues"][0]
    assert done["queued"] == done["updated"] == 1
    assert done["fields"]["enqueue_status"] == "created" and done["fields"]["execution.queue"] == queue["id"]
    assert [e["task"] for e in queue["entries"]] == [task]
    t = get(s, task)
    assert t["status"] == "queued" and t["execution"]["queue"] == queue["id"] and t["system_tags"] == ["x"]
    assert s.fails("tasks.enqueue", task=task, queue=queue["id"]) == (400, 706)
    assert get(s, task, "status", "status_reason") == {"status": "queued", "status_reason": ""}  # nothing half-done
    other = s.call("queues.create", name="another queue")["id"]
    assert s.call("tasks.enqueue", task=task, queue=other)["fields"]["enqueue_status"] == "created"
    assert s.call("queues.get_by_id", queue=queue["id"])["queue"]["entries"] == []
    out = s.call("tasks.dequeue", task=task)
    assert out["dequeued"] == out["updated"] == 1 and out["fields"]["enqueue_status"] is None
    t = get(s, task)
    assert t["status"] == "created" and t["execution"]["queue"] == other  # kept
    assert s.call("tasks.dequeue", task=task) == {"dequeued": 1, "updated": 0, "fields": {}}
    assert s.call("tasks.dequeue", task="0" * 32) == {"dequeued": 1, "updated": 0, "fields": {}}
    assert s.fails("tasks.enqueue", task=task, queue="0" * 32) == (400, 701)
    assert get(s, task)["status"] == "created"
    assert s.fails("tasks.enqueue", task=task, queue=other, queue_name="x") == (400, 12)
    s.call("tasks.enqueue", task=task, queue=other)
    assert s.fails("tasks.dequeue", task=task, new_status="bogus") == (400, 12)
    s.call("tasks.dequeue", task=task, new_status="in_progress")
    assert get(s, task)["status"] == "in_progress"


def test_edit_merges_one_level(s):
    task = make(s, script={"repository": " r ", "entry_point": "a.py"}, container={"image": "i"},
                execution={"framework": "f"})
    out = s.call("tasks.edit", task=task, script={"branch": "main"}, execution={"test_split": 3},
                 container={"arguments": "-it"}, output_dest="s3://b", name="renamed")
    assert out["updated"] == 1
    assert {"script", "execution", "container", "output", "name", "last_change", "last_update"} <= set(out["fields"])
    t = get(s, task)
    assert t["script"] == {"binary": "python", "repository": "r", "entry_point": "a.py", "requirements": {},
                           "branch": "main"}
    assert t["execution"]["framework"] == "f" and t["execution"]["test_split"] == 3
    assert t["container"] == {"arguments": "-it"} and t["output"] == {"destination": "s3://b"}
    assert s.call("tasks.edit", task=task) == {"updated": 0, "fields": {}}
    before = get(s, task)["last_update"]
    assert "last_update" not in s.call("tasks.edit", task=task, tags=["t"])["fields"]
    assert get(s, task)["last_update"] == before
    s.call("tasks.set_requirements", task=task, requirements={"pip": "six"})
    assert get(s, task)["script"]["requirements"] == {"pip": "six"}


def test_update(s):
    task = make(s)
    s.call("tasks.started", task=task)
    assert s.call("tasks.update", task=task, type="testing") == {"updated": 0, "fields": {}}
    assert s.call("tasks.update", task=task, comment="c", status_message="m")["updated"] == 1
    assert get(s, task, "comment", "status_message", "type") == {"comment": "c", "status_message": "m",
                                                                "type": "training"}
    assert s.batch("tasks.update_batch", [{"task": task, "name": "batched"}, {"task": task, "tags": ["q"]}]) == {
        "updated": 2}
    assert get(s, task, "name", "tags") == {"name": "batched", "tags": ["q"]}


def test_properties_are_always_open(s):
    task = make(s)
    s.call("tasks.started", task=task)
    s.call("tasks.completed", task=task)
    before = get(s, task)["last_update"]
    s.call("tasks.edit_hyper_params", task=task, hyperparams=[{"section": "Properties", "name": "p", "value": "v"}])
    t = get(s, task)
    assert t["hyperparams"]["properties"]["p"]["value"] == "v" and t["last_update"] == before
    s.call("tasks.delete_hyper_params", task=task, hyperparams=[{"section": "properties"}])
    assert get(s, task)["hyperparams"] == {}


def test_hyperparams_replace_and_delete(s):
    def item(section, name, value="1"):
        return {"section": section, "name": name, "value": value}

    task = make(s)
    s.call("tasks.edit_hyper_params", task=task, hyperparams=[item("A", "x"), item("A", "y"), item("B", "z")])
    s.call("tasks.edit_hyper_params", task=task, hyperparams=[item("A", "w")], replace_hyperparams="section")
    assert {k: set(v) for k, v in get(s, task)["hyperparams"].items()} == {"A": {"w"}, "B": {"z"}}
    s.call("tasks.edit_hyper_params", task=task, hyperparams=[item("C", "c")], replace_hyperparams="all")
    assert {k: set(v) for k, v in get(s, task)["hyperparams"].items()} == {"C": {"c"}}
    assert s.fails("tasks.delete_hyper_params", task=task, hyperparams=[{"section": "C"},
                                                                        {"section": "C", "name": "c"}]) == (400, 15)
    s.call("tasks.delete_hyper_params", task=task, hyperparams=[{"section": "C", "name": "c"}])
    assert get(s, task)["hyperparams"] == {}
    assert s.fails("tasks.get_hyper_params", tasks=[task, "0" * 32]) == (400, 101)


def test_configuration(s):
    task = make(s)
    s.call("tasks.edit_configuration", task=task, configuration=[{"name": "b", "value": "2"}, {"name": "a", "value": ""}])
    found = s.call("tasks.get_configurations", tasks=[task])["configurations"]
    assert found == [{"task": task, "configuration": [{"name": "a", "value": ""}, {"name": "b", "value": "2"}]}]
    assert s.call("tasks.get_configuration_names", tasks=[task])["configurations"] == [{"task": task, "names": ["b"]}]
    assert s.call("tasks.get_configuration_names", tasks=[task], skip_empty=False)["configurations"][0]["names"] == [
        "a", "b"]
    s.call("tasks.delete_configuration", task=task, configuration=["a"])
    assert set(get(s, task)["configuration"]) == {"b"}


def test_artifacts(s):
    task = make(s)

    def put(key, uri, **more):
        s.call("tasks.add_or_update_artifacts", task=task, artifacts=[{"key": key, "type": "custom", "uri": uri, **more}])

    put("b", "u1")
    put("a", "u2")
    put("b", "u3")
    put("b", "given", mode="input")
    found = get(s, task)["execution"]["artifacts"]
    assert [(a["key"], a["mode"], a["uri"]) for a in found] == [("a", "output", "u2"), ("b", "output", "u3"),
                                                              ("b", "input", "given")]
    s.call("tasks.delete_artifacts", task=task, artifacts=[{"key": "a"}])
    assert [a["key"] for a in get(s, task)["execution"]["artifacts"]] == ["b", "b"]
    s.call("tasks.reset", task=task)
    assert [a["uri"] for a in get(s, task)["execution"]["artifacts"]] == ["given"]


def test_clone(s):
    model = s.call("models.create", name="input model", uri="u")["id"]
    task = make(s, "source", comment="c", tags=["t"], system_tags=["development", "kept"], script={"repository": "r"},
                hyperparams={"S": {"n": {"section": "S", "name": "n", "value": "1"}}}, output_dest="s3://o",
                models={"input": [{"name": "m", "model": model}], "output": [{"name": "o", "model": "x"}]},
                container={"image": "i"}, runtime={"r": 1})
    out = s.call("tasks.clone", task=task, new_task_name="copy", new_project_name="clones/new")
    assert out["new_project"]["name"] == "clones/new"
    t = get(s, out["id"])
    assert (t["name"], t["comment"], t["parent"], t["status"]) == ("copy", "c", task, "created")
    assert t["project"] == out["new_project"]["id"]
    assert (t["tags"], t["system_tags"], t["runtime"]) == (["t"], ["kept"], {})
    assert t["hyperparams"]["S"]["n"]["value"] == "1" and t["script"]["repository"] == "r"
    assert t["container"] == {"image": "i"} and t["output"] == {"destination": "s3://o"}
    assert [m["model"] for m in t["models"]["input"]] == [model] and t["models"]["output"] == []
    second = s.call("tasks.clone", task=out["id"], new_task_hyperparams={})["id"]
    assert get(s, second, "parent", "hyperparams") == {"parent": task, "hyperparams": {}}
    other = s.call("tasks.clone", task=task, execution_overrides={"docker_cmd": "img -v x", "queue": "q",
                                                                 "model_labels": {"a": "3"}})["id"]
    t = get(s, other)
    assert t["container"] == {"image": "img", "arguments": "-v x"} and "queue" not in t["execution"]
    assert t["execution"]["model_labels"] == {"a": 3}


def test_reset(s):
    task = make(s, script={"repository": "r"}, runtime={"x": 1}, tags=["t"])
    draft = s.call("models.create", name="a draft", uri="file:///d", task=task, ready=False)["id"]
    s.call("tasks.add_or_update_model", task=task, name="out", model=draft, type="output")
    s.call("tasks.started", task=task)
    s.call("tasks.completed", task=task)
    out = s.call("tasks.reset", task=task, return_file_urls=True)
    assert out["updated"] == 1 and out["dequeued"] == {} and out["deleted_models"] == 1
    assert out["urls"]["model_urls"] == ["file:///d"] and out["urls"]["event_urls"] == []
    t = get(s, task)
    assert t["status"] == "created" and t["runtime"] == {} and t["models"]["output"] == [] and t["tags"] == ["t"]
    assert "started" not in t and "completed" not in t and t["script"]["repository"] == "r"
    assert s.fails("models.get_by_id", model=draft) == (400, 201)
    s.call("tasks.enqueue", task=task, queue_name="reset queue")
    assert s.call("tasks.reset", task=task)["dequeued"] == {"removed": 1}
    s.call("tasks.reset", task=task, clear_all=True)
    assert "script" not in get(s, task)


def test_delete(s):
    task = make(s)
    child = make(s, parent=task)
    ready = s.call("models.create", name="published", uri="file:///p", task=task, ready=True)["id"]
    draft = s.call("models.create", name="a draft", uri="file:///d", task=task, ready=False)["id"]
    assert s.fails("tasks.delete", task=task) == (400, 123)  # a published model hangs on it
    out = s.call("tasks.delete", task=task, force=True, return_file_urls=True)
    assert (out["deleted"], out["updated_children"], out["updated_models"], out["deleted_models"]) == (True, 1, 1, 1)
    assert out["urls"] == {"model_urls": ["file:///d"], "artifact_urls": [], "event_urls": []}
    assert get(s, child)["parent"] == "__DELETED__" + task
    assert s.call("models.get_by_id", model=ready)["model"]["task"] == "__DELETED__" + task
    assert s.fails("models.get_by_id", model=draft) == (400, 201)
    assert s.call("tasks.delete", task=child)["urls"] is None


def test_archive_and_many(s):
    a, b = make(s), make(s)
    s.call("tasks.started", task=b)
    assert s.fails("tasks.archive", tasks=[a, "0" * 32]) == (400, 101)
    assert get(s, a)["system_tags"] == []  # nothing of it was done
    assert s.call("tasks.archive", tasks=[a, b]) == {"archived": 2}
    assert get(s, b, "status", "system_tags") == {"status": "stopped", "system_tags": ["archived"]}
    out = s.call("tasks.unarchive_many", ids=[a, "0" * 32])
    assert out["succeeded"] == [{"id": a, "unarchived": True}]
    assert out["failed"][0]["id"] == "0" * 32 and out["failed"][0]["error"]["codes"] == [400, 101]
    out = s.call("tasks.enqueue_many", ids=[a, b, "0" * 32], queue_name="many queue")
    assert [(i["id"], i["queued"], i["updated"]) for i in out["succeeded"]] == [(a, True, 1), (b, True, 1)]
    assert len(out["failed"]) == 1
    assert [i["dequeued"] for i in s.call("tasks.dequeue_many", ids=[a])["succeeded"]] == [True]
    assert get(s, a)["status"] == "created"
    for verb, status in (("stop", "stopped"), ("publish", "published"), ("reset", "created")):
        s.call(f"tasks.{verb}_many", ids=[a, b], force=True)
        assert {get(s, a)["status"], get(s, b)["status"]} == {status}
    assert len(s.call("tasks.delete_many", ids=[a, b], force=True)["succeeded"]) == 2
    assert s.fails("tasks.stop_many", ids=[]) == (400, 12)


def test_old_clients(s):
    model = s.call("models.create", name="old model", uri="u")["id"]
    task = s.call("tasks.create", _version="2.8", name="old one", type="training", execution={
        "parameters": {"lr": "0.1", "TF_DEFINE/x": 1}, "model_desc": {"design": "d"}, "model": model,
        "docker_cmd": "image -e A=1"})["id"]
    new = get(s, task)
    assert new["hyperparams"]["Args"]["lr"] == {"section": "Args", "name": "lr", "value": "0.1", "type": "legacy"}
    assert new["hyperparams"]["TF_DEFINE"]["x"]["value"] == "1" and new["execution"]["parameters"] == {}
    assert new["configuration"]["design"]["value"] == "d"
    assert new["models"]["input"][0]["model"] == model and new["container"] == {"image": "image", "arguments": "-e A=1"}
    old = get(s, task, version="2.8")["execution"]
    assert old["parameters"] == {"lr": "0.1", "TF_DEFINE/x": "1"} and old["model_desc"] == {"design": "d"}
    assert old["model"] == model and old["docker_cmd"] == "image -e A=1"
    assert get(s, task, version="2.9")["execution"]["parameters"] == {}
    s.call("tasks.edit", _version="2.8", task=task, execution={"parameters": {"new": "1"}})
    assert set(get(s, task)["hyperparams"]) == {"Args"} and set(get(s, task)["hyperparams"]["Args"]) == {"new"}
    tagged = s.call("tasks.create", _version="2.2", name="old tags", type="training",
                    tags=["mine", "archived", "Annotated x"])["id"]
    assert get(s, tagged, "tags", "system_tags") == {"tags": ["mine"], "system_tags": ["Annotated x", "archived"]}
    assert get(s, tagged, version="2.2")["tags"] == ["Annotated x", "archived", "mine"]


def test_older_and_newer_parameters_together(s):
    new = {"Args": {"lr": {"section": "Args", "name": "lr", "value": "1", "type": "float"}},
           "Other/x": {"y": {"section": "Other/x", "name": "y", "value": "2"}}}
    design = {"net": {"name": "net", "value": "n", "type": "t"}}
    legacy = lambda name, value, section="Args": {"section": section, "name": name, "value": value, "type": "legacy"}
    for version in ("2.8", "2.34"):
        task = s.call("tasks.create", _version=version, name="both forms", type="training", hyperparams=new,
                      configuration=design, execution={"parameters": {"a.b": 3, "TF_DEFINE/z": None},
                                                       "model_desc": {"design": "d"}})["id"]
        assert get(s, task)["hyperparams"] == {
            "Args": {**new["Args"], "a.b": legacy("a.b", "3")}, "Other/x": new["Other/x"],
            "TF_DEFINE": {"z": legacy("z", "None", "TF_DEFINE")}}
        assert get(s, task)["configuration"] == {**design, "design": {"name": "design", "value": "d", "type": "legacy"}}
        assert get(s, task)["execution"]["parameters"] == get(s, task)["execution"]["model_desc"] == {}

    # alone they replace what came in the older form, and nothing else
    s.call("tasks.edit", task=task, execution={"parameters": {"c": "4"}, "model_desc": {"other": "o"}})
    assert get(s, task)["hyperparams"] == {"Args": {**new["Args"], "c": legacy("c", "4")}, "Other/x": new["Other/x"]}
    assert set(get(s, task)["configuration"]) == {"net", "other"}
    # an empty one says "none" from clients that see them there; others only send back what they are shown
    s.call("tasks.edit", _version="2.9", task=task, execution={"parameters": {}, "model_desc": {}})
    assert "c" in get(s, task)["hyperparams"]["Args"] and "other" in get(s, task)["configuration"]
    s.call("tasks.edit", _version="2.8", task=task, execution={"parameters": {}, "model_desc": {}})
    assert get(s, task)["hyperparams"] == new and get(s, task)["configuration"] == design
    # with the newer form it is laid over that, which replaces what is stored
    s.call("tasks.edit", task=task, hyperparams={"S": {"k": {"value": "v"}}}, execution={"parameters": {"c": "5"}})
    assert get(s, task)["hyperparams"] == {"S": {"k": {"section": "S", "name": "k", "value": "v"}},
                                           "Args": {"c": legacy("c", "5")}}
    clone = s.call("tasks.clone", task=task, new_task_hyperparams=new, new_task_configuration=design,
                   execution_overrides={"parameters": {"d": "6"}, "model_desc": {"e": "7"}})["id"]
    assert get(s, clone)["hyperparams"] == {"Args": {**new["Args"], "d": legacy("d", "6")}, "Other/x": new["Other/x"]}
    assert set(get(s, clone)["configuration"]) == {"net", "e"}
    for bad in ({" ": "1"}, {"TF_DEFINE/": "1"}, {"TF_DEFINE": "1"}):
        assert s.fails("tasks.create", name="bad", type="training", execution={"parameters": bad}) == (400, 12)
    assert s.fails("tasks.create", name="bad", type="training", execution={"model_desc": {"": "1"}}) == (400, 12)
    assert s.fails("tasks.create", name="bad", type="training", execution={"parameters": {"a": "1"}},
                   hyperparams={"Args": "x"}) == (400, 800)


def test_tags_move_public_types(s):
    task = make(s, type="qc")
    assert s.call("tasks.update_tags", ids=[task], add_tags=["b", "a"], remove_tags=["z"]) == {"updated": 2}
    assert get(s, task)["tags"] == ["a", "b"]
    assert s.fails("tasks.update_tags", ids=[task]) == (400, 12)
    project = s.call("tasks.move", ids=[task], project_name="moved/here")["project_id"]
    assert get(s, task)["project"] == project
    assert s.call("tasks.move", ids=[task], project=None) == {"project_id": None}
    assert "project" not in get(s, task)
    assert s.fails("tasks.move", ids=[task]) == (400, 11)
    assert "qc" in s.call("tasks.get_types")["types"]
    assert s.call("tasks.make_public", ids=[task]) == {"updated": 1}
    assert get(s, task)["company"] == "" and s.fails("tasks.edit", task=task, name="new name") == (403, 21)
    assert [t["id"] for t in s.call("tasks.get_all", id=[task], only_fields=["id"])["tasks"]] == [task]
    assert s.call("tasks.make_private", ids=[task]) == {"updated": 1}
    assert s.fails("tasks.make_private", ids=[task]) == (400, 101)


def test_references_to_what_is_gone(s):
    gone = s.call("models.create", name="soon gone", uri="u")["id"]
    inputs = {"input": [{"name": "in", "model": gone}]}
    task = make(s, models=inputs)
    s.call("models.delete", model=gone, force=True)
    marked = get(s, task)["models"]
    assert marked["input"][0]["model"] == "__DELETED__" + gone
    copy = s.call("tasks.clone", task=task)["id"]
    assert get(s, copy)["models"]["input"][0]["model"] == "__DELETED__" + gone
    assert s.fails("tasks.clone", task=task, validate_references=True) == (400, 201)
    assert s.fails("tasks.clone", task=task, execution_overrides={"model": gone}) == (400, 201)
    assert s.fails("tasks.clone", task=task, new_task_input_models=marked["input"]) == (400, 201)
    assert s.fails("tasks.clone", task=task, new_task_parent="0" * 32) == (400, 101)
    assert s.fails("tasks.clone", task=task, new_task_project="0" * 32) == (400, 401)
    assert s.fails("tasks.create", name="a task", type="training", models=inputs) == (400, 201)
    assert s.fails("tasks.create", name="a task", type="training", models={"input": [
        {"name": "in", "model": "__DELETED__" + gone}]}) == (400, 201)
    assert s.fails("tasks.edit", task=task, models=inputs) == (400, 201)
    s.call("tasks.edit", task=task, models={"output": [{"name": "out", "model": "anything"}]})
    assert get(s, task)["models"]["input"][0]["model"] == "__DELETED__" + gone
    fine = s.call("models.create", name="still there", uri="u")["id"]
    other = s.call("tasks.clone", task=task, execution_overrides={"model": fine}, validate_references=True)["id"]
    assert [m["model"] for m in get(s, other)["models"]["input"]] == [fine]
    chosen = s.call("tasks.clone", task=task, execution_overrides={"model": gone}, new_task_input_models=[
        {"name": "in", "model": fine}])["id"]
    assert [m["model"] for m in get(s, chosen)["models"]["input"]] == [fine]

    queue = s.call("queues.create", name="what it needs")["id"]
    out = s.call("tasks.enqueue_many", ids=[task, other], queue=queue, validate_tasks=True)
    assert [i["id"] for i in out["succeeded"]] == [other]
    assert [(i["id"], i["error"]["codes"]) for i in out["failed"]] == [(task, [400, 201])]
    assert get(s, task)["status"] == "created"
    assert [i["id"] for i in s.call("tasks.enqueue_many", ids=[task], queue=queue)["succeeded"]] == [task]
    parent = make(s)
    child = make(s, parent=parent)
    s.call("tasks.delete", task=parent)
    assert s.call("tasks.enqueue_many", ids=[child], queue=queue, validate_tasks=True)["failed"] == []
    s.call("tasks.clone", task=child, validate_references=True)


def test_what_belongs_to_everybody_cannot_be_changed(s):
    """Every call that would change a task refuses one that is public; it can still be read, cloned and passed over."""
    queue = s.call("queues.create", name="not for everybody")["id"]
    task = make(s)
    s.call("tasks.make_public", ids=[task])
    before = get(s, task)
    for call in ("started", "stop", "stopped", "failed", "completed", "close", "publish", "reset", "delete", "dequeue"):
        assert s.fails(f"tasks.{call}", task=task, force=True) == (403, 21), call
    item = [{"section": "s", "name": "n", "value": "v"}]
    for call, fields in (
            ("enqueue", {"queue": queue}), ("edit", {"name": "another"}), ("update", {"name": "another"}),
            ("set_requirements", {"requirements": {"pip": "six"}}), ("edit_hyper_params", {"hyperparams": item}),
            ("delete_hyper_params", {"hyperparams": item[:1]}), ("edit_runtime", {"add_or_update": {"a": 1}}),
            ("edit_configuration", {"configuration": [{"name": "n", "value": "v"}]}),
            ("delete_configuration", {"configuration": ["n"]}), ("delete_artifacts", {"artifacts": [{"key": "k"}]}),
            ("add_or_update_artifacts", {"artifacts": [{"key": "k", "type": "t"}]}),
            ("add_or_update_model", {"name": "m", "model": "x", "type": "output"}),
            ("delete_models", {"models": [{"name": "m", "type": "output"}]})):
        assert s.fails(f"tasks.{call}", task=task, **fields) == (403, 21), call
    assert s.fails("tasks.archive", tasks=[task]) == (403, 21)
    assert s.fails("tasks.update_tags", ids=[task], add_tags=["t"]) == (403, 21)
    assert s.fails("tasks.move", ids=[task], project=None) == (403, 21)
    assert s.fails("events.clear_task_log", task=task) == (403, 21)
    for call in ("stop_many", "publish_many", "reset_many", "delete_many", "archive_many", "unarchive_many",
                 "dequeue_many"):
        failed = s.call(f"tasks.{call}", ids=[task])["failed"]
        assert [f["error"]["codes"] for f in failed] == [[403, 21]], call
    event = {"task": task, "type": "log", "msg": "x"}
    assert s.fails("events.add", **event) == (400, 131)
    assert get(s, task) == before
    assert get(s, s.call("tasks.clone", task=task)["id"])["parent"] == task
    # an entry of such a task is no entry for anyone
    s.call("tasks.make_private", ids=[task])
    s.call("tasks.enqueue", task=task, queue=queue)
    s.call("tasks.make_public", ids=[task])
    assert s.call("x_queues.claim", queues=[queue], worker="w", token="t" * 32, wait_ms=0) == {}
    assert s.call("queues.get_num_entries", queue=queue)["num"] == 0
    assert s.call("queues.delete", queue=queue)["deleted"] == 1


def test_runtime_and_models(s):
    task = make(s)
    s.call("tasks.edit_runtime", task=task, add_or_update={"a.b": 1, "_p": "x"})
    assert get(s, task)["runtime"] == {"a.b": 1, "_p": "x"}
    s.call("tasks.edit_runtime", task=task, remove=["a.b"])
    assert get(s, task)["runtime"] == {"_p": "x"}
    assert s.call("tasks.edit_runtime", task=task) == {"updated": 0}
    for name, model in (("w", "m1"), ("v", "m2"), ("w", "m3")):
        s.call("tasks.add_or_update_model", task=task, name=name, model=model, type="output", iteration=7)
    t = get(s, task)
    assert [(m["name"], m["model"]) for m in t["models"]["output"]] == [("w", "m3"), ("v", "m2")]
    assert t["last_iteration"] == 7
    s.call("tasks.delete_models", task=task, models=[{"type": "output", "name": "w"}])
    assert [m["name"] for m in get(s, task)["models"]["output"]] == ["v"]


def test_timeline(s):
    task = make(s)
    s.call("tasks.started", task=task)
    s.call("x_tasks.stage", task=task, stage="clone", started=1_700_000_000_000)
    s.call("x_tasks.stage", task=task, stage="clone", ended=1_700_000_005_000, ok=True, detail="from the cache")
    s.call("tasks.failed", task=task, status_reason="worker execution exit code 3")
    out = s.call("x_tasks.timeline", task=task)
    assert [(i["name"], i.get("ok")) for i in out["stages"]] == [("created", True), ("clone", True), ("running", False)]
    clone = out["stages"][1]
    assert clone["started"] == "2023-11-14T22:13:20+00:00" and clone["ended"] == "2023-11-14T22:13:25+00:00"
    assert clone["detail"] == "from the cache" and out["why"]["exit_code"] == 3
    assert "failed" in out["why"]["text"] and "signal" not in out["why"]
    killed = make(s)
    s.call("tasks.enqueue", task=killed, queue_name="timeline queue")
    assert [i["name"] for i in s.call("x_tasks.timeline", task=killed)["stages"]] == ["created", "queued"]
    s.call("tasks.started", task=killed)
    s.call("tasks.failed", task=killed, status_reason="worker execution exit code -9")
    out = s.call("x_tasks.timeline", task=killed)
    assert [i["name"] for i in out["stages"]] == ["created", "queued", "running"]
    assert out["stages"][1]["ended"] == out["stages"][2]["started"] and out["stages"][1]["ok"]
    assert out["why"]["signal"] == 9 and "exit_code" not in out["why"]


def test_failed_task_is_not_started_silently(s):
    task = make(s)
    s.call("tasks.started", task=task)
    s.call("tasks.failed", task=task)
    with pytest.raises(CallError) as e:
        s.call("tasks.started", task=task)
    assert (e.value.status, e.value.code, e.value.subcode) == (400, 400, 110)
    assert "failed" in e.value.msg and "in_progress" in e.value.msg  # from where to where
    assert get(s, task)["status"] == "failed"


def test_unknown_tasks(s):
    for call in ("get_by_id", "started", "stop", "stopped", "failed", "completed", "close", "publish", "reset", "delete",
                 "edit", "enqueue", "clone"):
        assert s.fails(f"tasks.{call}", task="0" * 32)[0] == 400, call
    assert s.call("tasks.ping", task="0" * 32) == {}


def upload(s, path):
    """The address of a small uploaded file."""
    body = (f'--b\r\nContent-Disposition: form-data; name="/{path}"; filename="f"\r\n\r\n'
            f"content of {path}\r\n--b--\r\n").encode()
    headers = {"Content-Type": "multipart/form-data; boundary=b", **s.auth()}
    assert s.raw("/", body, headers, base=s.files)[0] == 200
    return f"{s.files}/{urllib.parse.quote(path)}"


def uploaded(s, url):
    return s.raw("", None, s.auth(), "GET", base=url)[0]


def test_uploaded_files_go_with_the_project(server):
    """Weights of drafts and of published models, of its tasks and of none; not those of a model elsewhere."""
    s = server
    for keep in (True, False):
        here, there = (s.call("projects.create", name=f"files {keep}/{n}")["id"] for n in ("here", "there"))
        task = make(s, project=here)
        model = lambda name, project, **f: s.call("models.create", name=name, project=project, uri=upload(
            s, f"{keep}/{name}.bin"), **f)["id"]
        ids = [model("draft", here, task=task, ready=False), model("ready", here, task=task), model("alone", here)]
        elsewhere = model("elsewhere", there, task=task, ready=False)
        urls = [s.call("models.get_by_id", model=m)["model"]["uri"] for m in ids]
        kept = s.call("models.get_by_id", model=elsewhere)["model"]["uri"]
        s.call("projects.delete", project=here, force=True, delete_contents=True, delete_external_artifacts=not keep)
        if not keep:
            wait_for("the files to go", lambda: [uploaded(s, u) for u in urls] == [404] * 3)
    assert uploaded(s, kept) == 200
    assert [uploaded(s, u.replace("/False/", "/True/")) for u in urls] == [200] * 3


def test_uploaded_files_go_with_the_task(server):
    """Three uploaded files, archive, delete: the answer lists three, none is left."""
    task = make(server)
    urls = [upload(server, f"proj one/a task.{task}/artifacts/k{i}/file {i}.bin") for i in range(3)]
    server.call("tasks.add_or_update_artifacts", task=task, artifacts=[
        {"key": f"k{i}", "type": "custom", "uri": url} for i, url in enumerate(urls)])
    assert [uploaded(server, url) for url in urls] == [200] * 3
    server.call("tasks.archive", tasks=[task])
    assert server.call("tasks.delete", task=task, return_file_urls=True)["urls"]["artifact_urls"] == urls
    wait_for("the files to go", lambda: [uploaded(server, url) for url in urls] == [404] * 3)
