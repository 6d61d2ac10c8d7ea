"""The company as a whole: who is in it, tags in use, how much there is of everything."""
import pytest


@pytest.fixture
def s(server):
    return server


def task(s, **fields):
    return s.call("tasks.create", **{"name": "a task", "type": "training", **fields})["id"]


def model(s, **fields):
    return s.call("models.create", name="a model", uri="u", **fields)["id"]


def project(s, name, **fields):
    return s.call("projects.create", name=name, **fields)["id"]


def count(s, **asked):
    return s.call("organization.get_entities_count", **asked)


def test_companies(s):
    me = s.call("users.get_current_user")["user"]
    company, = s.call("organization.get_user_companies")["companies"]
    assert (company["id"], company["name"]) == (me["company"]["id"], me["company"]["name"])
    assert company["allocated"] == len(company["owners"]) and {"id": me["id"], "name": me["name"], "avatar": None} in \
        company["owners"]
    assert [o["name"] for o in company["owners"]] == sorted(o["name"] for o in company["owners"])


def test_tags(s):
    tags = lambda **f: s.call("organization.get_tags", **f)
    assert tags() == {"tags": []} and tags(include_system=True) == {"tags": [], "system_tags": []}
    a = task(s, tags=["of tasks", "both"], system_tags=["development"])
    m = model(s, tags=["of models", "both"], system_tags=["archived"])
    project(s, "tags of projects", tags=["of projects"])
    assert tags() == {"tags": ["both", "of models", "of tasks"]}
    assert tags(include_system=True) == {"tags": ["both", "of models", "of tasks"],
                                         "system_tags": ["archived", "development"]}
    assert tags(filter={"system_tags": ["__$not", "archived"]}) == {"tags": ["both", "of tasks"]}
    assert tags(filter={"tags": ["of models"]}, include_system=True) == {"tags": ["both", "of models"],
                                                                       "system_tags": ["archived"]}
    assert s.fails("organization.get_tags", filter=["x"]) == (400, 12)
    s.call("models.delete", model=m)
    s.call("tasks.edit", task=a, tags=["new"])
    assert tags() == {"tags": ["new"]}


def test_counts(s):
    assert count(s) == {}
    everything = dict.fromkeys(["projects", "tasks", "models", "pipelines", "pipeline_runs", "datasets",
                                "dataset_versions", "reports"], {})
    before = count(s, **everything)
    assert set(before) == set(everything)
    top, sub = project(s, "counted"), project(s, "counted/below")
    project(s, "counted/.pipelines/pipe", system_tags=["pipeline", "hidden"])
    for i in range(3):
        task(s, project=sub, name=f"number {i}")
    task(s, project=sub, type="controller")
    task(s, project=sub, type="data_processing", system_tags=["hidden"])
    task(s, project=top, type="report")
    model(s, project=top)
    grown = {k: n - before[k] for k, n in count(s, **everything).items()}
    # the hidden project's parent is made, too, and is not hidden
    assert grown == {"projects": 3, "tasks": 5, "models": 1, "pipelines": 4, "pipeline_runs": 1, "datasets": 4,
                     "dataset_versions": 1, "reports": 1}
    assert count(s, projects={"id": [top, sub]}, tasks={"project": [top]}) == {"projects": 2, "tasks": 1}
    assert count(s, tasks={"project": [top], "include_subprojects": True}) == {"tasks": 5}
    assert count(s, tasks={"project": [sub]}, search_hidden=True) == {"tasks": 5}
    assert count(s, pipelines={"system_tags": ["pipeline"]}, datasets={"system_tags": ["dataset"]}) == {
        "pipelines": 1, "datasets": 0}
    assert count(s, pipeline_runs={"project": [top]}, dataset_versions={"project": [top], "type": ["training"]}) == {
        "pipeline_runs": 1, "dataset_versions": 1}
    assert count(s, tasks={"name": "^number"}, limit=2) == {"tasks": 2}
    assert count(s, tasks={"name": "^number"}, limit=20) == {"tasks": 3}
    assert count(s, tasks=None, models={}) == {"models": before["models"] + 1}


def test_counts_of_what_everybody_has(s):
    shared = model(s)
    s.call("models.make_public", ids=[shared])
    assert count(s, models={"id": [shared]}) == {"models": 1}
    assert count(s, models={"id": [shared]}, allow_public=False) == {"models": 0}


def test_counts_of_who_is_active(s):
    me = s.call("users.get_current_user")["user"]["id"]
    top = project(s, "active")
    project(s, "active/below")
    task(s, project=top)
    for users, n in (([me], 1), (["somebody else"], 0), (["somebody else", me], 1)):
        assert count(s, projects={"id": [top]}, tasks={"project": [top]}, active_users=users) == {
            "projects": n, "tasks": n}
    assert count(s, tasks={"project": [top], "user": [me]}, active_users=["somebody else"]) == {"tasks": 1}


def test_counts_with_a_wrong_filter(s):
    out = count(s, tasks={"name": "("}, models={"last_iteration": [1]}, projects={"id": ["x"]})
    assert out["projects"] == 0 and set(out) == {"projects", "errors"}
    assert set(out["errors"]) == {"tasks", "models"} and all(out["errors"].values())
    assert s.fails("organization.get_entities_count", tasks=["x"]) == (400, 12)
    assert s.fails("organization.get_entities_count", tasks="x") == (400, 12)
