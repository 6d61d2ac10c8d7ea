"""The file front: uploads, downloads, ranges, removal, what a browser may do with it, and constant memory."""
import hashlib
import http.client
import json
import os
import pathlib
import socket

import conftest
import pytest
from conftest import GUARD, wait_for


def multipart(parts, boundary="BoUnDaRy"):
    """(content type, body) of [(field name, file name, bytes)]."""
    out = b""
    for name, filename, data in parts:
        out += (f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{filename}"\r\n'
                f"Content-Type: application/octet-stream\r\n\r\n").encode() + data + b"\r\n"
    return f"multipart/form-data; boundary={boundary}", out + f"--{boundary}--\r\n".encode()


def upload(s, *parts, headers=None):
    kind, body = multipart([(n, "f", d) for n, d in parts])
    return s.raw("/", body, {"Content-Type": kind, **s.auth(), **(headers or {})}, base=s.files)


def get(s, path, method="GET", **headers):
    return s.raw(path, None, {**s.auth(), **{k.replace("_", "-"): v for k, v in headers.items()}}, method=method, base=s.files)


def blobs(s):
    return [p for p in (s.data / "files").rglob("*") if p.is_file()]


@pytest.mark.parametrize("name,url", [
    ("/proj/task.1/artifacts/x/data.bin", "/proj/task.1/artifacts/x/data.bin"),
    ("no slash.txt", "/no%20slash.txt"),
    ("Golden%2Ftrains/a", "/Golden%252Ftrains/a"),
    ("p/\u00e4\u4e2d+&=.pkl", "/p/%C3%A4%E4%B8%AD%2B%26%3D.pkl"),
])
def test_round_trip(shared_server, name, url):
    data = os.urandom(300_000)
    status, headers, body = upload(shared_server, (name, data))
    assert status == 200 and headers["Content-Type"].startswith("text/html")
    assert json.loads(body) == [name.lstrip("/")]
    status, headers, got = get(shared_server, url)
    assert status == 200 and got == data and headers["ETag"] == f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    assert shared_server.raw("/files" + url, None, shared_server.auth(), method="GET", base=shared_server.web)[2] == data


def test_overwrite_removes_the_old_bytes(server):
    upload(server, ("a", b"one"))
    old = blobs(server)
    upload(server, ("a", b"two"))
    assert get(server, "/a")[2] == b"two"
    wait_for("the old blob to go", lambda: len(blobs(server)) == 1 and blobs(server) != old)


def test_several_parts_and_form_fields(shared_server):
    s = shared_server
    kind, body = multipart([("many/1", "f", b"1"), ("many/2", "f", b"")])
    body = b'--BoUnDaRy\r\nContent-Disposition: form-data; name="field"\r\n\r\nskipped\r\n' + body
    status, _, out = s.raw("/", body, {"Content-Type": kind, **s.auth()}, base=s.files)
    assert status == 200 and json.loads(out) == ["many/1", "many/2"]
    assert get(s, "/many/2")[0::2] == (200, b"")
    kind, body = multipart([])
    assert s.raw("/", body, {"Content-Type": kind, **s.auth()}, base=s.files)[2] == b"[]"


def test_put(shared_server):
    s = shared_server
    assert s.raw("/put%20it/x", b"bytes", s.auth(), method="PUT", base=s.files)[0] == 200
    assert get(s, "/put%20it/x")[2] == b"bytes"


