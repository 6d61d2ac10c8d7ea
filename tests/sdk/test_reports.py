"""What the unmodified SDK reports at the edges: no numbers, iterations that start elsewhere, names with every character,
a large table, weights saved again and again, a parameter that was None."""
import ast
import json
import re
import subprocess
import sys
import urllib.parse

import pytest

from conftest import wait_for

SDK = {"X-ClearML-Client": "clearml-2.1.12"}  # it reads bare NaN
ROWS, COLUMNS, WIDE = 50_000, 5, "-" * 60
REPORTS = f"""
import numpy
from clearml import Logger, OutputModel, Task

task = Task.init(project_name="classification/p 1", task_name="100% of a/b", output_uri=True, auto_connect_frameworks=False)
logger = task.get_logger()
Logger.set_reporting_nan_value(float("nan"))
Logger.set_reporting_inf_value(float("inf"))
for i, value in enumerate([1.0, float("nan"), float("inf"), 2.0]):
    logger.report_scalar("loss", "train", iteration=i, value=value)
logger.report_image("img/a b", "50%+", iteration=0, image=numpy.zeros((4, 4, 3), dtype=numpy.uint8))
rows = [[f"column {{k}}" for k in range({COLUMNS})]]
rows += [[f"{{i:05}} {{k}} {WIDE}" for k in range({COLUMNS})] for i in range({ROWS})]
logger.report_table("big", "table", iteration=0, table_plot=rows)
model = OutputModel(task=task, name="the weights")
for n in range(1, 6):
    open(f"epoch {{n}}.pt", "wb").write(b"w" * n)
    model.update_weights(f"epoch {{n}}.pt", auto_delete_file=False)
print("REPORTED", task.id, flush=True)
task.close()

offsets = {{"continue_last_task": 100}}, {{"continue_last_task": True}}, {{"continue_last_task": 0}}
task = Task.init(project_name="classification/p 1", task_name="goes on", auto_connect_frameworks=False)
print("WENT ON", task.id, flush=True)
task.get_logger().report_scalar("loss", "train", iteration=7, value=0)
task.close()
for n, how in enumerate(offsets):
    task = Task.init(project_name="classification/p 1", task_name="goes on", auto_connect_frameworks=False,
                     reuse_last_task_id=task.id, **how)
    task.get_logger().report_scalar("loss", "train", iteration=105, value=n + 1)
    task.close()
"""


