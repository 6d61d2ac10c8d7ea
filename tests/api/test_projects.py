"""Projects over the wire: paths made on demand, names, moving and merging subtrees, counts, what deleting takes along."""
import datetime
import json
import math

import pytest


@pytest.fixture
def s(shared_server):
    return shared_server


def project(s, name, **fields):
    return s.call("projects.create", name=name, **fields)["id"]


def task(s, **fields):
    return s.call("tasks.create", name="a task", type=fields.pop("type", "training"), **fields)["id"]


def get(s, id):
    return s.call("projects.get_by_id", project=id)["project"]


def find(s, **query):
    return s.call("projects.get_all_ex", **query)["projects"]


def names(s, **query):
    return [p["name"] for p in find(s, order_by=["name"], **query)]


def test_create(s):
    sub = get(s, project(s, " made / via //path ", description="d", tags=["b", "a"]))
    assert sub["name"] == "made/via/path" and sub["basename"] == "path"
    via = get(s, sub["parent"])
    assert via["name"] == "made/via" and sub["path"] == [via["parent"], via["id"]]
    assert sub["description"] == "d" and sub["tags"] == ["a", "b"] and sub["featured"] == 9999
    assert "path" not in s.call("projects.get_all", id=[sub["id"]])["projects"][0]


def test_names(s):
    project(s, "taken/name")
    for name, want in ((None, (400, 11)), ("/", (400, 407)), ("  ", (400, 407)), ("v6", (400, 12)),
                       ("long enough/v6", (400, 12)), ("taken/name", (400, 801)), (" taken // name ", (400, 801)),
                       ("/".join(["abc"] * 11), (400, 409))):
        assert s.fails("projects.create", **({"name": name} if name else {})) == want, name
    with pytest.raises(Exception, match="at least 3 characters"):
        project(s, "v6")
    assert s.fails("projects.get_by_id", project="0" * 32) == (400, 401)


def test_update(s):
    one = project(s, "edit me/inner", description="d")
    below = project(s, "edit me/inner/deep")
    out = s.call("projects.update", project=one, name="edit me/outer", description=None, tags=["z"])
    assert out == {"updated": 1, "fields": {"name": "edit me/outer", "description": None, "tags": ["z"]}}
    assert get(s, below)["name"] == "edit me/outer/deep"
    assert "description" not in get(s, one) and get(s, one)["basename"] == "outer"
    assert s.fails("projects.update", project=one, name="elsewhere/outer") == (400, 408)
    project(s, "edit me/other")
    assert s.fails("projects.update", project=one, name="edit me/other") == (400, 801)
    assert s.fails("projects.update", project="0" * 32) == (400, 401)
    assert s.fails("projects.update") == (400, 11)


def test_names_with_special_characters_stay_what_they_are(s):
    one = project(s, "under_score%/it's_100%")
    below = project(s, "under_score%/it's_100%/sub")
    project(s, "underXscoreY/trap/sub")
    s.call("projects.update", project=one, name="under_score%/new_%")
    assert get(s, below)["name"] == "under_score%/new_%/sub"
    assert names(s, name="^underXscoreY") == ["underXscoreY", "underXscoreY/trap", "underXscoreY/trap/sub"]


def test_search(s):
    top = project(s, "look/aaa")
    project(s, "look/aaa/bbb")
    project(s, "look/aaa/bbb/ccc")
    hidden = project(s, "look/aaa/.datasets/set", system_tags=["hidden", "dataset"])
    root = get(s, top)["parent"]
    s.call("projects.update", project=get(s, hidden)["parent"], system_tags=["hidden"])  # as the SDK does
    assert names(s, parent=[root]) == ["look/aaa", "look/aaa/bbb", "look/aaa/bbb/ccc"]
    assert names(s, parent=[root], shallow_search=True) == ["look/aaa"]
    assert "look" in names(s, shallow_search=True) and "look/aaa" not in names(s, shallow_search=True)
    assert names(s, name="^look/aaa$") == ["look/aaa"] and names(s, basename="^ccc$") == ["look/aaa/bbb/ccc"]
    assert "look/aaa/.datasets" in names(s, parent=[top], search_hidden=True)  # made on the way
    assert next(p for p in find(s, search_hidden=True, parent=[top]) if p["id"] == hidden)["hidden"] is True
    assert names(s, id=[hidden]) == ["look/aaa/.datasets/set"]
    assert names(s, children_type="dataset", id=[root, top]) == ["look", "look/aaa"]
    assert names(s, _any_={"fields": ["basename", "id"], "pattern": "^CCC$"}) == ["look/aaa/bbb/ccc"]


