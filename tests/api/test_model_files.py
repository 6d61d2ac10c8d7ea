"""Files that models and tasks name: those a model had before, and what goes when who named it goes."""
import urllib.parse

import pytest

from conftest import wait_for
from test_models import get, model, task


@pytest.fixture
def s(shared_server):
    return shared_server


def upload(s, path, data):
    """Store bytes on the file server as the SDK does; the address that it then gives to the model."""
    body = (f'--b\r\nContent-Disposition: form-data; name="/{path}"; filename="f"\r\n\r\n').encode() + data + b"\r\n--b--\r\n"
    status, _, answer = s.raw("/", body, {"Content-Type": "multipart/form-data; boundary=b", **s.auth()}, base=s.files)
    assert status == 200, answer
    return f"{s.files}/{urllib.parse.quote(path, safe='/+')}"


def download(s, url):
    """(status, bytes) of an address on the file server."""
    status, _, body = s.raw("", None, s.auth(), "GET", base=url)
    return status, body


# -- weights saved five times under five names (a bug report: five files, four of them out of reach) ------------------------


def versions(s, id):
    return [(v["uri"], v["current"]) for v in s.call("x_models.versions", model=id)["versions"]]


NAMES = ["weights 1.pt", "weights+2.pt", "weights%3.pt", "weights 4.pt", "gewichte ü.pt"]


def five(s, edit, **fields):
    """A model whose weights were saved five times; (its id, the five addresses)."""
    id = s.call("models.create", name="five times", uri=f"{s.files}/uploading_file", ready=False, **fields)["id"]
    urls = []
    for i, name in enumerate(NAMES):
        urls.append(upload(s, f"versions/{id}/models/{name}", b"weights %d" % i))
        s.call(f"models.{edit}", model=id, uri=urls[-1])
    return id, urls


@pytest.mark.parametrize("edit", ["edit", "update"])
def test_replaced_weights_stay_visible(s, edit):
    id, urls = five(s, edit)
    assert get(s, id)["uri"] == urls[-1]
    assert versions(s, id) == [(urls[4], True)] + [(u, False) for u in urls[3::-1]]
    for i, url in enumerate(urls):
        assert download(s, url) == (200, b"weights %d" % i)
    found = s.call("x_models.versions", model=id)["versions"]
    assert [v["size"] for v in found] == [9] * 5 and "replaced" not in found[0] and "user" not in found[0]
    who = s.call("users.get_current_user")["user"]["id"]
    assert all(v["user"] == who and v["replaced"] > get(s, id)["created"] for v in found[1:])
    s.call(f"models.{edit}", model=id, uri=urls[1])  # back to an earlier one: it is the model's own again
    assert versions(s, id) == [(urls[1], True), (urls[4], False), (urls[3], False), (urls[2], False), (urls[0], False)]
    s.call(f"models.{edit}", model=id, uri=urls[1], name="the same again")
    assert len(versions(s, id)) == 5
    s.call("models.make_public", ids=[id])  # shown to everybody: all of them still
    assert len(versions(s, id)) == 5
    s.call("models.make_private", ids=[id])
    s.raw("", None, s.auth(), "DELETE", base=urls[0])  # somebody removes a file: it is shown no more
    assert urls[0] not in dict(versions(s, id)) and len(versions(s, id)) == 4
    assert s.fails("x_models.versions", model="0" * 32) == (400, 201)


def test_versions_elsewhere_and_without_weights(s):
    id = model(s, uri="s3://bucket/a.pt")
    s.call("models.edit", model=id, uri="s3://bucket/b.pt")
    assert s.call("x_models.versions", model=id)["versions"][0] == {"uri": "s3://bucket/b.pt", "current": True}
    assert versions(s, id) == [("s3://bucket/b.pt", True), ("s3://bucket/a.pt", False)]
    s.call("models.edit", model=id, uri="s3://bucket/failed_uploading")
    assert versions(s, id) == [("s3://bucket/b.pt", False), ("s3://bucket/a.pt", False)]
    t = task(s)
    old = {"_version": "2.9"}
    first = s.call("models.update_for_task", **old, task=t, uri="s3://bucket/1")["id"]
    s.call("models.update_for_task", **old, task=t, uri="s3://bucket/2")
    assert versions(s, first) == [("s3://bucket/2", True), ("s3://bucket/1", False)]


