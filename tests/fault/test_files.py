"""Files under faults: a full disk, the server killed in the middle of uploads."""
import hashlib
import http.client
import os
import threading
import urllib.error
import uuid

from conftest import Server, wait_for
from test_store import small_disk  # noqa: F401  (a fixture)


def put(server, path, data):
    return server.raw(path, data, server.auth(), method="PUT", base=server.files)


def blobs(server):
    return {p.name for p in (server.data / "files").rglob("*") if p.is_file()}


def test_full_disk(small_disk):  # noqa: F811
    server = Server(small_disk / "s").start()
    try:
        assert put(server, "/small", b"x" * 1000)[0] == 200
        before = blobs(server)
        status, _, words = put(server, "/large", os.urandom(40 << 20))
        assert status == 500 and b"full" in words
        assert blobs(server) == before, "nothing of it is left"
        assert server.raw("/large", None, server.auth(), method="GET", base=server.files)[0] == 404
        assert put(server, "/after", b"room again")[0] == 200
        assert server.raw("/small", None, server.auth(), method="GET", base=server.files)[2] == b"x" * 1000
    finally:
        assert server.stop() == 0


def test_kill_in_the_middle(server_factory):
    """What was answered with 200 is there, whole, after kill -9; what was not is there whole or not at all."""
    server = server_factory()
    server.auth()
    sent, stored, stop = {}, set(), threading.Event()

    def client(n):
        i = 0
        while not stop.is_set():
            path, data = f"/c{n}/{i}", os.urandom(1000 + 200_000 * (i % 3))
            sent[path] = hashlib.sha256(data).digest()
            try:
                if put(server, path, data)[0] == 200:
                    stored.add(path)
            except (OSError, urllib.error.URLError, http.client.HTTPException):
                if stop.wait(0.05):
                    return
            i += 1

    threads = [threading.Thread(target=client, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    try:
        for _ in range(4):
            at = len(stored)
            wait_for("more uploads", lambda: len(stored) >= at + 10)
            server.kill()
            server.start()
    finally:
        stop.set()
        for t in threads:
            t.join()
    server.call("server.info")
    assert len(stored) >= 40
    found = 0
    for path, digest in sent.items():
        status, _, data = server.raw(path, None, server.auth(), method="GET", base=server.files)
        assert status in (200, 404) and (status == 200 or path not in stored), path
        if status == 200:
            assert hashlib.sha256(data).digest() == digest
            found += 1
    assert not list((server.data / "files" / "tmp").iterdir())
    wait_for("blobs of no file to go", lambda: len(blobs(server)) == found)


def test_blobs_that_no_file_names(server_factory):
    """A crash between a blob and its row: the next start removes the blob. What is not ours stays."""
    server = server_factory()
    assert put(server, "/one", b"first")[0] == 200 and put(server, "/two", b"second")[0] == 200
    ours, folder = blobs(server), server.data / "files"
    server.kill()
    left, note = uuid.uuid4().hex, folder / "ab" / "a note of somebody"
    for path in (folder / left[:2] / left, note):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"left")
    server.start()
    wait_for("the blob to go", lambda: left not in blobs(server))
    assert blobs(server) == ours | {note.name}
    for path, data in (("/one", b"first"), ("/two", b"second")):
        assert server.raw(path, None, server.auth(), method="GET", base=server.files)[2] == data
    assert server.stop() == 0  # a clean end: nobody has to look at the next start
    assert "clean" in blobs(server)
    server.start()
    wait_for("the note to go", lambda: "clean" not in blobs(server))