def test_stats(s):
    top = project(s, "count/one")
    sub = project(s, "count/one/two")
    for i in range(3):
        task(s, project=top)
    a, b = task(s, project=sub), task(s, project=sub)
    s.call("tasks.started", task=a)
    s.call("tasks.completed", task=a)
    s.call("tasks.archive", tasks=[b])
    s.call("models.create", name="a model", uri="u", project=top)
    p = find(s, id=[top], include_stats=True, check_own_contents=True, include_dataset_stats=True)[0]
    active = p["stats"]["active"]
    assert active["status_count"] == {**dict.fromkeys(
        ["queued", "in_progress", "stopped", "published", "publishing", "closed", "failed", "unknown"], 0),
        "created": 3, "completed": 1}
    assert active["total_tasks"] == 4 and active["completed_tasks_24h"] == 1 and active["last_task_run"]
    ran = s.call("tasks.get_by_id", task=a)["task"]
    begun, done = (datetime.datetime.fromisoformat(ran[k]) for k in ("started", "completed"))
    assert 0 <= active["total_runtime"] <= math.ceil((done - begun).total_seconds()) and p["sub_projects"] == [{"id": sub, "name": "count/one/two"}]
    assert (p["own_tasks"], p["own_models"], p["dataset_stats"]) == (3, 1, None)
    assert set(p["stats"]) == {"active"}
    p = find(s, id=[top], include_stats=True, stats_with_children=False)[0]
    assert p["stats"]["active"]["total_tasks"] == 3 and p["sub_projects"] == []
    assert p["stats"]["active"]["last_task_run"] is None
    p = find(s, id=[top], include_stats=True, include_stats_filter={"status": ["completed"]})[0]
    assert p["stats"]["active"]["total_tasks"] == 1
    me = get(s, top)["user"]
    assert names(s, active_users=[me], id=[top]) == ["count/one"] and names(s, active_users=["nobody"]) == []
    s.call("tasks.edit_runtime", task=a, add_or_update={"ds_file_count": 5, "ds_total_size": 1000})
    assert find(s, id=[sub], include_dataset_stats=True)[0]["dataset_stats"] == {"file_count": 5, "total_size": 1000}
    assert s.fails("projects.get_all_ex", id=[top], only_fields=["stats"]) == (400, 14)


def test_move(s):
    one = project(s, "move/one")
    deep = project(s, "move/one/deep")
    project(s, "target")
    assert s.fails("projects.move", project=one, new_location="move") == (400, 410)
    assert s.fails("projects.move", project=one, new_location="move/one/deep") == (400, 411)
    assert s.fails("projects.move", project=one, new_location="/".join(["abc"] * 9)) == (400, 409)
    assert s.call("projects.move", project=one, new_location="target/new") == {"moved": 2}
    assert get(s, deep)["name"] == "target/new/one/deep" and len(get(s, deep)["path"]) == 3
    assert names(s, parent=[get(s, get(s, one)["parent"])["parent"]]) == [
        "target/new", "target/new/one", "target/new/one/deep"]
    assert s.call("projects.move", project=one, new_location="") == {"moved": 2}
    assert get(s, deep)["name"] == "one/deep" and "parent" not in get(s, one)


def test_merge(s):
    one, two = project(s, "merge/one"), project(s, "merge/two")
    child = project(s, "merge/one/child")
    a, b = task(s, project=one), task(s, project=child)
    assert s.fails("projects.merge", project=one, destination_project=one) == (400, 410)
    assert s.fails("projects.merge", project=one, destination_project=child) == (400, 412)
    assert s.call("projects.merge", project=one, destination_project=two) == {"moved_entities": 1, "moved_projects": 1}
    assert s.fails("projects.get_by_id", project=one) == (400, 401)
    assert get(s, child)["name"] == "merge/two/child"
    assert s.call("tasks.get_by_id", task=a)["task"]["project"] == two
    assert s.call("tasks.get_by_id", task=b)["task"]["project"] == child


def test_delete(s):
    top = project(s, "delete/this")
    sub = project(s, "delete/this/sub")
    a, b = task(s, project=sub), task(s, project=top)
    m = s.call("models.create", name="a model", uri="file:///m", project=top)["id"]
    counts = s.call("projects.validate_delete", project=top)
    assert counts == {"tasks": 2, "non_archived_tasks": 2, "models": 1, "non_archived_models": 1, "reports": 0,
                      "non_archived_reports": 0, "pipelines": 0, "datasets": 0}
    assert s.fails("projects.delete", project=top) == (400, 402)
    s.call("tasks.archive", tasks=[a, b])
    assert s.fails("projects.delete", project=top) == (400, 405)
    s.call("models.archive_many", ids=[m])
    out = s.call("projects.delete", project=top)
    assert out == {"deleted": 2, "disassociated_tasks": 2, "urls": None, "deleted_models": 0, "deleted_tasks": 0}
    assert "project" not in s.call("tasks.get_by_id", task=a)["task"]
    top = project(s, "delete/this")
    kept = task(s)
    a = task(s, project=top, execution={"artifacts": [{"key": "k", "type": "t", "uri": "file:///k"}]})
    s.call("tasks.edit", task=kept, parent=a)
    m = s.call("models.create", name="a model", uri="file:///m", project=top)["id"]
    out = s.call("projects.delete", project=top, force=True, delete_contents=True)
    assert (out["deleted"], out["deleted_tasks"], out["deleted_models"]) == (1, 1, 1)
    assert out["urls"] == {"model_urls": ["file:///m"], "artifact_urls": ["file:///k"], "event_urls": []}
    assert "parent" not in s.call("tasks.get_by_id", task=kept)["task"]