@pytest.mark.parametrize("header,status,want,content_range", [
    ("bytes=0-3", 206, b"0123", "bytes 0-3/10"), ("bytes=7-", 206, b"789", "bytes 7-9/10"),
    ("bytes=-2", 206, b"89", "bytes 8-9/10"), ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
    ("bytes=5-99", 206, b"56789", "bytes 5-9/10"), ("bytes=10-", 416, b"", "bytes */10"), ("bytes=-0", 416, b"", "bytes */10"),
    ("bytes=3-2", 200, b"0123456789", None), ("bytes=0-1,3-4", 200, b"0123456789", None), ("lines=1-2", 200, b"0123456789", None),
    ("bytes=99999999999999999999-", 200, b"0123456789", None), ("bytes=a-b", 200, b"0123456789", None),
])
def test_ranges(shared_server, header, status, want, content_range):
    upload(shared_server, ("range", b"0123456789"))
    got, headers, body = get(shared_server, "/range", Range=header)
    assert (got, body, headers["Content-Range"]) == (status, want, content_range)
    assert headers["Accept-Ranges"] == "bytes"


def test_conditions(shared_server):
    s = shared_server
    upload(s, ("cond", b"abc"))
    _, headers, _ = get(s, "/cond")
    assert get(s, "/cond", If_None_Match=headers["ETag"])[0::2] == (304, b"")
    assert get(s, "/cond", If_None_Match='"other"')[0] == 200
    assert get(s, "/cond", If_Modified_Since=headers["Last-Modified"])[0] == 304
    assert get(s, "/cond", Range="bytes=0-0", If_Range=headers["ETag"])[0] == 206
    assert get(s, "/cond", Range="bytes=0-0", If_Range='"other"')[0] == 200


def test_head(shared_server):
    upload(shared_server, ("head", b"x" * 5000))
    status, headers, body = get(shared_server, "/head", method="HEAD")
    assert (status, headers["Content-Length"], body) == (200, "5000", b"")


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


@pytest.mark.parametrize("name,data,kind,how", [
    ("x.png", PNG, "image/png", "inline"), ("x.html", PNG, "image/png", "inline"),
    ("x.txt", b"hello", "text/plain; charset=utf-8", "inline"), ("x.csv", b"a,b\n1,2\n", "text/csv; charset=utf-8", "inline"),
    ("x.json", b'{"a": 1}', "application/json", "inline"), ("x", "h\u00e4".encode(), "text/plain; charset=utf-8", "inline"),
    ("x.html", b"<html><script>alert(1)</script>", "text/html; charset=utf-8", "attachment"),
    ("x.txt", b" \n<script>alert(1)</script>", "text/plain; charset=utf-8", "inline"),
    ("x.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", "attachment"),
    ("x.pkl", b"\x80\x04\x95\0", "application/octet-stream", "attachment"), ("x.mp4", b"\0\0\0\x18ftypmp42", "video/mp4", "inline"),
    ("x.gz", b"\x1f\x8b\x08\0", "application/octet-stream", "attachment"),
])
def test_what_browsers_may_do(shared_server, name, data, kind, how):
    upload(shared_server, ("kind/" + name, data))
    _, headers, _ = get(shared_server, "/kind/" + name)
    assert headers["Content-Type"] == kind
    assert headers["Content-Disposition"].startswith(how + "; filename=")
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Content-Security-Policy"].startswith("sandbox")
    assert get(shared_server, f"/kind/{name}?download")[1]["Content-Disposition"].startswith("attachment")


def test_removal(shared_server):
    s = shared_server
    upload(s, ("del/a", b"1"), ("del/b c", b"2"), ("del/sub/d", b"3"), ("delx", b"4"))
    assert get(s, "/del/a", method="DELETE")[0::2] == (200, b'"del/a"')
    assert get(s, "/del/a", method="DELETE")[0] == 404 and get(s, "/del/a")[0] == 404
    body = json.dumps({"files": ["del/b+c", "del/sub", "nothing", ""]}).encode()
    status, _, out = s.raw("/delete_many", body, s.auth(), base=s.files)
    assert status == 200
    assert json.loads(out) == {"deleted": {"del/b+c": "del/b c", "del/sub": "del/sub"},
                               "errors": {"Not found": ["nothing"], "Empty path not allowed": [""]}}
    assert get(s, "/del/sub/d")[0] == 404 and get(s, "/delx")[2] == b"4"
    for bad in (b"", b"{}", b"[]", b'{"files": 5}'):
        assert s.raw("/delete_many", bad, s.auth(), base=s.files)[0] == 400


