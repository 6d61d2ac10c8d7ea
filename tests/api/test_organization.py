"""The company as a whole: who is in it, tags in use, how much there is of everything, how long it ran."""
import calendar
import datetime
import sqlite3

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
    s.call("tasks.clone", task=a, new_task_tags=["of the clone"])
    assert tags() == {"tags": ["new", "of the clone"]}
    s.call("tasks.archive", tasks=[a])
    assert tags(include_system=True) == {"tags": ["new", "of the clone"],
                                         "system_tags": ["archived", "development"]}
    assert tags(filter={"system_tags": ["-archived"]}) == {"tags": ["of the clone"]}
    s.call("tasks.delete", task=a)
    assert tags(include_system=True) == {"tags": ["of the clone"], "system_tags": []}


def test_tags_of_many(s):
    """Every way to ask gives what a look at all of them gives, whatever is alike among them."""
    words, system = ["a", "b", "ä", "[]", "\"q\"", "-m"], ["archived", "hidden", "development"]
    pick = lambda of, i: sorted(w for k, w in enumerate(of) if i >> k & 1)
    rows = [(pick(words, i % 61), pick(system, i % 7)) for i in range(300)]
    for t, y in rows:
        task(s, tags=t, system_tags=y)
    archived = lambda t, y: "archived" in y
    for fields, keep in [({}, lambda t, y: True), ({"system_tags": ["archived"]}, archived),
                         ({"system_tags": ["-archived"]}, lambda t, y: not archived(t, y)),
                         ({"tags": ["__$all", "a", "b"]}, lambda t, y: "a" in t and "b" in t),
                         ({"tags": ["ä"], "system_tags": ["-hidden"]}, lambda t, y: "ä" in t and "hidden" not in y),
                         ({"tags": [None]}, lambda t, y: not t), ({"tags": ["nobody has it"]}, lambda t, y: False)]:
        kept = [r for r in rows if keep(*r)]
        expected = {"tags": sorted({w for t, _ in kept for w in t}, key=str.encode),
                    "system_tags": sorted({w for _, y in kept for w in y})}
        assert s.call("organization.get_tags", include_system=True, filter=fields) == expected, fields
        slow = {**fields, "type": ["training"]}  # looks at every row
        assert s.call("organization.get_tags", include_system=True, filter=slow) == expected, fields
        assert s.call("projects.get_task_tags", include_system=True, filter=fields) == expected, fields


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


# -- usages ------------------------------------------------------------------------------------------------------------

DAY = 24 * 3600


def at(text):
    return calendar.timegm(datetime.datetime.fromisoformat(text).utctimetuple())


def run_then(s, times):
    """Give tasks the times of runs long ago: {task: (started, completed, status)}, while nobody is there to see it."""
    assert s.stop() == 0
    db = sqlite3.connect(s.data / "stoker.db")
    for task, (started, completed, status) in times.items():
        done = db.execute("UPDATE task SET started = ?, completed = ?, status = ? WHERE id = ?",
                          (at(started) * 1000, completed and at(completed) * 1000, status, task))
        assert done.rowcount == 1
    db.commit()
    db.close()
    s.start()


def usages(s, first, last, **fields):
    return s.call("organization.get_project_usages", from_date=first, to_date=last, **fields)


def by_name(part):
    return {e["name"]: e for e in part["series"]}