def test_delete_with_models_here_and_elsewhere(s):
    here, there = project(s, "models go/here"), project(s, "models go/there")
    maker, user = task(s, project=here), task(s, project=there)
    made = lambda uri, project, **f: s.call("models.create", name="a model", uri=uri, project=project, task=maker, **f)["id"]
    draft, ready = made("file:///draft", here, ready=False), made("file:///ready", here)
    far_draft, far_ready = made("file:///far draft", there, ready=False), made("file:///far ready", there)
    s.call("tasks.edit", task=user, models={"input": [{"name": "in", "model": ready}, {"name": "far", "model": far_draft}]})
    out = s.call("projects.delete", project=here, force=True, delete_contents=True)
    assert (out["deleted"], out["deleted_tasks"], out["deleted_models"]) == (1, 1, 2)
    assert sorted(out["urls"].pop("model_urls")) == ["file:///draft", "file:///ready"]
    assert out["urls"] == {"artifact_urls": [], "event_urls": []}
    for gone in (draft, ready):
        assert s.fails("models.get_by_id", model=gone) == (400, 201)
    for kept in (far_draft, far_ready):
        assert "task" not in s.call("models.get_by_id", model=kept)["model"]
    inputs = s.call("tasks.get_by_id", task=user)["task"]["models"]["input"]
    assert [i["model"] for i in inputs] == ["__DELETED__" + ready, far_draft]


def test_datasets_and_pipelines_block_deletion(s):
    top = project(s, "guarded")
    data = project(s, "guarded/.datasets/set", system_tags=["hidden", "dataset"])
    t = task(s, project=data)
    assert s.fails("projects.delete", project=top) == (400, 406)
    s.call("tasks.delete", task=t)
    pipe = project(s, "guarded/.pipelines/pipe", system_tags=["hidden", "pipeline"])
    t = task(s, project=pipe, type="controller", system_tags=["pipeline"])
    assert s.fails("projects.delete", project=top) == (400, 413)
    s.call("tasks.edit", task=t, system_tags=["archived"])
    assert s.call("projects.delete", project=top)["deleted"] == 5


def test_sums(s):
    top, sub = project(s, "sums"), project(s, "sums/below")

    def params(**values):
        return {"Se$tion1": {n: {"section": "Se$tion1", "name": n, "value": v} for n, v in values.items()}}

    a = task(s, project=top, tags=["t1"], hyperparams=params(pa__ram1="10", lr="0.5"))
    b = task(s, project=sub, tags=["t2"], system_tags=["sys"], hyperparams=params(pa__ram1="9", lr="0.25"), parent=a)
    s.call("models.create", name="a model", uri="u", project=sub, tags=["m"])
    assert s.call("projects.get_task_tags", projects=[top]) == {"tags": ["t1", "t2"]}
    assert s.call("projects.get_task_tags", projects=[sub], include_system=True) == {
        "tags": ["t2"], "system_tags": ["sys"]}
    assert s.call("projects.get_model_tags", projects=[top])["tags"] == ["m"]
    s.call("tasks.edit", task=b, tags=["new"])
    assert s.call("projects.get_task_tags", projects=[top])["tags"] == ["new", "t1"]
    s.call("projects.update", project=sub, tags=["p"])
    assert s.call("projects.get_project_tags", projects=[sub]) == {"tags": ["p"], "system_tags": []}
    out = s.call("projects.get_hyper_parameters", project=top)
    assert out["parameters"] == [{"section": "Se$tion1", "name": "lr"}, {"section": "Se$tion1", "name": "pa__ram1"}]
    assert out["total"] == 2 and out["remaining"] == 0
    where = {"projects": [top], "section": "Se$tion1", "name": "pa__ram1"}
    assert s.call("projects.get_hyperparam_values", **where) == {"total": 2, "values": ["9", "10"]}
    assert s.call("projects.get_hyperparam_values", pattern="^1", **where)["values"] == ["10"]
    assert s.call("projects.get_hyperparam_values", include_subprojects=False, **where)["values"] == ["10"]
    assert s.call("projects.get_task_parents", projects=[top])["parents"] == [
        {"id": a, "name": "a task", "project": {"id": top, "name": "sums"}}]
    assert s.call("projects.get_task_parents", projects=[top], tasks_state="archived")["parents"] == []
    other = task(s, project=top)
    s.call("tasks.archive", tasks=[task(s, project=top, parent=other)])
    parents = lambda **f: {p["id"] for p in s.call("projects.get_task_parents", projects=[top], **f)["parents"]}
    assert parents() == parents(tasks_state=None) == {a, other}
    assert parents(tasks_state="active") == {a} and parents(tasks_state="archived") == {other}
    assert s.fails("projects.get_task_parents", tasks_state="none") == (400, 12)
    users = s.call("projects.get_user_names", projects=[top])["users"]
    assert len(users) == 1 and users[0]["name"]
    assert s.call("projects.get_unique_metric_variants", project=top)["metrics"] == []