def delete_model(s, id, urls, task, project):
    assert s.call("models.delete", model=id)["url"] == urls[-1]


def delete_models(s, id, urls, task, project):
    assert s.call("models.delete_many", ids=[id])["succeeded"][0]["url"] == urls[-1]


def delete_task(s, id, urls, task, project):
    told = s.call("tasks.delete", task=task, force=True, return_file_urls=True)["urls"]
    assert told["model_urls"] == urls[::-1]


def reset_task(s, id, urls, task, project):
    told = s.call("tasks.reset", task=task, return_file_urls=True)["urls"]
    assert told["model_urls"] == urls[::-1]


def delete_project(s, id, urls, task, project):
    s.call("projects.delete", project=project, delete_contents=True, force=True)


def delete_project_with_published_model(s, id, urls, task, project):
    s.call("models.edit", model=id, ready=True)
    delete_project(s, id, urls, task, project)


@pytest.mark.parametrize("remove", [delete_model, delete_models, delete_task, reset_task, delete_project,
                                    delete_project_with_published_model], ids=lambda f: f.__name__)
def test_all_versions_go_with_the_model(s, remove):
    """Whatever way a model goes, none of its files stays; those of a neighbour do."""
    project = s.call("projects.create", name=f"going/{remove.__name__}")["id"]
    maker = task(s, project=project)
    neighbour, kept = five(s, "edit")
    id, urls = five(s, "edit", task=maker, project=project)
    s.call("tasks.add_or_update_model", task=maker, name="out", model=id, type="output")
    remove(s, id, urls, maker, project)
    assert s.fails("models.get_by_id", model=id) == (400, 201)
    wait_for("the files to go", lambda: all(download(s, url)[0] == 404 for url in urls))
    assert all(download(s, url)[0] == 200 for url in kept) and len(versions(s, neighbour)) == 5


def test_files_stay_when_asked(s):
    id, urls = five(s, "edit")
    other, gone = five(s, "edit")
    s.call("models.delete", model=id, delete_external_artifacts=False)
    s.call("models.delete", model=other)
    wait_for("the files of the other to go", lambda: all(download(s, url)[0] == 404 for url in gone))
    assert all(download(s, url)[0] == 200 for url in urls)


# -- files that several name: a file goes with the last of them -------------------------------------------------------------

def artifact(key, uri, mode="output"):
    return {"key": key, "type": "custom", "uri": uri, "mode": mode}


def make_by(s, kind, url, **fields):
    """A model, or a task with an artifact, that names the file."""
    if kind == "model":
        return model(s, uri=url, **fields)
    return task(s, execution={"artifacts": [artifact("a", url, "input" if kind == "input" else "output")]}, **fields)


def delete_by(s, kind, id):
    if kind == "model":
        s.call("models.delete", model=id, force=True)
    else:
        s.call("tasks.delete", task=id, force=True)


def gone_behind(s, remove):
    """remove (), and then what the server has to remove for it is done: removals are done in turn."""
    marker = upload(s, "shared/marker", b"x")
    last = model(s, uri=marker)
    remove()
    s.call("models.delete", model=last)
    wait_for("the marker to go", lambda: download(s, marker)[0] == 404)


