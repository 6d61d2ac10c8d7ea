"""A server with data that every page has something to show of, and a way to run a browser journey against it."""
import json
import math
import os
import pathlib
import shutil
import subprocess
import time
import urllib.parse
import uuid

import pytest

from conftest import GUARD, ROOT, Server

HERE = pathlib.Path(__file__).resolve().parent
SHOTS = pathlib.Path(os.environ.get("STOKER_SHOTS", ROOT / "build" / "web-shots"))
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000040000000408020000002693092900000016494441547801636"
                    "0f8cfc0c0c0f09f81819101c60300480e0303d4a1b6c40000000049454e44ae426082")


def upload(server, path, data):
    """Store bytes on the file server under `path`, as the SDK does; the address that clients report."""
    edge = uuid.uuid4().hex
    body = (f'--{edge}\r\nContent-Disposition: form-data; name="/{path}"; filename="{path.rsplit("/", 1)[-1]}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n").encode() + data + f"\r\n--{edge}--\r\n".encode()
    status, _, answer = server.raw("/", body, {"Content-Type": f"multipart/form-data; boundary={edge}", **server.auth()},
                                   base=server.files)
    assert status == 200, answer
    return f"{server.files}/{urllib.parse.quote(path)}"


class Seed:
    """Tasks in every state, with curves (a spike, a run of NaN), console text, a plot, an image and an artifact."""

    def __init__(self, server):
        self.server, self.ids = server, {}
        self.project = server.call("projects.create", name="vision/segmentation", description="")["id"]
        self.queue = server.call("queues.create", name="train")["id"]
        server.call("queues.create", name="nightly")
        self.training("good", loss=0.2)
        self.training("better", loss=0.1, tags=["best"])
        self.failed()
        self.draft()
        self.running()
        self.published()
        self.waiting()

    def create(self, key, name, **extra):
        self.ids[key] = self.server.call("tasks.create", name=name, type="training", project=self.project, **extra)["id"]
        return self.ids[key]

    def params(self, lr="0.1"):
        def p(section, name, value, kind):
            return {"section": section, "name": name, "value": value, "type": kind}
        return {"General": {"lr": p("General", "lr", lr, "float"), "epochs": p("General", "epochs", "20", "int"),
                            "amp": p("General", "amp", "True", "bool"),
                            "size": {"section": "General", "name": "size", "value": ""}},
                "aug": {"crop/size": p("aug", "crop/size", "[512, 1024]", "list")}}

    def log(self, task, lines, start=None):
        start = start or int(time.time() * 1000)
        self.server.batch("events.add_batch", [
            {"type": "log", "task": task, "timestamp": start + i, "level": "info", "worker": "w0", "msg": m}
            for i, m in enumerate(lines)])

    def curve(self, task, metric, variant, values):
        now = int(time.time() * 1000)
        items = [{"type": "training_stats_scalar", "task": task, "iter": i, "timestamp": now + i * 10, "metric": metric,
                  "variant": variant, "value": v if math.isfinite(v) else "NaN"} for i, v in enumerate(values)]
        for i in range(0, len(items), 500):
            self.server.batch("events.add_batch", items[i:i + 500])

    def training(self, key, loss, tags=()):
        call = self.server.call
        task = self.create(key, f"segformer-{key}", tags=list(tags), hyperparams=self.params(str(loss)),
                           script={"repository": "git@example.org:acme/seg.git", "branch": "main", "version_num": "9e41c2d" * 5,
                                   "entry_point": "train.py", "working_dir": ".",
                                   "requirements": {"pip": "numpy==2.3.5\ntorch==2.8.0"},
                                   "diff": "diff --git a/train.py b/train.py\n--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-a\n+b\n"},
                           configuration={"model": {"name": "model", "type": "yaml", "value": "backbone: mit_b3\n"}})
        call("tasks.started", task=task)
        falling = [loss + math.exp(-i / 300) for i in range(2000)]
        falling[1500] = 9.0
        self.curve(task, "loss", "train", falling)
        self.curve(task, "loss", "val", [loss + 0.1 + math.exp(-i / 20) for i in range(100)])
        self.curve(task, "val", "mIoU", [1 - loss - math.exp(-i / 20) for i in range(100)])
        self.server.batch("events.add_batch", [
            {"type": "training_stats_scalar", "task": task, "iter": -2147483648, "metric": "Summary", "variant": "params_m",
             "value": 47.25, "timestamp": int(time.time() * 1000)}])
        self.curve(task, "optim", "grad_norm", [math.nan if 40 <= i < 60 else 1 + 1 / (i + 1) for i in range(100)])
        esc = "\x1b["
        self.log(task, [f"{esc}36mepoch{esc}0m {i} {esc}32mloss 0.{i:03}{esc}0m" for i in range(200)] + [
            "<script>window.hacked = 1</script><img src=x onerror=alert(1)>", "right \u202eto left", "needle in the hay",
            "UserWarning: this is slow",
            *[f"eval: {p:3}%|{'#' * (p // 10)}| {p}/100 [00:01<00:00, 9.3it/s]" for p in (10, 50, 100)]])
        classes = ["road", "person", "rider"]
        self.server.batch("events.add_batch", [
            {"type": "plot", "task": task, "iter": 0, "metric": "Confusion", "variant": "val", "plot_str": json.dumps({
                "data": [{"type": "heatmap", "x": classes, "y": classes, "z": [[90, 5, 5], [10, 80, 10], [1, 2, 97]]}],
                "layout": {"title": {"text": "Confusion matrix"}}})},
            {"type": "training_debug_image", "task": task, "iter": 3, "metric": "samples", "variant": "first",
             "key": "samples/first.png", "url": upload(self.server, f"seg/{key}.{task}/first.png", PNG)},
            {"type": "training_debug_image", "task": task, "iter": 3, "metric": "samples", "variant": "odd name",
             "key": "x", "url": upload(self.server, f"classification%2Fp1/50% a+b#c?.{task}/\u00fc.png", PNG)}])
        call("tasks.add_or_update_artifacts", task=task, artifacts=[
            {"key": "table", "type": "custom", "mode": "output", "uri": upload(self.server, f"seg/{key}.{task}/table.csv", b"a,b\n1,2\n"),
             "content_size": 8, "hash": "0" * 64, "timestamp": int(time.time()), "type_data": {"preview": "a,b\n1,2"}},
            {"key": "remote", "type": "custom", "mode": "output", "uri": "s3://bucket/remote.bin", "timestamp": int(time.time())},
            {"key": "evil", "type": "custom", "mode": "output", "uri": "javascript:alert(1)", "timestamp": int(time.time())}])
        model = call("models.create", name="the weights", uri=f"{self.server.files}/uploading_file", task=task, ready=False)["id"]
        for n in (10, 20, 30):
            call("models.edit", model=model, uri=upload(self.server, f"seg/{key}.{task}/models/epoch {n}.pt", b"x" * n))
        call("tasks.add_or_update_model", task=task, name="the weights", model=model, type="output")
        call("tasks.completed", task=task)

    def failed(self):
        task = self.create("failed", "unet-failed", hyperparams=self.params())
        self.server.call("tasks.started", task=task)
        self.log(task, ["starting", "Traceback (most recent call last):", '  File "train.py", line 1, in <module>', "KeyError: 'mask_path'"])
        self.server.call("tasks.failed", task=task, status_reason="exit code 1", status_message="KeyError: 'mask_path'")

    def draft(self):
        self.create("draft", "unet-draft", hyperparams=self.params(),
                    configuration={"model": {"name": "model", "type": "yaml", "value": "depth: 4\n"}})

    def running(self):
        task = self.create("running", "unet-running", hyperparams=self.params())
        self.server.call("tasks.started", task=task)
        self.server.call("tasks.edit", task=task, runtime={"progress": "42"}, force=True)
        self.curve(task, "loss", "train", [1 / (i + 1) for i in range(50)])
        self.log(task, [f"line {i}" for i in range(50)])

    def published(self):
        task = self.create("published", "unet-published", hyperparams=self.params())
        self.server.call("tasks.started", task=task)
        self.server.call("tasks.completed", task=task)
        self.server.call("tasks.publish", task=task)

    def waiting(self):
        task = self.create("queued", "unet-queued", hyperparams=self.params())
        self.server.call("tasks.enqueue", task=task, queue=self.queue)


@pytest.fixture(scope="session")
def browser():
    """The tools a journey needs: Node, the locked packages, Chromium."""
    if not shutil.which("node"):
        pytest.skip("node is not on PATH")
    if not shutil.which("chromium"):
        pytest.skip("chromium is not installed")
    subprocess.check_call(["sh", str(ROOT / "web" / "deps.sh")], stdin=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def seeded(tmp_path_factory, browser):
    server = Server(tmp_path_factory.mktemp("web")).start()
    server.seed = Seed(server)
    yield server
    assert server.stop() == 0, f"the server ended badly:\n{server.log_text()}"


def journey(name, server, folder, **facts):
    """Run journeys/<name>.mjs in a browser; what it finds wrong is the failure's text."""
    seed = getattr(server, "seed", None)
    facts = {"web": server.web, "files": server.files, "api": server.api, "access": server.access, "secret": server.secret,
             "shots": str(SHOTS), "project": getattr(seed, "project", ""), "queue": getattr(seed, "queue", ""),
             "ids": getattr(seed, "ids", {}), **facts}
    SHOTS.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["node", str(HERE / "run.mjs"), name], input=json.dumps(facts), text=True, capture_output=True,
                          timeout=GUARD * 4, cwd=folder)
    if done.returncode:
        pytest.fail(f"journey {name}\n{done.stdout}{done.stderr}", pytrace=False)