def test_many_sub_projects(s):
    """3,000 nested projects: the top level tells their number, not their names."""
    for i in range(3000):
        project(s, f"wide/p{i // 100:02}/q{i:04}")
    level = {"shallow_search": True, "include_stats": True, "check_own_contents": True, "name": "^wide$"}
    top = find(s, x_count_children=True, **level)
    assert [(p["name"], p["x_children"], "sub_projects" in p) for p in top] == [("wide", 30, False)]
    assert len(json.dumps(top)) < 2000
    assert len(find(s, **level)[0]["sub_projects"]) == 3030  # as the reference answers
    inside = {"parent": [top[0]["id"]], "only_fields": ["id"]}
    assert [p["x_children"] for p in find(s, shallow_search=True, x_count_children=True, **inside)] == [100] * 30
    assert len(find(s, page=0, page_size=500, **inside)) == 500 and len(find(s, page=6, page_size=500, **inside)) == 30


def test_public(s):
    one = project(s, "public/one")
    assert s.call("projects.make_public", ids=[one]) == {"updated": 1}
    assert get(s, one)["company"] == ""
    assert s.fails("projects.update", project=one, description="x") == (403, 21)
    assert s.fails("projects.create", name="public/one") == (400, 414)
    assert s.fails("projects.create", name="public/one/sub") == (400, 414)
    assert s.fails("tasks.create", name="a task", type="training", project=one) == (403, 21)
    assert s.call("projects.make_private", ids=[one]) == {"updated": 1}
    assert s.fails("projects.make_private", ids=[one]) == (400, 401)


def test_children_with_tags(s):
    top = project(s, "tagged children")
    for name, tags in (("aaa", ["x"]), ("bbb", ["x", "y"]), ("ccc", [])):
        project(s, f"tagged children/{name}/.pipelines/pipe", system_tags=["hidden", "pipeline"], tags=tags)
    below = {"parent": [top], "shallow_search": True, "children_type": "pipeline"}
    assert names(s, **below) == [f"tagged children/{n}" for n in ("aaa", "bbb", "ccc")]
    assert names(s, children_tags=["x"], **below) == [f"tagged children/{n}" for n in ("aaa", "bbb")]
    assert names(s, children_tags=["__$all", "x", "__$not", "y"], **below) == ["tagged children/aaa"]
    assert names(s, children_tags_filter={"any": {"include": [None, "y"]}}, **below) == [
        f"tagged children/{n}" for n in ("bbb", "ccc")]
    assert s.fails("projects.get_all_ex", children_type="nope", children_tags=["x"]) == (400, 12)
    t = task(s, project=top, system_tags=["reports"], tags=["r"], type="report")
    assert names(s, children_type="report", children_tags=["r"]) == ["tagged children"]
    stats = find(s, id=[top], children_type="report", include_stats=True)[0]["stats"]["active"]
    assert stats["total_tasks"] == 1 and s.call("tasks.delete", task=t)["deleted"]


def test_model_metadata(s):
    top = project(s, "metadata/top")
    sub = project(s, "metadata/top/sub")
    for where, values in ((top, {"k": "10", "l": "a"}), (sub, {"k": "9", "m": "b"})):
        id = s.call("models.create", name="a model", uri="u", project=where)["id"]
        s.call("models.add_or_update_metadata", model=id,
               metadata=[{"key": k, "type": "str", "value": v} for k, v in values.items()])
    assert s.call("projects.get_model_metadata_keys", project=top)["keys"] == ["k", "l", "m"]
    assert s.call("projects.get_model_metadata_keys", project=top, include_subprojects=False)["keys"] == ["k", "l"]
    assert s.call("projects.get_model_metadata_values", projects=[top], key="k") == {"total": 2, "values": ["9", "10"]}