def test_usages(s):
    me = s.call("users.get_current_user")["user"]
    top, one, deep, two = (project(s, n) for n in ("usages", "usages/one", "usages/one/deep", "usages/two"))
    fast = s.call("queues.create", name="fast", display_name="Fast queue")["id"]
    slow = s.call("queues.create", name="slow")["id"]
    s.call("workers.register", worker="w", queues=[fast], resources={"cpu_usage": 4, "gpu_usage": 0.5})

    def run(where, queue=None, **fields):
        return task(s, project=where, execution={"queue": queue} if queue else {}, **fields)

    times = {
        # over midnight: 3 h on the first, 6 h on the second of May
        run(one, fast): ("2026-05-01T21:00:00+00:00", "2026-05-02T06:00:00+00:00", "completed"),
        run(deep, slow): ("2026-05-02T10:00:00+00:00", "2026-05-02T11:00:00+00:00", "stopped"),
        run(top, slow): ("2026-05-02T10:00:00+00:00", "2026-05-02T10:00:30+00:00", "published"),
        run(two): ("2026-05-03T10:00:00+00:00", "2026-05-03T10:10:00+00:00", "completed"),  # no queue
        run(two, "gone" * 8): ("2026-05-03T10:00:00+00:00", "2026-05-03T10:05:00+00:00", "failed"),
        # days long: the part inside counts
        run(two, fast): ("2026-04-20T00:00:00+00:00", "2026-05-10T00:00:00+00:00", "completed"),
        # not counted
        run(two, fast, type="controller"): ("2026-05-02T00:00:00+00:00", "2026-05-03T00:00:00+00:00", "completed"),
        run(two, fast, system_tags=["hidden"]): ("2026-05-02T00:00:00+00:00", "2026-05-03T00:00:00+00:00", "completed"),
        run(two, fast): ("2026-04-02T00:00:00+00:00", "2026-04-30T23:59:59+00:00", "completed"),
        run(two, fast): ("2026-05-04T00:00:00+00:00", "2026-05-05T00:00:00+00:00", "completed"),
        run(two, fast, system_tags=["development"]): ("2026-05-01T08:00:00+00:00", "2026-05-01T09:00:00+00:00", "stopped"),
    }
    run_then(s, times)
    out = usages(s, "2026-05-01T12:00:00Z", "2026-05-03", projects=[top])
    assert set(out) == {"projects", "queues", "users"}
    days = [at("2026-05-01T00:00:00+00:00") + i * DAY for i in range(3)]
    assert all(e["dates"] == days for part in out.values() for e in part["series"])
    projects = by_name(out["projects"])
    assert {n: (e["id"], e["duration"]) for n, e in projects.items()} == {
        "usages": (top, [0, 30, 0]), "usages/one": (one, [3 * 3600, 7 * 3600, 0]),
        "usages/two": (two, [DAY, DAY, DAY + 300])}
    assert list(projects) == sorted(projects)
    assert projects["usages/one"]["gpu_usage"] == [1.5 * 3600, 4 * 3600, 0]
    assert projects["usages/one"]["gpu_artificial_weights"] is True and "cpu_usage" not in projects["usages/one"]
    queues = by_name(out["queues"])
    assert {n: (e["id"], e["duration"]) for n, e in queues.items()} == {
        "Fast queue": (fast, [DAY + 3 * 3600, DAY + 6 * 3600, DAY]), "slow": (slow, [0, 3630, 0]),
        "other": ("_other_", [0, 0, 300])}
    assert "gpu_artificial_weights" not in queues["Fast queue"] and queues["other"]["gpu_artificial_weights"] is True
    total = 3 * DAY + 10 * 3600 + 330
    assert out["users"]["total"] == [{"name": me["name"], "id": me["id"], "duration": total, "gpu_usage":
                                      (3 * DAY + 9 * 3600) / 2 + 3930, "gpu_artificial_weights": True}]
    assert out["users"]["series"][0]["duration"] == [DAY + 3 * 3600, DAY + 6 * 3600 + 3630, DAY + 300]

    # development, and tasks without a queue
    out = usages(s, "2026-05-01", "2026-05-03", projects=[two], include_development=True, breakdown_keys=["queue"],
                 usage_fields=["cpu_usage", "duration"])
    assert set(out) == {"queues"} and {e["name"]: (e["id"], e["duration"]) for e in out["queues"]["total"]} == {
        "Fast queue": (fast, 3 * DAY + 3600), "other": ("_other_", 300), None: (None, 600)}
    assert [e["cpu_usage"] for e in out["queues"]["total"] if e["id"] == fast] == [4 * (3 * DAY + 3600)]
    assert all("gpu_usage" not in e for e in out["queues"]["series"])

    # several: a task belongs to the nearest
    out = usages(s, "2026-05-02", "2026-05-02", projects=[one, deep, two], breakdown_keys=["project"])
    assert {n: e["duration"] for n, e in by_name(out["projects"]).items()} == {
        "usages/one": [6 * 3600], "usages/one/deep": [3600], "usages/two": [DAY]}

    # days of another time zone: all falls into one day there
    out = usages(s, "2026-05-01T00:00:00+09:00", "2026-05-02T23:00:00+09:00", projects=[one], breakdown_keys=["user"])
    assert out["users"]["series"][0]["dates"] == [at("2026-05-01T00:00:00+09:00"), at("2026-05-02T00:00:00+09:00")]
    assert out["users"]["series"][0]["duration"] == [0, 10 * 3600]