def test_files_go_with_their_task_and_model(server):
    """Deleting a task or a model deletes what it stored here, in the background; a client that then wants the same is told
    that it is done. What belongs to others, and what was not asked for, stays."""
    task, kept = (server.call("tasks.create", name="has files", type="training")["id"] for _ in range(2))
    names = [f"p/n.{task}/artifacts/a b.bin", f"p/n.{task}/models/m.pt", f"p/n.{task}/given.bin", f"p/n.{kept}/artifacts/k.bin",
             f"p/n.{kept}/models/own.pt"]
    for name in names:
        assert upload(server, (name, name.encode()))[0] == 200
    def quoted(name):
        return "/" + name.replace(" ", "%20")
    def uri(name):
        return server.files + quoted(name)
    def there(name):
        return get(server, quoted(name))[0] == 200
    for owner, items in ((task, [("a", names[0], "output"), ("given", names[2], "input")]), (kept, [("k", names[3], "output")])):
        server.call("tasks.add_or_update_artifacts", task=owner,
                    artifacts=[{"key": k, "type": "custom", "uri": uri(n), "mode": m} for k, n, m in items])
    model = server.call("models.create", name="a model", uri=uri(names[1]), task=task, ready=False)["id"]
    own = server.call("models.create", name="its own", uri=uri(names[4]))["id"]
    server.call("tasks.add_or_update_model", task=task, type="output", name="a model", model=model)
    assert all(there(n) for n in names) and len(blobs(server)) == 5

    server.call("tasks.delete", task=task, force=True)
    wait_for("the artifact and the model's file to go", lambda: not there(names[0]) and not there(names[1]))
    assert [there(n) for n in names[2:]] == [True] * 3
    wait_for("their bytes to go", lambda: len(blobs(server)) == 3)
    body = json.dumps({"files": [quoted(names[0]), quoted(names[1]), "/never/was"]}).encode()
    status, _, out = server.raw("/delete_many", body, server.auth(), base=server.files)
    assert status == 200 and set(json.loads(out)["deleted"].values()) == set(names[:2])
    assert json.loads(out)["errors"] == {"Not found": ["/never/was"]}
    assert get(server, quoted(names[0]), method="DELETE")[0] == 200
    assert get(server, "/never/was", method="DELETE")[0] == 404

    server.call("models.delete", model=own, delete_external_artifacts=False)
    server.call("tasks.delete", task=kept, force=True, delete_external_artifacts=False)
    again = server.call("models.create", name="again", uri=uri(names[4]))["id"]
    assert there(names[3]) and there(names[4])
    server.call("models.delete", model=again)
    wait_for("the model's file to go", lambda: not there(names[4]))
    assert there(names[2]) and there(names[3])
    wait_for("its bytes to go", lambda: len(blobs(server)) == 2)


def test_who_may(shared_server):
    s = shared_server
    upload(s, ("who", PNG))
    token = s.auth()["Authorization"].split()[1]

    def status(**headers):
        return s.raw("/who", None, {k.replace("_", "-"): v for k, v in headers.items()}, method="GET", base=s.files)[0]

    assert status() == 401 and status(Authorization="Bearer nonsense") == 401 and status(Authorization="Digest x") == 401
    assert status(Authorization=s.basic()) == 200
    assert status(Cookie=f"clearml_token_basic={token}") == 200
    assert status(Cookie=f"clearml_token_basic={token}", Sec_Fetch_Site="same-origin") == 200
    assert status(Cookie=f"clearml_token_basic={token}", Sec_Fetch_Site="cross-site") == 401
    kind, body = multipart([("strange", "f", b"x")])
    assert s.raw("/", body, {"Content-Type": kind}, base=s.files)[0] == 401
    assert s.raw("/", body, {"Content-Type": kind, "Cookie": f"clearml_token_basic={token}"}, base=s.files)[0] == 401
    assert get(s, "/strange")[0] == 404
    assert s.raw("/", None, {"Authorization": "Bearer nonsense"}, method="GET", base=s.files)[0] == 401


