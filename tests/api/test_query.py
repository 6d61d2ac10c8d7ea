"""The query language on real tasks, projects and models: every field that may be filtered or ordered by, in every place
it may stand (so that each fragment of SQL is prepared and run), and the forms people meet in practice."""
import re

import pytest

TASK_LISTS = ["id", "user", "tags", "system_tags", "type", "status", "project", "parent", "execution.queue",
              "models.input.model", "hyperparams.Args.lr", "execution.parameters.lr"]
TASK_RANGES = ["created", "started", "completed", "active_duration", "last_iteration",
               "last_metrics.0123.4567.value", "last_metrics.0123.4567.min_value"]
TASK_DATES = ["status_changed", "last_update", "last_change"]
TASK_ORDERS = ["id", "company", "user", "name", "type", "status", "status_reason", "status_message", "status_changed",
               "comment", "created", "started", "completed", "published", "active_duration", "parent", "project", "tags",
               "system_tags", "last_update", "last_change", "last_changed_by", "last_iteration", "last_worker",
               "last_worker_report", "execution.queue", "hyperparams.Args.lr", "hyperparams.Args.lr.value",
               "execution.parameters.lr", "runtime.x", "last_metrics.0123.4567.value", "last_metrics.0123.4567.count",
               "script.repository", "script.entry_point", "script.branch", "script.version_num", "models.input"]
TASK_MEMBERS = ["id", "company", "user", "name", "type", "status", "status_reason", "status_message", "status_changed",
                "comment", "report", "report_assets", "created", "started", "completed", "published",
                "active_duration", "parent", "project", "output", "execution", "tags", "system_tags", "script",
                "last_update", "last_change", "last_changed_by", "last_iteration", "last_worker", "last_worker_report",
                "last_metrics", "unique_metrics", "metric_stats", "hyperparams", "configuration", "runtime", "models",
                "container", "enqueue_status", "company_origin"]
MODEL_ORDERS = ["id", "company", "user", "name", "parent", "project", "created", "task", "comment", "tags",
                "system_tags", "uri", "framework", "ready", "last_update", "last_change", "last_changed_by",
                "last_iteration", "last_metrics.01.23.value", "metadata.k.value"]
PROJECT_ORDERS = ["id", "company", "user", "name", "basename", "description", "created", "tags", "system_tags",
                  "last_update", "featured", "parent"]


@pytest.fixture(scope="module")
def world(shared_server):
    """A server with two projects, three tasks and a model."""
    s = shared_server
    top = s.call("projects.create", name="query/one")["id"]
    sub = s.call("projects.create", name="query/one/sub")["id"]

    def task(name, project, lr, **more):
        return s.call("tasks.create", name=name, type="training", project=project, hyperparams={
            "Args": {"lr": {"section": "Args", "name": "lr", "value": lr}}}, **more)["id"]

    ids = {"a": task("alpha run", top, "2", tags=["x"]), "b": task("beta run", top, "11", tags=["x", "y"]),
           "c": task("gamma run", sub, "0.5", comment="Deep in it")}
    s.call("tasks.edit", task=ids["b"], parent=ids["a"], script={"repository": "https://git.example/r.git"})
    s.call("tasks.started", task=ids["a"])
    model = s.call("models.create", name="weights", uri="file:///w", project=top, task=ids["a"], ready=False)["id"]
    return s, top, sub, ids, model


def names(world, **query):
    s, _, _, ids, _ = world
    back = {v: k for k, v in ids.items()}
    found = s.call("tasks.get_all", only_fields=["id"], **query)["tasks"]
    return "".join(back[t["id"]] for t in found if t["id"] in back)


@pytest.mark.parametrize("family", ["tasks.get_all", "tasks.get_all_ex"])
def test_every_filter_of_tasks(world, family):
    s = world[0]
    for name in TASK_LISTS:
        for value in (["v"], ["-v"], [None], ["__$all", "v", "w"], ["__$any", "__$not", "v", None], "v"):
            s.call(family, **{name: value})
        for part in ("any", "all"):
            s.call(family, filters={name: {part: {"include": ["v", None], "exclude": ["w", None]}, "op": "or"}})
    for name in TASK_RANGES:
        low = "2026-01-01T00:00:00" if name in ("created", "started", "completed") else 1
        for value in ([low, None], [None, low], [low, low]):
            s.call(family, **{name: value})
    for name in TASK_DATES:
        for value in (">=2026-01-01", [">2020-01-01", "<2030-01-01T00:00:00+02:00"], ["2020-01-01", None]):
            s.call(family, **{name: value})
            s.call(family, _any_={"fields": [name], "datetime": value})
    for name in TASK_LISTS + TASK_ORDERS + ["report"]:
        s.call(family, _any_={"fields": [name], "pattern": "a.c"})
    s.call(family, search_text="alpha", order_by=["@text_score"])
    for name in ("name", "comment", "report"):
        for pattern in ("a", "^a", "^a$", "(?i)A"):
            s.call(family, **{name: pattern})
    for value in (True, "text", 5, 1.5):
        s.call(family, **{"runtime.key": value})


