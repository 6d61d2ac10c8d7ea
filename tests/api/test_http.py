"""HTTP as it arrives: raw sockets against a real server. Smuggling forms one by one are in src/io/http_parse_test.c."""
import gzip
import json
import socket
import subprocess
import sys
import time
import zlib

import pytest

from conftest import GUARD, free_ports, wait_for


class Wire:
    """One connection, spoken by hand."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), GUARD)
        self.held = b""

    def send(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else data.encode())
        return self

    def _more(self):
        data = self.sock.recv(65536)
        self.held += data
        return data

    def read(self, head_only=False):
        """(status, {header: value}, body) of the next answer."""
        while b"\r\n\r\n" not in self.held:
            assert self._more(), f"closed in the middle of a head: {self.held!r}"
        head, self.held = self.held.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
        status = int(lines[0].split()[1])
        n = 0 if head_only or status in (304, 100) else int(headers.get("content-length", 0))
        while len(self.held) < n:
            assert self._more(), "closed in the middle of a body"
        body, self.held = self.held[:n], self.held[n:]
        return status, headers, body

    def closed(self):
        """True when the server closes without another byte."""
        return not self.held and self.sock.recv(65536) == b""

    def close(self):
        self.sock.close()


@pytest.fixture
def wire(shared_server):
    made = []

    def make(port=None):
        made.append(Wire(port or shared_server.api_port))
        return made[-1]

    yield make
    for w in made:
        w.close()


H = "Host: localhost\r\n"


def ping(body="{}", extra="", method="POST"):
    return f"{method} /debug.ping HTTP/1.1\r\n{H}{extra}Content-Length: {len(body)}\r\n\r\n{body}"


def meta(answer):
    return json.loads(answer[2])["meta"]


def test_keep_alive(wire):
    w = wire()
    for _ in range(3):
        status, headers, _ = w.send(ping()).read()
        assert status == 200 and headers["connection"] == "keep-alive"
    status, headers, _ = w.send(ping(extra="Connection: close\r\n")).read()
    assert status == 200 and headers["connection"] == "close" and w.closed()


def test_http_10(wire):
    w = wire()
    assert w.send(f"GET /healthz HTTP/1.0\r\n{H}\r\n").read()[0] == 200
    assert w.closed()
    w = wire()
    assert w.send(f"GET /healthz HTTP/1.0\r\n{H}Connection: keep-alive\r\n\r\n").read()[1]["connection"] == "keep-alive"
    assert w.send(f"GET /healthz HTTP/1.0\r\n{H}\r\n").read()[0] == 200


def test_pipelined(wire):
    w = wire()
    n = 50
    w.send("".join(ping(extra=f"X-Clearml-Trx: {i}\r\n") for i in range(n)))
    assert [meta(w.read())["trx"] for _ in range(n)] == [str(i) for i in range(n)]


def test_byte_by_byte(wire):
    w = wire()
    for c in ping('{"a": 1}', "X-Clearml-Trx: slow\r\n"):
        w.send(c)
    assert meta(w.read())["trx"] == "slow"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH"])
def test_methods_mean_the_same(wire, method):
    assert wire().send(ping(method=method)).read()[0] == 200


def test_head_has_no_body(wire):
    w = wire()
    status, headers, _ = w.send(f"HEAD /healthz HTTP/1.1\r\n{H}\r\n").read(head_only=True)
    assert status == 200 and int(headers["content-length"]) > 0
    assert w.send(ping()).read()[0] == 200, "the next answer starts right behind the head"


def test_options(wire):
    status, headers, body = wire().send(f"OPTIONS /v2.1/tasks.get_all HTTP/1.1\r\n{H}\r\n").read()
    assert (status, body) == (200, b"") and "access-control-allow-origin" not in headers


def test_chunked_body(wire):
    w = wire()
    body = json.dumps({"k": "v" * 100})
    parts = [body[i:i + 7] for i in range(0, len(body), 7)]
    w.send(f"POST /debug.ping HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\n")
    for p in parts:
        w.send(f"{len(p):x}\r\n{p}\r\n")
    w.send("0\r\n\r\n")
    assert w.read()[0] == 200
    assert w.send(ping()).read()[0] == 200


def test_expect_continue(wire):
    w = wire()
    body = '{"x": 1}'
    w.send(f"POST /debug.ping HTTP/1.1\r\n{H}Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n")
    assert w.read()[0] == 100
    assert w.send(body).read()[0] == 200
    w.send(f"POST /debug.ping HTTP/1.1\r\n{H}Expect: 100-continue\r\nContent-Length: 9999999999\r\n\r\n")
    assert w.read()[0] == 413, "refused before a byte of the body was sent"


@pytest.mark.parametrize("head,status", [
    ("GET /debug.ping HTTP/1.1\r\n\r\n", 400),
    (f"GET /debug.ping HTTP/1.1\r\n{H}{H}\r\n", 400),
    (f"GET /debug.ping HTTP/1.1\r\n{H}A: b\r\n c\r\n\r\n", 400),
    (f"GET /debug.ping HTTP/1.1\n{H}\n", 400),
    (f"GET /debug.ping HTTP/1.1\r\n{H}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
    (f"GET /debug.ping HTTP/1.1\r\n{H}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (f"GET /debug.ping HTTP/1.1\r\n{H}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    (f"GET /debug.ping HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
    (f"TRACE /debug.ping HTTP/1.1\r\n{H}\r\n", 405),
    (f"GET /debug.ping HTTP/3.0\r\n{H}\r\n", 400),
    (f"GET /{'a' * 17000} HTTP/1.1\r\n{H}\r\n", 414),
    (f"GET /debug.ping HTTP/1.1\r\n{H}X: {'a' * 70000}\r\n\r\n", 431),
    (f"GET /debug.ping HTTP/1.1\r\n{H}{''.join(f'X{i}: y{chr(13)}{chr(10)}' for i in range(200))}\r\n", 431),
    ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
])
def test_refused_and_closed(wire, head, status):
    w = wire()
    answer = w.send(head).read()
    assert answer[0] == status and answer[1]["connection"] == "close"
    assert meta(answer)["result_code"] == status and meta(answer)["result_msg"]
    assert w.closed()


def test_half_sent_leaves_nothing(wire, shared_server):
    before = shared_server.call("projects.get_all")["projects"]
    body = json.dumps({"name": "half sent"}).encode()
    token = shared_server.auth()["Authorization"]
    for cut in (1, len(body) - 1):
        w = wire()
        w.send(f"POST /projects.create HTTP/1.1\r\n{H}Authorization: {token}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
               + body[:cut])
        w.close()
    w = wire()
    w.send(f"POST /projects.create HTTP/1.1\r\n{H}Authorization: {token}\r\nTransfer-Encoding: chunked\r\n\r\n"
           f"{len(body):x}\r\n{body.decode()}\r\n")  # complete JSON, but the last chunk never comes
    w.close()
    w = wire()
    w.send(f"POST /projects.create HTTP/1.1\r\n{H}Authorization: {token}\r\nContent-Length: {len(body) + 1}\r\n\r\n".encode()
           + body)
    w.sock.shutdown(socket.SHUT_WR)
    assert w.closed(), "a wrong length is no request"
    assert shared_server.call("projects.get_all")["projects"] == before


def test_too_long_a_body(wire, shared_server):
    token = shared_server.auth()["Authorization"]
    for length, words in ((65 << 20, f"limit of {64 << 20} bytes"), (18446744073709551615, "too large")):
        w = wire()
        head = f"Content-Length: {length}\r\n\r\n"
        answer = w.send(f"POST /debug.ping HTTP/1.1\r\n{H}Authorization: {token}\r\n{head}").read()
        assert (answer[0], meta(answer)["result_subcode"]) == (413, 0)
        assert words in meta(answer)["result_msg"]
    # a stranger gets less room than who has credentials
    assert wire().send(f"POST /debug.ping HTTP/1.1\r\n{H}Content-Length: {2 << 20}\r\n\r\n").read()[0] == 413
    w = wire()
    w.send(f"POST /debug.ping HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\n")
    with pytest.raises((ConnectionError, AssertionError)):
        for _ in range(200):  # 20 MB in chunks: cut off on the way
            w.send(b"19000\r\n" + b"x" * 0x19000 + b"\r\n")
        assert w.read()[0] != 413
        raise ConnectionError


@pytest.mark.parametrize("coding,pack", [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_packed_request(shared_server, coding, pack):
    body = pack(json.dumps({"name": f"packed {coding}"}).encode())
    status, _, out = shared_server.raw("/projects.create", body, {**shared_server.auth(), "Content-Encoding": coding})
    assert status == 200, out
    found = shared_server.call("projects.get_all", name=f"packed {coding}", only_fields=["id", "name"])["projects"]
    assert [p["name"] for p in found] == [f"packed {coding}"]


def test_packed_request_that_is_broken(shared_server):
    auth = shared_server.auth()
    good = gzip.compress(b'{"name": "abc"}')
    for body, coding, code in ((good[:-9], "gzip", 400), (b"nonsense", "gzip", 400), (good + b"more", "gzip", 400),
                               (good, "br", 415), (gzip.compress(b" " * (65 << 20)), "gzip", 413)):
        status, _, out = shared_server.raw("/projects.create", body, {**auth, "Content-Encoding": coding})
        assert status == code and json.loads(out)["meta"]["result_code"] == code, (coding, out)


def test_packed_answer(shared_server):
    auth = shared_server.auth()
    _, headers, plain = shared_server.raw("/server.info", b"{}", auth)
    assert "Content-Encoding" not in headers
    for accept, packed in (("gzip, deflate", True), ("gzip;q=0", False), ("*", True), ("br", False), ("identity", False)):
        status, headers, body = shared_server.raw("/auth.login", b"{}", {**auth, "Accept-Encoding": accept})
        assert status == 200 and (headers.get("Content-Encoding") == "gzip") == packed, accept
        assert "Accept-Encoding" in headers["Vary"]
        assert json.loads(gzip.decompress(body) if packed else body)["data"]["token"]


@pytest.mark.parametrize("path,status,name", [
    ("/debug.ping", 200, "debug.ping"), ("/v2.23/debug.ping", 200, "debug.ping"), ("/v999.0/debug.ping/", 200, "debug.ping"),
    ("/api/v2.1/debug.ping", 200, "debug.ping"), ("/v2.1/nobody.knows", 404, "nobody.knows"), ("/v2/debug.ping", 400, ""),
    ("/", 400, ""), ("/tasks", 400, ""), ("/tasks.get_all.more", 400, ""), ("/api", 400, ""), ("/api/", 400, ""),
])
def test_paths(shared_server, path, status, name):
    got, _, body = shared_server.raw(path)
    m = json.loads(body)["meta"]
    assert (got, m["result_code"], m["endpoint"]["name"]) == (status, status, name)


def test_fronts(shared_server):
    s = shared_server
    for base in (s.web, s.api, s.files):
        assert s.raw("/api/debug.ping", base=base)[0] == 200
        assert s.raw("/files/", None, method="GET", base=base)[2] == b"OK"
        assert s.raw("/healthz", None, method="GET", base=base)[0] == 200
    assert s.raw("/debug.ping", base=s.web)[0] == 200
    assert s.raw("/debug.ping", base=s.files)[0] != 200
    assert s.raw("/", None, method="GET", base=s.files)[2] == b"OK"
    status, headers, body = s.raw("/projects/x/tasks/y", None, method="GET", base=s.web)
    assert status == 200 and headers["Content-Type"].startswith("text/html") and b"Stoker" in body


@pytest.mark.parametrize("host,status", [
    ("localhost", 200), ("localhost:8008", 200), ("127.0.0.1", 200), ("127.1.2.3:99", 200), ("[::1]:8008", 200),
    ("app.localhost", 200), ("evil.example", 421), ("127.0.0.1.evil.example", 421), ("localhost.evil.example", 421),
    ("10.0.0.1:8008", 421),
])
def test_host_names(wire, host, status):
    assert wire().send(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n").read()[0] == status


def test_further_host_and_origin(server_factory):
    s = server_factory(["--host", "lab.example", "--cors-origin", "https://page.example"])

    def get(**headers):
        return s.raw("/debug.ping", b"{}", headers)

    assert get(Host="lab.example:8008")[0] == 200 and get(Host="other.example")[0] == 421
    assert get(Origin="https://page.example")[1]["Access-Control-Allow-Origin"] == "https://page.example"
    assert "Access-Control-Allow-Origin" not in get(Origin="https://other.example")[1]
    status, headers, _ = s.raw("/tasks.get_all", None, {"Origin": "https://page.example",
                                                        "Access-Control-Request-Headers": "x-one"}, method="OPTIONS")
    assert status == 200 and headers["Access-Control-Allow-Headers"] == "x-one"


def test_behind_a_proxy(server_factory):
    """TLS ends at a proxy that passes the Host on: one port is enough, and the page's own calls are its own."""
    (port,) = free_ports(1)
    s = server_factory(["--listen", f"0.0.0.0:{port}=web", "--web-url", "https://lab.example", "--api-url",
                        "https://lab.example/api", "--files-url", "https://lab.example/files"])
    base, host = f"http://127.0.0.1:{port}", {"Host": "lab.example", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "lab.example"}
    assert s.raw("/api/debug.ping", headers=host, base=base)[0] == 200
    status, headers, body = s.raw("/projects/x", None, host, "GET", base=base)
    assert status == 200 and headers["Content-Type"].startswith("text/html") and b"Stoker" in body
    assert s.raw("/files/a/b", b"content", {**host, **s.auth()}, "PUT", base=base)[0] == 200
    assert s.raw("/files/a/b", None, {**host, **s.auth()}, "GET", base=base)[2] == b"content"
    token = s.auth()["Authorization"].split()[1]
    page = {**host, "Cookie": f"clearml_token_basic={token}", "X-Stoker-Request": "1"}
    me = "/api/users.get_current_user"
    assert s.raw(me, b"{}", {**page, "Origin": "https://lab.example", "Sec-Fetch-Site": "same-origin"}, base=base)[0] == 200
    assert s.raw(me, b"{}", {**page, "Origin": "https://lab.example"}, base=base)[0] == 200
    assert s.raw(me, b"{}", {**page, "Origin": "https://evil.example"}, base=base)[0] == 401
    assert s.raw(me, b"{}", {**page, "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, base=base)[0] == 401


def test_cookie_alone(shared_server):
    """The cookie counts only for a POST of our own page."""
    s = shared_server
    token = s.auth()["Authorization"].split()[1]
    cookie = {"Cookie": f"clearml_token_basic={token}"}
    own = {**cookie, "X-Stoker-Request": "1"}
    path = "/api/users.get_current_user"

    def status(headers, method="POST"):
        return s.raw(path, b"{}", headers, method=method, base=s.web)[0]

    assert status(own) == 200
    assert status({**own, "Origin": s.web, "Sec-Fetch-Site": "same-origin"}) == 200
    assert status(cookie) == 401
    assert status(own, "GET") == 401
    assert status({**own, "Origin": "null"}) == 401
    assert status({**own, "Origin": "http://evil.example"}) == 401
    assert status({**own, "Origin": s.api}) == 401
    assert status({**own, "Sec-Fetch-Site": "cross-site"}) == 401
    assert status({**own, "Sec-Fetch-Site": "same-site"}) == 401
    assert status({"Authorization": f"Bearer {token}", "Origin": "http://evil.example"}, "GET") == 200


def test_query_merges_over_the_body(shared_server):
    s = shared_server
    made = s.call("projects.create", name="query merge")["id"]
    _, _, body = s.raw(f"/projects.get_by_id?project={made}", b'{"project": "x", "method": "get"}', s.auth(), method="GET")
    assert json.loads(body)["data"]["project"]["name"] == "query merge"
    _, _, body = s.raw("/projects.get_by_id", f"project={made}".encode(),
                       {**s.auth(), "Content-Type": "application/x-www-form-urlencoded"})
    assert json.loads(body)["data"]["project"]["name"] == "query merge"


@pytest.mark.parametrize("body,code", [(b"", 200), (b"null", 200), (b"  {} \n", 200), (b"{", 400), (b"[]", 400), (b"5", 400),
                                       (b"\xff", 400), (b"{}x", 400), (b"[" * 100000, 400)],
                         ids=lambda v: str(v)[:12])
def test_bodies(shared_server, body, code):
    kind = {"Content-Type": "application/json"}
    status, _, out = shared_server.raw("/users.get_current_user", body, {**kind, **shared_server.auth()})
    assert (status, json.loads(out)["meta"]["result_code"]) == (code, code)
    # who has no credentials is told that first
    assert shared_server.raw("/users.get_current_user", body)[0] == 401


def test_trx(shared_server):
    for header in ("X-Clearml-Trx", "X-Trains-Trx"):
        m = json.loads(shared_server.raw("/debug.ping", headers={header: "abc"})[2])["meta"]
        assert m["trx"] == "abc" and len(m["id"]) == 32
    m = json.loads(shared_server.raw("/debug.ping")[2])["meta"]
    assert m["trx"] == m["id"]


def test_many_connections_at_once(wire, shared_server):
    held = [wire() for _ in range(200)]
    for w in held:
        w.send(ping())
    assert all(w.read()[0] == 200 for w in held)


def test_long_poll(wire, shared_server):
    """A waiting call answers when its bell rings, at its time, and is dropped with its client."""
    s = shared_server
    auth = s.auth()["Authorization"]
    queue = s.call("queues.create", name="long poll")["id"]

    def claim(ms):
        body = json.dumps({"queues": [queue], "worker": "w", "token": f"token-{time.monotonic_ns()}", "wait_ms": ms})
        return wire().send(f"POST /x_queues.claim HTTP/1.1\r\n{H}Authorization: {auth}\r\nContent-Length: {len(body)}\r\n\r\n{body}")

    def enqueue(name):
        task = s.call("tasks.create", name=name, type="training", script={"entry_point": "x.py"})["id"]
        s.call("tasks.enqueue", task=task, queue=queue)
        return task

    status, _, body = claim(50).read()
    assert status == 200, body
    assert "task" not in json.loads(body)["data"]
    gone = claim(60000)
    gone.close()
    first, second = claim(60000), claim(60000)
    tasks = {enqueue("waited one"), enqueue("waited two")}
    answers = [w.read() for w in (first, second)]
    assert all(a[0] == 200 for a in answers)
    assert {t for a in answers for t in tasks if t.encode() in a[2]} == tasks


def test_drain(server_factory):
    """SIGTERM: the request in work and the waiting ones are answered, idle connections closed, exit code 0."""
    import signal
    s = server_factory()
    auth = s.auth()["Authorization"]
    queue = s.call("queues.create", name="drain it")["id"]
    idle, waiting, half = Wire(s.api_port), Wire(s.api_port), Wire(s.api_port)
    body = json.dumps({"queues": [queue], "worker": "w", "token": "token-of-the-drain", "wait_ms": 60000})
    waiting.send(f"POST /x_queues.claim HTTP/1.1\r\n{H}Authorization: {auth}\r\nContent-Length: {len(body)}\r\n\r\n{body}")
    half.send(f"POST /debug.ping HTTP/1.1\r\n{H}Content-Length: 2\r\n\r\n{{")
    assert idle.send(ping()).read()[0] == 200
    process = s.process
    process.send_signal(signal.SIGTERM)
    assert waiting.read()[0] == 200
    assert idle.closed()
    status, headers, _ = half.send("}").read()
    assert status == 200 and headers["connection"] == "close"
    assert process.wait(GUARD) == 0
    s.process = None
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", s.api_port), 5)


def test_busy_port_names_its_owner(shared_server, tmp_path):
    import subprocess

    from conftest import STOKER
    done = subprocess.run([STOKER, "server", "--data", str(tmp_path / "d"), "--listen", f"127.0.0.1:{shared_server.api_port}"],
                          capture_output=True, text=True, timeout=GUARD)
    assert done.returncode == 1
    assert f"port {shared_server.api_port} is busy" in done.stderr
    assert f"stoker, process {shared_server.process.pid}" in done.stderr
    for bad in ("127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999", "::1:80", "127.0.0.1:0=nothing"):
        done = subprocess.run([STOKER, "server", "--data", str(tmp_path / "d"), "--listen", bad],
                              capture_output=True, text=True, timeout=GUARD)
        assert done.returncode == 1 and bad.split("=")[0] in done.stderr, bad


def test_first_login(tmp_path):
    """Without a bootstrap key the first start makes one, in a file only its owner reads; not again at the second."""
    import re

    from conftest import Server, clean_env, STOKER, free_ports
    import subprocess
    data, port = tmp_path / "data", free_ports(1)[0]
    for start in range(2):
        out = open(tmp_path / f"out{start}", "wb")
        p = subprocess.Popen([STOKER, "server", "--data", str(data), "--listen", f"127.0.0.1:{port}=api"], stdout=out, stderr=out,
                             env=clean_env())
        wait_for("the server", lambda: b"ready" in (tmp_path / f"out{start}").read_bytes())
        text = (data / "first-login").read_text()
        assert (data / "first-login").stat().st_mode & 0o777 == 0o600
        access, secret = re.search(r"access_key: (\S+)\nsecret_key: (\S+)\n", text).groups()
        s = Server.__new__(Server)
        s.api, s.access, s.secret, s.token = f"http://127.0.0.1:{port}", access, secret, None
        assert s.call("users.get_current_user")["user"]["role"] == "admin"
        p.terminate()
        assert p.wait(GUARD) == 0
        log = (tmp_path / f"out{start}").read_text()
        assert secret not in log and (str(data / "first-login") in log) == (start == 0)


def test_everything_at_once(server):
    """Clients of all kinds on one server, some of which go away; then it ends well. (The thread sanitizer's case.)"""
    import os
    import random
    import threading
    s = server
    auth = s.auth()["Authorization"]
    queue = s.call("queues.create", name="everything")["id"]
    task = s.call("tasks.create", name="everything", type="training", script={"entry_point": "x.py"})["id"]
    failures = []

    def guarded(work):
        try:
            work()
        except Exception as e:  # noqa: BLE001
            failures.append(f"{work.__name__}: {e!r}")

    def small_calls():
        w = Wire(s.api_port)
        for i in range(100):
            assert w.send(ping(extra=f"X-Clearml-Trx: {i}\r\n")).read()[0] == 200
        w.close()

    def writes():
        for i in range(25):
            s.call("tasks.create", name=f"write {i} {random.random()}", type="training", script={"entry_point": "x.py"})
            s.call("tasks.get_all", page=0, page_size=20, only_fields=["id", "name"])

    def metrics():
        for i in range(15):
            s.batch("events.add_batch", [{"type": "training_stats_scalar", "task": task, "metric": "m", "variant": "v",
                                          "iter": i * 100 + j, "value": j, "timestamp": 1700000000000 + j} for j in range(100)])

    def files():
        for i in range(10):
            data = os.urandom(200_000)
            assert s.raw(f"/f{threading.get_ident()}/{i}", data, s.auth(), method="PUT", base=s.files)[0] == 200
            assert s.raw(f"/f{threading.get_ident()}/{i}", None, s.auth(), method="GET", base=s.files)[2] == data

    def waiters():
        for i in range(10):
            body = json.dumps({"queues": [queue], "worker": "w", "token": f"{random.random():.18f}", "wait_ms": 20})
            w = Wire(s.api_port)
            w.send(f"POST /x_queues.claim HTTP/1.1\r\n{H}Authorization: {auth}\r\nContent-Length: {len(body)}\r\n\r\n{body}")
            if i % 2:
                assert w.read()[0] == 200
            w.close()

    def rude():
        for i in range(30):
            w = Wire(random.choice([s.api_port, s.files_port]))
            w.send(f"POST / HTTP/1.1\r\n{H}Authorization: {auth}\r\nContent-Type: multipart/form-data; boundary=B\r\n"
                   f"Content-Length: 100000\r\n\r\n--B\r\nContent-Disposition: form-data; name=\"r\"; filename=\"f\"\r\n\r\n"
                   + "x" * random.randrange(60000))
            w.close()

    def logins():
        for _ in range(15):
            assert s.raw("/auth.login", b"{}", {"Authorization": s.basic(), "Accept-Encoding": "gzip"})[0] == 200

    threads = [threading.Thread(target=guarded, args=(work,)) for work in
               (small_calls, writes, metrics, files, waiters, rude, logins) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(GUARD)
    assert failures == []


def test_in_the_name_of_another(shared_server):
    s = shared_server
    me = s.call("users.get_current_user")["user"]
    others = [u["id"] for u in s.call("users.get_all", only_fields=["id"])["users"] if u["id"] != me["id"]]

    def who(**headers):
        status, _, body = s.raw("/users.get_current_user", b"{}", {**s.auth(), **{k.replace("_", "-"): v for k, v in headers.items()}})
        answer = json.loads(body)
        m = answer["meta"]
        return answer["data"]["user"] if status == 200 else (m["result_code"], m["result_subcode"])

    for user in [me["id"], *others]:
        assert who(X_Clearml_Act_As=user)["id"] == user and who(X_Clearml_Act_As=user)["role"]
        assert who(X_Trains_Impersonate_As=user)["id"] == user
    assert who(X_Clearml_Impersonate_As="nobody") == (400, 6)
    assert who(X_Clearml_Impersonate_As=me["id"], X_Clearml_Act_As=me["id"]) == (400, 5)


def test_server_conf(tmp_path):
    """DATA/server.conf says what the command line does not; mistakes are named."""
    import subprocess

    from conftest import STOKER, clean_env, free_ports
    data, (one, two) = tmp_path / "data", free_ports(2)
    data.mkdir(mode=0o700)
    conf = data / "server.conf"

    def start(*words):
        return subprocess.Popen([STOKER, "server", "--data", str(data), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, env=clean_env())

    conf.write_text(f'server {{ listen: ["127.0.0.1:{one}=api"], hosts: ["lab.example"], log: debug }}\n')
    p = start()
    wait_for("the port", lambda: socket.socket().connect_ex(("127.0.0.1", one)) == 0)
    w = Wire(one)
    assert w.send("GET /healthz HTTP/1.1\r\nHost: lab.example\r\n\r\n").read()[0] == 200
    w.close()
    p.terminate()
    out = p.communicate(timeout=GUARD)[0]
    assert p.returncode == 0 and "path=/healthz" in out
    p = start("--listen", f"127.0.0.1:{two}=api", "--log", "info")
    wait_for("the other port", lambda: socket.socket().connect_ex(("127.0.0.1", two)) == 0)
    assert socket.socket().connect_ex(("127.0.0.1", one)) != 0
    p.terminate()
    assert p.wait(GUARD) == 0
    for bad, words in (("server { log: loud }", "server.log"), ("server { threads: 1000 }", "server.threads"),
                       ("server { threads: many }", "server.threads"), ("server {", "server.conf"),
                       ("server { listne: [] }", "server.listne"), ("server { worker_lost_sec: -1 }", "server.worker_lost_sec"),
                       ("auth { fixed_users { enabled: true", "server.conf:1"),
                       ("auth { fixed_users { enabled: true, users: [] } }", "'auth'"),
                       ("secure.credentials { }", "'secure'")):
        conf.write_text(bad)
        p = start()
        out = p.communicate(timeout=GUARD)[0]
        assert p.returncode == 2 and words in out, bad + out
    for setting in ("web_url", "api_url", "files_url"):
        conf.write_text(f'server {{ {setting}: "https://user:S3CRET@lab.example" }}\n')
        p = start("--log", "debug")
        out = p.communicate(timeout=GUARD)[0]
        assert p.returncode == 2 and f"server.{setting}" in out and "S3CRET" not in out, out


FORKING = """
import os, sys, requests
api, key, secret = sys.argv[1:]
session = requests.Session()
session.trust_env = False
session.headers["X-ClearML-Client"] = "clearml-2.1.12"
token = session.post(api + "/auth.login", auth=(key, secret)).json()["data"]["token"]
session.headers["Authorization"] = "Bearer " + token

def create(n):
    return session.get(api + "/v2.23/tasks.create", json={"name": f"fork {n}", "type": "training"}).json()["data"]["id"]

ids = [create(n) for n in range(4)]
children = []
for n, task in enumerate(ids):  # all share the parent's session and its pool, as after the SDK's fork
    pid = os.fork()
    if pid == 0:
        wrong = 0
        for _ in range(100):
            doc = session.get(api + "/v2.23/tasks.get_by_id", json={"task": task}, timeout=60).json()["data"]["task"]
            wrong += doc["id"] != task
        os._exit(1 if wrong else 0)
    children.append(pid)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
"""


def test_clients_that_fork_get_their_own_answers(shared_server):
    """The SDK forks with open pooled connections: each process must get its own answers, whatever it shares."""
    done = subprocess.run([sys.executable, "-c", FORKING, shared_server.api, shared_server.access, shared_server.secret],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("header,kept", [("User-Agent: python-requests/2.32.5", False), ("X-ClearML-Client: clearml-2.1.12", False),
                                         ("X-Trains-Client: trains-0.16.4", False), ("User-Agent: curl/8.0", True)])
def test_who_keeps_a_connection(shared_server, header, kept):
    with socket.create_connection(("127.0.0.1", shared_server.api_port), 60) as s:
        s.sendall(f"GET /debug.ping HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n".encode())
        head = s.recv(65536)
        assert (b"Connection: keep-alive" in head) == kept and (b"Connection: close" in head) != kept


@pytest.mark.parametrize("size", [10, 3900, 4200, 200_000])
def test_small_and_large_writes_answer_alike(shared_server, size):
    """Writes with a small body take another way through the server's threads; so do large answers to them."""
    s, text = shared_server, "é\"\\" + "x" * size
    out = s.call("tasks.create", name="by size", type="training", comment=text)
    assert s.call("tasks.get_by_id", task=out["id"])["task"]["comment"] == text
    assert s.call("tasks.edit", task=out["id"], comment=text + "!")["fields"]["comment"] == text + "!"
    assert s.fails("tasks.edit", task="0" * 32, comment=text) == (400, 101)
    assert s.fails("tasks.edit", task=out["id"], name=7, comment=text, tags=text) == (400, 12)
    body = json.dumps({"name": "by size", "type": "training", "comment": text}).encode()
    for headers, code in (({}, 401), ({"Authorization": "Bearer a.b.c"}, 401), (s.auth(), 200),
                          ({**s.auth(), "X-ClearML-Impersonate-As": "nobody"}, 400)):
        status, _, answer = s.raw("/tasks.create", body, {"Content-Type": "application/json", **headers})
        assert (status, json.loads(answer)["meta"]["result_code"]) == (code, code), headers
    assert s.raw("/tasks.create", body[:-1], {"Content-Type": "application/json", **s.auth()})[0] == 400


def test_large_answer_to_a_small_write(shared_server):
    s = shared_server
    ids = [s.call("tasks.create", name="one of many", type="training")["id"] for _ in range(100)]
    body = json.dumps({"ids": ids, "queue_name": "of many"}).encode()
    status, headers, packed = s.raw("/v2.34/tasks.enqueue_many", body,
                                    {"Content-Type": "application/json", "Accept-Encoding": "gzip", **s.auth()})
    answer = gzip.decompress(packed)
    assert status == 200 and headers["Content-Encoding"] == "gzip"
    assert len(body) < 4096 and len(answer) > 16384, "the sizes that this test is about"
    assert [i["id"] for i in json.loads(answer)["data"]["succeeded"]] == ids
    assert all(i["fields"]["status"] == "queued" for i in json.loads(answer)["data"]["succeeded"])