def test_usages_when_the_clock_was_put_back(s):
    """A run that ends before it began lasted nobody knows how long: it takes nothing away from the others."""
    where = project(s, "usages and clocks")
    queue = s.call("queues.create", name="q of clocks")["id"]
    right, wrong = (task(s, project=where, execution={"queue": queue}) for _ in range(2))
    run_then(s, {right: ("2026-05-02T10:00:00+00:00", "2026-05-02T11:00:00+00:00", "completed"),
                 wrong: ("2026-05-02T12:00:00+00:00", "2026-05-02T11:30:00+00:00", "completed")})
    entry, = usages(s, "2026-05-02", "2026-05-02", projects=[where], breakdown_keys=["project"])["projects"]["total"]
    assert entry["duration"] == 3600


def test_usages_have_a_size(s):
    """Ten years of a few projects are told, ten years of hundreds are not; a task is counted once, however often its
    projects are named."""
    times, every = {}, []
    for i in range(275):
        every.append(project(s, f"usages of many {i}"))
        run = ("2026-05-02T10:00:00+00:00", "2026-05-02T11:00:00+00:00", "completed")
        times[task(s, project=every[-1], execution={"queue": "gone" * 8})] = run
    run_then(s, times)
    asked = {"from_date": "2017-01-01", "to_date": "2027-01-01", "breakdown_keys": ["project"]}
    out = s.call("organization.get_project_usages", projects=every[:9] + every[:9], **asked)["projects"]
    assert [e["duration"] for e in out["total"]] == [3600] * 9 and len(out["series"][0]["dates"]) == 3653
    assert s.fails("organization.get_project_usages", projects=every, **asked) == (400, 12)
    out = s.call("organization.get_project_usages", projects=every, **{**asked, "from_date": "2026-01-01"})["projects"]
    assert [e["duration"] for e in out["total"]] == [3600] * 275


def test_usages_of_what_runs(s):
    where = project(s, "usages of what runs")
    queue = s.call("queues.create", name="q that runs")["id"]
    running = task(s, project=where, execution={"queue": queue})
    run_then(s, {running: ((datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=40)).isoformat(), None,
                           "in_progress")})
    today = datetime.datetime.now(datetime.timezone.utc)
    first = (today - datetime.timedelta(days=2)).date().isoformat()
    entry, = usages(s, first, (today + datetime.timedelta(days=2)).isoformat(), projects=[where],
                    breakdown_keys=["project"])["projects"]["series"]
    assert entry["duration"][:2] == [DAY, DAY] and entry["duration"][-1] == 0
    assert 2 * DAY < sum(entry["duration"]) <= 4 * DAY and len(entry["dates"]) == 5


def test_usages_refuses(s):
    good = {"projects": ["x"], "from_date": "2026-05-01", "to_date": "2026-05-02"}
    assert s.call("organization.get_project_usages", **good) == {
        part: {"total": [], "series": []} for part in ("projects", "queues", "users")}
    for bad in ({"projects": []}, {"from_date": "2026-05-03"}, {"from_date": "May"}, {"to_date": "x"},
                {"breakdown_keys": ["task"]}, {"usage_fields": ["memory"]}, {"from_date": None},
                {"to_date": "2126-05-02"}):
        assert s.fails("organization.get_project_usages", **{**good, **bad}) == (400, 12), bad