@pytest.mark.parametrize("family, orders", [("tasks.get_all_ex", TASK_ORDERS), ("models.get_all_ex", MODEL_ORDERS),
                                            ("projects.get_all_ex", PROJECT_ORDERS), ("tasks.get_all", TASK_ORDERS)])
def test_every_order(world, family, orders):
    s = world[0]
    for name in orders:
        for sign in ("", "-"):
            s.call(family, order_by=[sign + name], page=0, page_size=2)
            s.call(family, order_by=["id", sign + name], page=1, page_size=2)


@pytest.mark.parametrize("family", ["tasks.get_all", "tasks.get_all_ex"])
def test_every_projection_of_tasks(world, family):
    s, _, _, ids, _ = world
    for name in TASK_MEMBERS:
        found = s.call(family, id=[ids["a"]], only_fields=[name])["tasks"][0]
        assert set(found) <= {name, "id"}
        rest = s.call(family, id=[ids["a"]], only_fields=["-" + name])["tasks"][0]
        assert name not in rest or (name == "id" and family.endswith("_ex"))
    assert s.call(family, id=[ids["a"]], only_fields=["*"])["tasks"][0]["name"] == "alpha run"


def test_every_filter_of_models_and_projects(world):
    s = world[0]
    for name in ["id", "user", "tags", "system_tags", "framework", "uri", "project", "task", "parent", "metadata.k"]:
        for value in (["v"], ["-v"], [None], ["__$all", "v"]):
            s.call("models.get_all_ex", **{name: value})
    for query in ({"created": ["2020-01-01", None]}, {"last_iteration": [0, 5]}, {"last_metrics.1.2.value": [0, 1]},
                  {"last_update": ">2020-01-01"}, {"last_change": ">2020-01-01"}, {"ready": True}, {"name": "w"},
                  {"comment": "c"}, {"search_text": "weights"}, {"include_stats": True},
                  {"project": [world[1]], "include_subprojects": True}):
        s.call("models.get_all_ex", **query)
    for name in ["id", "user", "tags", "system_tags", "parent", "path"]:
        for value in (["v"], ["-v"], [None]):
            s.call("projects.get_all_ex", **{name: value})
            s.call("projects.get_all_ex", shallow_search=True, **{name: value})
    for query in ({"name": "q"}, {"basename": "o"}, {"description": "x"}, {"last_update": ["2020-01-01", None]},
                  {"include_stats": True}, {"check_own_contents": True}, {"include_dataset_stats": True},
                  {"active_users": ["u"]}, {"search_hidden": True}, {"search_text": "query"}):
        s.call("projects.get_all_ex", **query)
    for kind in ("pipeline", "dataset", "report"):
        s.call("projects.get_all_ex", children_type=kind, include_stats=True, check_own_contents=True)


def test_filters(world):
    _, top, sub, ids, _ = world
    assert names(world, project=[top]) == "ab"
    assert names(world, project=[top], include_subprojects=True) == "abc"
    assert names(world, project=[sub]) == "c"
    assert names(world, name="^beta\\ run$") == "b"
    assert names(world, name=" run$", tags=["x", "-y"]) == "a"
    assert names(world, tags=["__$all", "x", "y"]) == "b"
    assert names(world, project=[top, sub], tags=[None]) == "c"
    assert names(world, parent=[ids["a"]]) == "b"
    assert names(world, status=["in_progress"]) == "a"
    assert names(world, status=["bogus"]) == ""
    assert names(world, id=list(ids.values()), started=[None, "2100-01-01"]) == "abc"
    assert names(world, id=list(ids.values()), started=["2000-01-01", "2100-01-01"]) == "a"
    assert names(world, comment="deep") == ""
    assert names(world, comment="Deep") == "c"
    assert names(world, _any_={"fields": ["comment", "name"], "pattern": "deep|BETA"}) == "bc"
    assert names(world, **{"hyperparams.Args.lr": ["11", "2"]}) == "ab"


