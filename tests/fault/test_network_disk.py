"""A data folder on a network file system, as statfs() would tell of one: the server works, and says what may go wrong."""
import subprocess

import pytest

from conftest import STOKER, Server
from preload import library

PRETEND = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
static int ask (const char *name, const char *path, void *to)
{
    int (*real) (const char *, void *) = (int (*) (const char *, void *))dlsym (RTLD_NEXT, name);
    int rc = real (path, to);
    if (rc == 0 && strstr (path, getenv ("PRETEND_PATH")))
        ((struct statfs *)to)->f_type = strtol (getenv ("PRETEND_TYPE"), NULL, 16);
    return rc;
}
int statfs (const char *path, struct statfs *to) { return ask ("statfs", path, to); }
int statfs64 (const char *path, struct statfs64 *to) { return ask ("statfs64", path, to); }
"""


@pytest.fixture(scope="module")
def pretend(tmp_path_factory):
    """A library that changes what statfs() says of one folder."""
    return library(tmp_path_factory.mktemp("pretend"), PRETEND)


@pytest.mark.parametrize("kind, name", [("6969", "NFS"), ("0bd00bd0", "Lustre"), ("ff534d42", "CIFS"), ("ef53", None)])
def test_warning(tmp_path, monkeypatch, pretend, kind, name):
    server = Server(tmp_path / "s")
    for key, value in {"LD_PRELOAD": pretend, "PRETEND_PATH": server.data, "PRETEND_TYPE": kind}.items():
        monkeypatch.setenv(key, str(value))
    server.start()
    try:
        task = server.call("tasks.create", name="a task", type="training")["id"]  # it listens before it has looked
        warning = [line for line in server.log_text().splitlines() if "network file system" in line]
        assert len(warning) == (name is not None)
        if name:
            assert f"({name})" in warning[0] and str(server.data) in warning[0] and "use a local disk" in warning[0]
        second = subprocess.run([STOKER, "server", "--data", str(server.data), "--listen", "127.0.0.1:0=api"], text=True,
                                capture_output=True, stdin=subprocess.DEVNULL)
        assert second.returncode == 1 and f"in use by another stoker (process {server.process.pid})" in second.stderr
    finally:
        assert server.stop() == 0
    server.start()
    assert server.call("tasks.get_by_id", task=task)["task"]["name"] == "a task"
    assert server.stop() == 0