def run(server, folder, script, config="", **env):
    (folder / "script.py").write_text(script)
    env = server.env(**env)
    with open(env["CLEARML_CONFIG_FILE"], "a") as f:
        f.write(config)
    done = subprocess.run([sys.executable, "script.py"], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def reported(shared_server, tmp_path_factory):
    """Ids of the two tasks. The SDK's own limit of a request stands where docs/server.md wants it."""
    out = run(shared_server, tmp_path_factory.mktemp("reports"), REPORTS, "api.http.max_req_size: 62914560\n")
    return re.search(r"REPORTED (\w+)", out)[1], re.search(r"WENT ON (\w+)", out)[1]


def download(server, url, base=None):
    status, _, body = server.raw("" if base is None else url, None, server.auth(), "GET", base=url if base is None else base)
    return status, body


def test_no_numbers_are_kept(shared_server, reported):
    h = shared_server.call("events.scalar_metrics_iter_histogram", task=reported[0], _headers=SDK)["loss"]["train"]
    assert h["x"] == [0, 1, 2, 3] and repr(h["y"]) == "[1.0, nan, inf, 2.0]"
    curve = [c for c in shared_server.call("x_events.scalars", task=reported[0])["series"] if c["metric"] == "loss"][0]
    assert curve["y"] == [1.0, None, None, 2.0] and curve["nan"] == [0, 1, 0, 0] and curve["inf"] == [0, 0, 1, 0]


def test_initial_iteration_is_added_by_the_client(shared_server, reported):
    """What is stored is what was sent, and the SDK sends the sum (docs/server.md, Iterations): 105 reported after 100 is 205,
    after "go on" from 205 it is 206 + 105, after 0 it is 105."""
    h = shared_server.call("events.scalar_metrics_iter_histogram", task=reported[1])["loss"]["train"]
    assert dict(zip(h["x"], h["y"])) == {7: 0, 205: 1, 311: 2, 105: 3}
    assert shared_server.call("tasks.get_by_id", task=reported[1])["task"]["last_iteration"] == 311


def test_images_of_odd_names_are_found(shared_server, reported):
    """By the address itself, and as the page asks for it: its path behind /files, encoded once as it was."""
    found = shared_server.call("events.debug_images", metrics=[{"task": reported[0]}], iters=1)["metrics"][0]["iterations"]
    url = found[0]["events"][0]["url"]
    assert (found[0]["events"][0]["metric"], found[0]["events"][0]["variant"]) == ("img/a b", "50%+")
    assert url.startswith(shared_server.files + "/classification/p%201/100%25")
    status, image = download(shared_server, url)
    assert status == 200 and image[:2] in (b"\xff\xd8", b"\x89P")
    assert download(shared_server, "/files" + urllib.parse.urlsplit(url).path, shared_server.web) == (200, image)


def test_a_large_table_is_stored_whole(shared_server, reported):
    plots = shared_server.call("events.get_task_plots", task=reported[0])["plots"]
    assert [(p["metric"], p["variant"]) for p in plots] == [("big", "table")] and plots[0]["plot_len"] > 16 << 20
    cells = json.loads(plots[0]["plot_str"])["data"][0]["cells"]["values"]
    assert [len(c) for c in cells] == [ROWS] * COLUMNS
    assert all(cells[k][i] == f"{i:05} {k} {WIDE}" for k in range(COLUMNS) for i in (0, 25_000, ROWS - 1))


def test_weights_saved_five_times(shared_server, reported):
    """One model; its last file is its own, the four before can be had; none is left when the task is deleted."""
    task = shared_server.call("tasks.get_by_id", task=reported[0])["task"]
    ids = {m["model"] for m in task["models"]["output"]}
    assert len(ids) == 1
    found = shared_server.call("x_models.versions", model=ids.pop())["versions"]
    assert [(v["size"], v["current"]) for v in found] == [(5, True), (4, False), (3, False), (2, False), (1, False)]
    assert [download(shared_server, v["uri"]) for v in found] == [(200, b"w" * n) for n in (5, 4, 3, 2, 1)]
    copy = shared_server.call("tasks.clone", task=reported[0])["id"]
    assert shared_server.call("tasks.get_by_id", task=copy)["task"]["models"]["output"] == []
    shared_server.call("tasks.delete", task=copy, force=True)  # takes nothing of the original with it
    assert all(download(shared_server, v["uri"])[0] == 200 for v in found)


def test_a_parameter_that_was_none_comes_back_as_a_list(shared_server, tmp_path):
    script = ("from clearml import Task\n"
              "task = Task.init(project_name='classification/p 1', task_name='sizes', auto_connect_frameworks=False)\n"
              "print('SIZE', repr(task.connect({'size': None})['size']), flush=True)\nprint('ID', task.id, flush=True)\n")
    out = run(shared_server, tmp_path, script)
    assert "SIZE None" in out
    source = re.search(r"ID (\w+)", out)[1]
    clone = json.loads(shared_server.cli("task", "clone", source, "--set", "General/size=[600, 500]", "--json").stdout)["id"]
    shared_server.call("tasks.started", task=clone, force=True)
    out = run(shared_server, tmp_path, script, CLEARML_TASK_ID=clone, TRAINS_TASK_ID=clone, CLEARML_LOG_TASK_TO_BACKEND="1")
    assert ast.literal_eval(re.search(r"SIZE (.*)", out)[1]) == [600, 500]


def test_nothing_is_left_of_a_deleted_task(shared_server, reported):
    task = shared_server.call("tasks.get_by_id", task=reported[0])["task"]
    model = task["models"]["output"][0]["model"]
    urls = [v["uri"] for v in shared_server.call("x_models.versions", model=model)["versions"]]
    image = shared_server.call("events.debug_images", metrics=[{"task": reported[0]}], iters=1)["metrics"][0]["iterations"]
    urls.append(image[0]["events"][0]["url"])
    assert [download(shared_server, u)[0] for u in urls] == [200] * 6
    shared_server.call("tasks.delete", task=reported[0], force=True)
    wait_for("the files to go", lambda: all(download(shared_server, u)[0] == 404 for u in urls))
