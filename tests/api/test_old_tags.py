"""Clients below 2.3 know one list of tags: for every kind of object that has calls so old, what they send is divided, what
they get is joined."""
import pytest

OLD, NEW = "2.2", "2.34"
KINDS = {"task": ("archived", {"type": "training"}), "model": ("archived", {"uri": "u"}), "project": ("public", {})}


@pytest.fixture
def s(shared_server):
    return shared_server


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def create(s, kind, name, version=OLD, **fields):
    return s.call(f"{kind}s.create", _version=version, name=name, **KINDS[kind][1], **fields)["id"]


def tags(s, kind, id, version):
    ways = [s.call(f"{kind}s.get_by_id", _version=version, **{kind: id})[kind]]
    ways += [s.call(f"{kind}s.{call}", _version=version, id=[id])[f"{kind}s"][0] for call in ("get_all", "get_all_ex")]
    got = [(w["tags"], w["system_tags"]) for w in ways]
    assert got[0] == got[1] == got[2]
    return got[0]


def found(s, kind, name, version=OLD, **filters):
    return {x["id"] for x in s.call(f"{kind}s.get_all", _version=version, name=f"^{name}$", only_fields=["id"],
                                    **filters)[f"{kind}s"]}


def test_divided_and_joined(s, kind):
    system, _ = KINDS[kind]
    id = create(s, kind, f"divided {kind}", tags=["mine", system, "also mine"])
    assert tags(s, kind, id, NEW) == (["also mine", "mine"], [system])
    assert tags(s, kind, id, OLD)[0] == sorted(["also mine", "mine", system])
    s.call(f"{kind}s.update", _version=OLD, tags=["mine"], **{kind: id})
    assert tags(s, kind, id, NEW) == (["mine"], [])
    s.call(f"{kind}s.update", _version=OLD, tags=["mine", system], **{kind: id})
    assert tags(s, kind, id, NEW) == (["mine"], [system])
    s.call(f"{kind}s.update", _version=OLD, description="words", comment="words", **{kind: id})
    assert tags(s, kind, id, NEW) == (["mine"], [system])


def test_given_system_tags_are_taken_as_they_are(s, kind):
    system, _ = KINDS[kind]
    id = create(s, kind, f"given {kind}", tags=["mine", system], system_tags=["other"])
    assert tags(s, kind, id, NEW) == (sorted(["mine", system]), ["other"])
    newer = create(s, kind, f"newer {kind}", version="2.3", tags=["mine", system])
    assert tags(s, kind, newer, NEW) == (sorted(["mine", system]), [])
    assert tags(s, kind, newer, "2.3") == (sorted(["mine", system]), [])


def test_filters(s, kind):
    system, _ = KINDS[kind]
    name = f"filtered {kind}"
    id = create(s, kind, name, tags=["mine", system])
    assert found(s, kind, name, tags=[system]) == {id} and found(s, kind, name, NEW, tags=[system]) == set()
    assert found(s, kind, name, tags=["-" + system]) == set()
    assert found(s, kind, name, tags=["mine", "-" + system]) == set()
    assert found(s, kind, name, tags=["mine", system]) == {id}
    assert found(s, kind, name, tags=["-mine", system]) == set()
    assert found(s, kind, name, tags=["mine", "-other"]) == {id}
    assert found(s, kind, name, tags=["mine"], system_tags=["-" + system]) == set()


def test_tasks_annotations(s):
    id = create(s, "task", "annotated", tags=["Annotation 7", "annotators", "annot", "development", "active"])
    assert tags(s, "task", id, NEW) == (["annot"], ["Annotation 7", "active", "annotators", "development"])
    s.call("tasks.edit", _version=OLD, task=id, tags=["annot", "active"])
    assert tags(s, "task", id, NEW) == (["annot"], ["active"])
