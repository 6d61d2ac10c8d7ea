"""A disk that does not take the log of the database: an answer never leaves before what it says is on the disk."""
import pytest

from conftest import CallError, Server
from preload import library

SYNCS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int ask (const char *name, int fd)
{
    char link[64], path[4096];
    snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink (link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    if (n > 4 && !strcmp (path + n - 4, "-wal") && access (getenv ("BROKEN_DISK"), F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    return ((int (*) (int))dlsym (RTLD_NEXT, name)) (fd);
}
int fsync (int fd) { return ask ("fsync", fd); }
int fdatasync (int fd) { return ask ("fdatasync", fd); }
"""


def test_nothing_is_acknowledged_that_is_not_on_the_disk(tmp_path, monkeypatch):
    server, broken = Server(tmp_path / "s"), tmp_path / "broken"
    monkeypatch.setenv("LD_PRELOAD", str(library(tmp_path, SYNCS)))
    monkeypatch.setenv("BROKEN_DISK", str(broken))
    server.start()
    try:
        kept = [server.call("tasks.create", name="before", type="training")["id"]]
        broken.touch()
        for i in range(3):
            with pytest.raises(CallError) as e:
                server.call("tasks.create", name=f"broken {i}", type="training")
            assert (e.value.status, e.value.code) == (500, 500), str(e.value)
        with pytest.raises(CallError) as e:
            server.batch("events.add_batch", [{"type": "log", "task": kept[0], "msg": "lost", "timestamp": 1700000000000}])
        assert e.value.status == 500
        assert [t["name"] for t in server.call("tasks.get_all", only_fields=["name"])["tasks"]] == ["before"]
        assert server.call("events.get_task_log", task=kept[0])["total"] == 0
        broken.unlink()
        kept.append(server.call("tasks.create", name="after", type="training")["id"])
        server.kill()
        server.start()
        found = server.call("tasks.get_all", id=kept, only_fields=["name"], order_by=["created"])["tasks"]
        assert [t["name"] for t in found] == ["before", "after"]
    finally:
        assert server.stop() == 0