def test_numbers_sort_as_numbers(world):
    _, top, _, _, _ = world
    query = {"project": [top], "include_subprojects": True}
    assert names(world, order_by=["hyperparams.Args.lr.value"], **query) == "cab"
    assert names(world, order_by=["-hyperparams.Args.lr.value"], **query) == "bac"
    assert names(world, order_by=["started"], **query)[0] == "a"
    assert names(world, order_by=["-started"], **query)[0] == "a"  # missing last, both ways
    assert names(world, order_by=["-name"], **query) == "cba"


def test_joins(world):
    s, top, sub, ids, model = world
    b = s.call("tasks.get_all_ex", id=[ids["b"]],
               only_fields=["name", "project.name", "parent.name", "parent.project.name", "user.name",
                            "company.name"])["tasks"][0]
    assert b["project"] == {"id": top, "name": "query/one"}
    assert b["parent"] == {"id": ids["a"], "name": "alpha run", "project": {"id": top, "name": "query/one"}}
    assert b["id"] == ids["b"] and b["user"]["name"] and b["company"]["name"] == "clearml"
    full = s.call("tasks.get_all_ex", id=[ids["c"]])["tasks"][0]
    assert full["project"] == {"id": sub} and "parent" not in full and full["user"]["id"] and full["company"]["id"]
    m = s.call("models.get_all_ex", id=[model], only_fields=["task.name", "project.*"])["models"][0]
    assert m["task"] == {"id": ids["a"], "name": "alpha run"} and m["project"]["basename"] == "one"
    p = s.call("projects.get_all_ex", id=[sub], only_fields=["parent.name"])["projects"][0]
    assert p == {"id": sub, "parent": {"id": top, "name": "query/one"}}


def test_paths_below_members(world):
    s, _, _, ids, _ = world
    t = s.call("tasks.get_all", id=[ids["b"]], only_fields=["script.repository", "hyperparams.Args.lr"])["tasks"][0]
    assert t == {"script": {"repository": "https://git.example/r.git"},
                 "hyperparams": {"Args": {"lr": {"section": "Args", "name": "lr", "value": "11"}}}}
    t = s.call("tasks.get_all", id=[ids["a"]], only_fields=["status"])["tasks"][0]
    assert t == {"status": "in_progress"}  # `status` does not swallow `status_message`


@pytest.mark.parametrize("query, want", [
    ({"only_fields": ["nope"]}, (400, 14)), ({"only_fields": ["project.name"]}, (400, 14)),
    ({"order_by": ["nope"]}, (400, 14)), ({"name": "("}, (400, 21)), ({"page": -1}, (400, 12)),
    ({"page_size": 0}, (400, 12)), ({"page": 0, "page_size": None}, (400, 11)), ({"created": [None, None]}, (400, 12)),
    ({"tags": ["__$not"]}, (400, 16)), ({"_any_": {"fields": ["name"]}}, (400, 16)), ({"size": 0}, (400, 12)),
    ({"filters": {"tags": {"some": {}}}}, (400, 12)), ({"filters": 5}, (400, 16))])
def test_refused(world, query, want):
    assert world[0].fails("tasks.get_all", **query) == want


def test_more_than_a_page(shared_server):
    """501 objects are 501 over pages and over a scroll."""
    s = shared_server
    for i in range(501):
        s.call("tasks.create", name=f"many {i}", type="testing", tags=["many"])
    query = {"tags": ["many"], "only_fields": ["id"]}
    assert len(s.call("tasks.get_all", **query)["tasks"]) == 500
    seen, page = [], 0
    while True:
        found = s.call("tasks.get_all", page=page, page_size=200, order_by=["-last_update"], **query)["tasks"]
        if not found:
            break
        seen += [t["id"] for t in found]
        page += 1
    assert len(seen) == len(set(seen)) == 501
    scroll, seen = None, []
    while True:
        answer = s.call("tasks.get_all_ex", scroll_id=scroll, size=100, **query)
        scroll = answer["scroll_id"]
        if not answer["tasks"]:
            break
        seen += [t["id"] for t in answer["tasks"]]
    assert len(set(seen)) == 501 and re.fullmatch("[0-9a-f]{32}", scroll)
    again = s.call("tasks.get_all_ex", scroll_id=scroll, size=1, refresh_scroll=True, **query)
    assert len(again["tasks"]) == 501
    assert len(s.call("tasks.get_all", size=600, start=1, **query)["tasks"]) == 500