@pytest.mark.parametrize("other", ["model", "older weights", "output", "input"])
@pytest.mark.parametrize("first", ["model", "output"])
def test_a_file_goes_with_the_last_who_names_it(s, first, other):
    """However it is spelled: a file server has several addresses."""
    url = upload(s, f"shared/{first} {other}/weights ü.pt", b"shared")
    path = url[len(s.files):]
    assert s.call("server.info")  # the same file by the pages' address, spelled otherwise
    again = f"{s.web}/files" + path.replace("%20", " ").replace("%C3%BC", "ü") + "?x=1"
    a = make_by(s, first, url)
    if other == "older weights":
        b = make_by(s, "model", again)
        s.call("models.edit", model=b, uri="s3://bucket/newer")
    else:
        b = make_by(s, other, again)
    gone_behind(s, lambda: delete_by(s, first, a))
    assert download(s, url) == (200, b"shared")
    delete_by(s, "model" if other == "older weights" else other, b)
    if other == "input":  # it was not the task's to take along
        gone_behind(s, lambda: None)
        assert download(s, url) == (200, b"shared")
        delete_by(s, "model", model(s, uri=url))
    wait_for("the file to go", lambda: download(s, url)[0] == 404)


@pytest.mark.parametrize("remove", ["tasks.delete_many", "tasks.reset_many", "projects.delete", "models.delete_many"])
def test_a_file_goes_with_all_who_name_it(s, remove):
    """Those who go together do not hold each other's files; who stays does."""
    project = s.call("projects.create", name=f"shared/{remove}")["id"]
    kind = "model" if remove.startswith("models") else "output"
    url, held = (upload(s, f"shared/{remove}/{n}", b"shared") for n in ("a", "b"))
    ids = [make_by(s, kind, u, project=project) for u in (url, url, held)]
    keeper = make_by(s, "model", held)
    fields = {"project": project, "delete_contents": True, "force": True} if remove == "projects.delete" else \
        {"ids": ids, "force": True}
    gone_behind(s, lambda: s.call(remove, **fields))
    assert download(s, url)[0] == 404 and download(s, held)[0] == 200
    delete_by(s, "model", keeper)
    wait_for("the other file to go", lambda: download(s, held)[0] == 404)


def test_who_no_longer_names_a_file_does_not_hold_it(s):
    url, own = (upload(s, f"shared/once/{n}", b"shared") for n in ("a", "own"))
    holder = task(s, execution={"artifacts": [artifact("a", url), artifact("own", own)]})
    s.call("tasks.add_or_update_artifacts", task=holder, artifacts=[artifact("more", "s3://bucket/x"), artifact("own", own)])
    gone_behind(s, lambda: delete_by(s, "model", model(s, uri=url)))
    assert download(s, url)[0] == 200
    s.call("tasks.delete_artifacts", task=holder, artifacts=[{"key": "a"}])
    gone_behind(s, lambda: [delete_by(s, "model", model(s, uri=u)) for u in (url, own)])
    assert download(s, url)[0] == 404 and download(s, own)[0] == 200
    copy = s.call("tasks.clone", task=holder)["id"]  # has none of what the first one made
    s.call("tasks.delete", task=holder, force=True)
    wait_for("its own to go", lambda: download(s, own)[0] == 404)
    assert not s.call("tasks.get_by_id", task=copy)["task"]["execution"]["artifacts"]


def test_what_is_named_in_a_folder_that_goes(s):
    """Whoever names a folder names all in it; a folder that goes leaves in it what others name."""
    files = [upload(s, f"shared/folder/{n}", b"in it") for n in ("a", "b", "below/c")]
    folder = f"{s.files}/shared/folder"
    one = model(s, uri=files[1])
    whole, whole_again = model(s, uri=folder), model(s, uri=folder)
    gone_behind(s, lambda: delete_by(s, "model", model(s, uri=files[0])))
    gone_behind(s, lambda: delete_by(s, "model", whole))
    assert [download(s, f)[0] for f in files] == [200] * 3
    gone_behind(s, lambda: delete_by(s, "model", whole_again))
    assert [download(s, f)[0] for f in files] == [404, 200, 404]
    delete_by(s, "model", one)
    wait_for("the last to go", lambda: download(s, files[1])[0] == 404)


def test_who_asks_the_file_server_gets_rid_of_a_named_file(s):
    url = upload(s, "shared/asked", b"named")
    model(s, uri=url)
    assert s.raw("", None, s.auth(), "DELETE", base=url)[0] == 200
    assert download(s, url)[0] == 404
