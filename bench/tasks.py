#!/usr/bin/env python3
"""tasks.py [COUNT] - how long lists of tasks take, and how many tasks can be made and enqueued a second.

A real server on an empty data folder, durable (synchronous FULL). COUNT tasks (default 10000) over 20 projects, with
tags, parameters and a script, are made over 16 connections, enqueued, and partly run. Then each list is asked 200 times
over one kept connection: the time from the first byte sent to the last byte of the answer, client included.
"""
import json
import pathlib
import re
import select
import socket
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from conftest import Server  # noqa: E402

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
CONNECTIONS, WINDOW, RUNS = 16, 16, 200
LENGTH = re.compile(rb"content-length: (\d+)", re.I)


class Connection:
    """Bytes in, whole answers out; several requests may be on their way."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.api_port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.head = b"".join(f"{k}: {v}\r\n".encode() for k, v in server.auth().items())
        self.buffer, self.waiting = bytearray(), 0

    def request(self, call, fields):
        body = json.dumps(fields).encode()
        return (f"POST /v2.34/{call} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n").encode() + self.head + b"\r\n" + body

    def answers(self):
        """The bodies that have arrived."""
        out = []
        while True:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return out
            n = end + 4 + int(LENGTH.search(self.buffer, 0, end)[1])
            if len(self.buffer) < n:
                return out
            out.append(bytes(self.buffer[end + 4:n]))
            del self.buffer[:n]

    def ask(self, raw):
        self.socket.sendall(raw)
        while True:
            got = self.socket.recv(1 << 20)
            if not got:
                sys.exit("tasks: the server closed the connection")
            self.buffer += got
            found = self.answers()
            if found:
                return found[0]


def flood(server, requests):
    """Send all over several connections, a window of requests each; the answers in order of arrival, and seconds."""
    connections = [Connection(server) for _ in range(CONNECTIONS)]
    todo = [c.request(*r) for c, r in ((connections[0], r) for r in requests)]
    todo.reverse()
    by_fd, done, total = {c.socket.fileno(): c for c in connections}, [], len(todo)
    poll = select.epoll()
    begin = time.perf_counter()
    for c in connections:
        poll.register(c.socket.fileno(), select.EPOLLIN)
        batch = [todo.pop() for _ in range(min(WINDOW, len(todo)))]
        c.socket.sendall(b"".join(batch))
    while len(done) < total:
        for fd, _ in poll.poll():
            c = by_fd[fd]
            c.buffer += c.socket.recv(1 << 18)
            found = c.answers()
            done += found
            batch = [todo.pop() for _ in range(min(len(found), len(todo)))]
            if batch:
                c.socket.sendall(b"".join(batch))
    seconds = time.perf_counter() - begin
    for body in done:
        if b'"result_code":200' not in body[:400]:
            sys.exit(f"tasks: refused: {body[:400]}")
    return done, seconds


def task_fields(i, projects):
    return {"name": f"experiment {i:06}", "type": "training", "project": projects[i % len(projects)],
            "tags": [f"t{i % 7}", "bench"], "comment": "made by the bench",
            "script": {"repository": "https://git.example.com/team/app.git", "branch": "main", "entry_point": "train.py",
                       "version_num": f"{i:040x}", "diff": "+" * 1500, "requirements": {"pip": "torch\n" * 100}},
            "hyperparams": {"Args": {f"p{k}": {"section": "Args", "name": f"p{k}", "value": str((i * 37 + k) % 1000),
                                               "type": "int"} for k in range(10)}}}


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(len(values) * q))]


def lists(server, projects):
    c = Connection(server)
    seven = ["id", "name", "status", "last_update", "type", "user", "project"]
    page = {"page": 0, "page_size": 50, "system_tags": ["-archived"]}
    rows = [
        ("7 fields, newest first", "get_all", {"only_fields": seven, "order_by": ["-last_update"], **page}),
        ("7 fields, oldest first", "get_all", {"only_fields": seven, "order_by": ["created"], **page}),
        ("7 fields, by name", "get_all", {"only_fields": seven, "order_by": ["name"], **page}),
        ("7 fields, by status", "get_all", {"only_fields": seven, "order_by": ["status"], **page}),
        ("7 fields, one project", "get_all", {"only_fields": seven, "order_by": ["-last_update"],
                                              "project": [projects[3]], **page}),
        ("7 fields, project and below", "get_all", {"only_fields": seven, "order_by": ["-last_update"],
                                                    "project": [projects[0]], "include_subprojects": True, **page}),
        ("7 fields, page 100", "get_all", {"only_fields": seven, "order_by": ["-last_update"], **page, "page": 100}),
        ("7 fields, a tag", "get_all", {"only_fields": seven, "order_by": ["-last_update"], "tags": ["t3"], **page}),
        ("7 fields, status queued", "get_all", {"only_fields": seven, "order_by": ["-last_update"],
                                                "status": ["queued"], **page}),
        ("7 fields, name by regex", "get_all", {"only_fields": seven, "order_by": ["-last_update"],
                                                "name": "ment 00[0-9]*5$", **page}),
        ("by a parameter", "get_all", {"only_fields": seven, "order_by": ["hyperparams.Args.p3.value"], **page}),
        ("joined names", "get_all_ex", {"only_fields": [*seven, "project.name", "user.name"],
                                        "order_by": ["-last_update"], **page}),
        ("full documents", "get_all", {"order_by": ["-last_update"], **page}),
        ("one task by id", "get_all", {"id": [], "only_fields": ["id", "status"]}),
        ("projects with counts", "projects.get_all_ex", {"include_stats": True, "page": 0, "page_size": 50}),
        ("tags in use", "organization.get_tags", {}),
        ("tags of a project", "projects.get_task_tags", {"projects": [projects[3]]}),
    ]
    some = json.loads(c.ask(c.request("tasks.get_all", {"only_fields": ["id"], "page": 0, "page_size": 1})))
    for words, call, fields in rows:
        if fields.get("id") == []:
            fields["id"] = [some["data"]["tasks"][0]["id"]]
        raw = c.request(call if "." in call else f"tasks.{call}", fields)
        times, size = [], 0
        for _ in range(RUNS):
            begin = time.perf_counter()
            size = len(c.ask(raw))
            times.append((time.perf_counter() - begin) * 1000)
        print(f"  {words:<30} p50 {statistics.median(times):7.2f} ms   p99 {quantile(times, 0.99):7.2f} ms"
              f"   {size / 1000:8.1f} kB")


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder).start()
        try:
            projects = [server.call("projects.create", name="bench/all")["id"]]
            projects += [server.call("projects.create", name=f"bench/all/project {i:02}")["id"] for i in range(19)]
            queue = server.call("queues.create", name="bench")["id"]
            made, t1 = flood(server, [("tasks.create", task_fields(i, projects)) for i in range(COUNT)])
            ids = [json.loads(b)["data"]["id"] for b in made]
            _, t2 = flood(server, [("tasks.enqueue", {"task": i, "queue": queue}) for i in ids])
            print(f"create {COUNT / t1:8.0f} tasks/s   enqueue {COUNT / t2:8.0f} tasks/s   "
                  f"both {COUNT / (t1 + t2):8.0f} tasks/s")
            running = ids[::3]
            flood(server, [("tasks.started", {"task": i, "force": True}) for i in running])
            _, t3 = flood(server, [("tasks.completed", {"task": i}) for i in running])
            print(f"completed {len(running) / t3:8.0f} tasks/s")
            print(f"lists over {COUNT} tasks, 50 a page:")
            lists(server, projects)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