@pytest.mark.parametrize("name", ["../escape", "a/../../b", "", "/", "a//b", ".", "a/./b", "a\tb"])
def test_bad_names(shared_server, name):
    assert upload(shared_server, (name, b"x"))[0] == 400
    assert not list(shared_server.data.parent.rglob("escape"))


def test_bad_uploads(server):
    s = server
    kind, body = multipart([("cut", "f", b"x" * 100_000)])
    for type_, data in ((kind, body[:-20]), (kind, body[:500]), ("multipart/form-data", body), ("text/plain", body),
                        (kind, b"--BoUnDaRy\r\nnonsense\r\n\r\n"), (kind, b"")):
        assert s.raw("/", data, {"Content-Type": type_, **s.auth()}, base=s.files)[0] == 400
    assert s.raw("/", body, {"Content-Type": kind, "Content-Encoding": "gzip", **s.auth()}, base=s.files)[0] == 415
    assert get(s, "/cut")[0] == 404 and blobs(s) == []


def test_client_that_breaks_off(server):
    """Half an upload: no row, no bytes, also not in the temporary folder."""
    kind, body = multipart([("half", "f", b"x" * 3_000_000)])
    head = (f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            f"Authorization: {server.auth()['Authorization']}\r\n\r\n").encode()
    for cut in (0, 10, 100_000, len(body) - 1):
        with socket.create_connection(("127.0.0.1", server.files_port), GUARD) as sock:
            sock.sendall(head + body[:cut])
    wait_for("the halves to go", lambda: blobs(server) == [])
    assert get(server, "/half")[0] == 404


def test_left_overs_of_a_crash(server_factory):
    s = server_factory()
    s.auth()
    s.kill()
    left = s.data / "files" / "tmp" / ("0" * 32)
    left.write_bytes(b"half")
    s.start()
    s.call("server.info")  # it listens before it has looked at its folder
    assert not left.exists()


def memory_peak(s):
    with open(f"/proc/{s.process.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) * 1024


def test_constant_memory(server_factory, monkeypatch):
    """An upload and a download of STOKER_TEST_UPLOAD_MB (default 256): the peak grows by less than 8 MB.

    Always on the plain build: a sanitizer keeps what was freed."""
    if "san" in pathlib.Path(conftest.STOKER).parent.name:
        monkeypatch.setattr(conftest, "STOKER", str(conftest.ROOT / "build" / "stoker"))
    server = server_factory()
    size = int(os.environ.get("STOKER_TEST_UPLOAD_MB", "256")) << 20
    block = bytes(range(256)) * 4096
    upload(server, ("warm", block))
    get(server, "/warm")
    before = memory_peak(server)
    kind, whole = multipart([("big", "f", b"@")])
    first, last = whole.split(b"@")
    c = http.client.HTTPConnection("127.0.0.1", server.files_port, timeout=GUARD)
    c.putrequest("POST", "/")
    for k, v in {"Content-Type": kind, "Content-Length": str(len(first) + size + len(last)), **server.auth()}.items():
        c.putheader(k, v)
    c.endheaders(first)
    digest = hashlib.sha256()
    for _ in range(size // len(block)):
        c.send(block)
        digest.update(block)
    c.send(last)
    r = c.getresponse()
    assert (r.status, r.read()) == (200, b'["big"]')
    c.request("GET", "/big", headers=server.auth())
    r = c.getresponse()
    assert int(r.headers["Content-Length"]) == size
    got = hashlib.sha256()
    while data := r.read(1 << 20):
        got.update(data)
    assert got.digest() == digest.digest()
    assert memory_peak(server) - before < 8 << 20
