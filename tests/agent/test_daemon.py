"""The daemon against the real server: its tasks, who is who among daemons, exit codes, other servers, containers."""
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from conftest import GUARD, STOKER, CallError, free_ports, wait_for  # noqa: E402
from daemon_bench import (  # noqa: E402, F401
    COUNTER, Proxy, carriers, children, config_by, console, daemons, make_task, queue_id, task_of, wait_console, wait_status)


# -- life -----------------------------------------------------------------------------------------------------------------

def t_started(task):
    """ms"""
    return datetime.datetime.fromisoformat(task["started"]).timestamp() * 1000


def test_runs_a_task(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default").ready()
    task = make_task(server, "print('hello from', __file__)")
    t = wait_status(server, task)
    assert t["status"] == "completed", console(server, task)
    assert t["status_reason"] == "worker execution done"
    assert t["last_worker"] == "box:cpu:0"
    text = console(server, task)
    (daemon,) = d.status()["daemons"]
    assert daemon["started"] < t_started(t), "since when it runs, not when it wrote last"
    assert "hello from" in text and "Process completed successfully" in text
    wait_console(server, task, f"task {task} pulled from default by worker box:cpu:0")  # the agent's own word, beside the run's
    wait_for("the run's folder to go", lambda: not d.journals())
    assert f"Running task '{task}'" in d.text() and f"DONE: Running task '{task}', exit status 0" in d.text()


def test_worker_reports(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default", "other queue", env={"CLEARML_AGENT_STATUS_REPORT_FREQ_SEC": "0.2"},
                ).ready()
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))

    def worker():
        found = [w for w in server.call("workers.get_all")["workers"] if w["id"] == "box:cpu:0"]
        return found[0] if found else {}
    wait_for("the report of the task", lambda: worker().get("task", {}).get("id") == task)
    w = worker()
    assert [q["name"] for q in w["queues"]] == ["default", "other queue"]
    assert w["queue"]["name"] == "default"

    def stats():
        try:
            keys = server.call("workers.get_metric_keys")["categories"]
        except Exception:
            return None
        return {c["name"]: c["metric_keys"] for c in keys}
    found = wait_for("machine statistics", lambda: (s := stats()) and "cpu" in s and "memory" in s and s)
    assert "cpu_usage" in found["cpu"] and {"memory_used", "memory_free"} <= set(found["memory"])
    (tmp_path / "enough").touch()
    wait_status(server, task, "completed")
    wait_for("the report without a task", lambda: not worker().get("task"))
    d.process.terminate()
    assert d.wait() == 254
    assert worker() == {}


def test_exit_codes_become_statuses(server, daemons):
    daemons(server, "--queue", "default").ready()
    rows = [("import sys; sys.exit(3)", "failed", "exit code 3"),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "failed", "exit code -9"),
            ("import sys; sys.exit(254)", "stopped", "user abort"),
            ("raise ValueError('no')", "failed", "exit code 1")]
    tasks = [make_task(server, script) for script, _, _ in rows]
    for task, (_, status, reason) in zip(tasks, rows):
        t = wait_status(server, task)
        assert (t["status"], reason in t["status_reason"]) == (status, True), t["status_reason"]


def test_two_at_once(server, daemons, tmp_path):
    """Each waits for what the other does: they end only if they run at the same time."""
    script = """
import os, time
open({mine!r}, "w").close()
while not os.path.exists({other!r}):
    time.sleep(0.01)
print("worker", os.environ["CLEARML_WORKER_ID"], flush=True)
"""
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    d = daemons(server, "--queue", "default", "--slots", "2").ready()
    tasks = [make_task(server, script.format(mine=a, other=b)), make_task(server, script.format(mine=b, other=a))]
    ends = [wait_status(server, t) for t in tasks]
    assert [t["status"] for t in ends] == ["completed"] * 2
    assert {t["last_worker"] for t in ends} == {"box:cpu:0:s0", "box:cpu:0:s1"}
    assert d.status()["daemons"][0]["slots"] == 2


def test_order_of_queues(server, daemons, tmp_path):
    """First queue first; with --order-fairness in turn."""
    script = f"open({str(tmp_path / 'order')!r}, 'a').write({{!r}} + ' ')"
    for q in ("first", "second"):
        for i in range(3):
            make_task(server, script.format(f"{q[0]}{i}"), queue=q)
    d = daemons(server, "--queue", "first", "second").ready()
    wait_for("all six", lambda: (tmp_path / "order").exists() and len((tmp_path / "order").read_text().split()) == 6)
    assert (tmp_path / "order").read_text().split() == ["f0", "f1", "f2", "s0", "s1", "s2"]
    d.end()
    (tmp_path / "order").unlink()
    for q in ("first", "second"):
        for i in range(3):
            make_task(server, script.format(f"{q[0]}{i}"), queue=q)
    daemons(server, "--queue", "first", "second", "--order-fairness").ready()
    wait_for("all six", lambda: (tmp_path / "order").exists() and len((tmp_path / "order").read_text().split()) == 6)
    assert (tmp_path / "order").read_text().split() == ["f0", "s0", "f1", "s1", "f2", "s2"]


def test_queue_deleted_and_made_anew(server, daemons):
    """A queue that goes away does not keep its neighbours from being served, and is found again under its name."""
    first, _ = queue_id(server, "first"), queue_id(server, "second")
    daemons(server, "--queue", "first", "second", create=False).ready()
    server.call("queues.delete", queue=first, force=True)
    assert wait_status(server, make_task(server, "print(2)", queue="second"))["status"] == "completed"
    again = make_task(server, "print(1)", queue="first")
    assert queue_id(server, "first") != first
    assert wait_status(server, again)["status"] == "completed"


# -- who is who -----------------------------------------------------------------------------------------------------------

def test_ids_and_stop_by_queue(server, daemons, tmp_path):
    """Two daemons without GPU flags get slots; --stop --queue means the one of that queue."""
    first = daemons(server, "--queue", "queue a").ready()
    second = daemons(server, "--queue", "queue b").ready()
    names = {x["worker"]: x["queues"] for x in first.status()["daemons"]}
    assert names == {"box:cpu:0": "queue a", "box:cpu:1": "queue b"}
    assert first.agent("stop").returncode == 1  # which one?
    assert first.agent("daemon", "--stop", "--queue", "queue b", "--cpu-only").returncode == 0
    assert second.wait() == 254
    assert first.process.poll() is None
    assert first.agent("daemon", "--stop").returncode == 1  # without --cpu-only another kind is meant
    assert first.agent("daemon", "--stop", "box:cpu:0").returncode == 0
    assert first.wait() == 254


@pytest.mark.parametrize("env, prefix", [
    ({}, "box"), ({"CLEARML_CPU_ONLY": "true"}, "box:cpu"), ({"NVIDIA_VISIBLE_DEVICES": "void"}, "box")])
def test_stop_by_queue_without_any_flag(server, daemons, env, prefix):
    """What a daemon is may stand in the configuration or the environment: --stop reads it as the start did."""
    first = daemons(server, "--queue", "queue a", env=env, flags=()).ready()
    second = daemons(server, "--queue", "queue b", env=env, flags=()).ready()
    names = {x["worker"]: x["queues"] for x in first.status()["daemons"]}
    assert names == {f"{prefix}:0": "queue a", f"{prefix}:1": "queue b"}
    stopped = second.agent("daemon", "--queue", "queue b", "--stop")
    assert stopped.returncode == 0, stopped.stderr
    assert second.wait() == 254
    assert first.process.poll() is None


def test_stop_of_gpus_from_the_environment(server, daemons):
    env = {"NVIDIA_VISIBLE_DEVICES": "1", "STOKER_NVML": FAKE_DRIVER}
    one = daemons(server, "--queue", "queue a", env=env, flags=()).ready()
    assert [x["worker"] for x in one.status()["daemons"]] == ["box:gpu1"]
    stopped = one.agent("daemon", "--stop")
    assert stopped.returncode == 0, stopped.stderr
    assert one.wait() == 254


def test_two_on_one_gpu(server, daemons, tmp_path):
    """The second is told who has its id, and what to do; with an id of its own it shares the GPU."""
    env = {"STOKER_NVML": "/nonexistent.so"}
    first = daemons(server, "--queue", "default", "--gpus", "1", env=env).ready()
    refused = daemons(server, "--queue", "default", "--gpus", "1", env=env)
    assert refused.wait() == 1
    assert "'box:gpu1' runs here already" in refused.text() and "CLEARML_WORKER_ID" in refused.text()
    second = daemons(server, "--queue", "second", "--gpus", "1", env={**env, "CLEARML_WORKER_ID": "box:gpu1:b"}).ready()
    assert {x["worker"] for x in first.status()["daemons"]} == {"box:gpu1", "box:gpu1:b"}
    show = f"import os; open({str(tmp_path / 'seen')!r}, 'a').write(os.environ['CUDA_VISIBLE_DEVICES'] + ' ')"
    ends = [wait_status(server, make_task(server, show, queue=q)) for q in ("default", "second")]
    assert [(t["status"], t["last_worker"]) for t in ends] == [("completed", "box:gpu1"), ("completed", "box:gpu1:b")]
    assert (tmp_path / "seen").read_text() == "1 1 "
    assert second.agent("daemon", "--stop", "box:gpu1:b").returncode == 0
    assert second.wait() == 254 and first.process.poll() is None


FAKE_DRIVER = str(pathlib.Path(STOKER).resolve().parent / "src" / "io" / "libnvml_fake.so")  # of devices 0, 1 and 2


@pytest.mark.parametrize("words, env, code, told", [
    (("--gpus", "7"), {}, 1, "--gpus: no GPU 7 here: there are 3: 0 (Fake), 1 (Fake), 2 (Fake)"),
    (("--gpus", "1-3"), {}, 1, "--gpus: no GPU 3 here"),
    (("--gpus", "GPU-bbbb"), {}, 1, "--gpus: no GPU GPU-bbbb here"),
    ((), {"CUDA_VISIBLE_DEVICES": "0,7"}, 1, "CUDA_VISIBLE_DEVICES: no GPU 7 here"),
    ((), {"NVIDIA_VISIBLE_DEVICES": "7"}, 1, "NVIDIA_VISIBLE_DEVICES: no GPU 7 here"),
    (("--gpus", "0;1"), {}, 2, "--gpus: '0;1' is no GPU")])
def test_gpus_that_are_not_there(server, daemons, words, env, code, told):
    """They are refused with what there is, before anybody hears of the worker; on a start nobody can see, too."""
    refused = daemons(server, "--queue", "default", *words, env={"STOKER_NVML": FAKE_DRIVER, **env}, flags=())
    assert (refused.wait(), told in refused.text()) == (code, True), refused.text()
    assert server.call("workers.get_all")["workers"] == []
    done = subprocess.run([STOKER, "agent", "daemon", "--detached", "--queue", "default", *words], env=refused.env,
                          capture_output=True, text=True, timeout=GUARD)
    assert (done.returncode, told in done.stderr) == (code, True)


def test_gpus_that_are_there(server, daemons, tmp_path):
    """Numbers, ranges, UUIDs and MIG devices; a container's runtime was told the host's numbers, of which tasks see nothing."""
    show = f"import os; open({str(tmp_path / 'seen')!r}, 'w').write(str(os.environ.get('CUDA_VISIBLE_DEVICES')))"
    for words, env, worker, seen in (
            (("--gpus", "0-1"), {}, "box:gpu0,1", "0,1"), (("--gpus", "all"), {}, "box:gpuall", "None"),
            (("--gpus", "GPU-aaaa0001"), {}, "box:gpuGPU-aaaa0001", "GPU-aaaa0001"),
            (("--gpus", "2:1"), {}, "box:gpu2.1", "2:1"), (("--gpus", "none"), {}, "box:cpu:0", "none"),
            ((), {"NVIDIA_VISIBLE_DEVICES": "5", "STOKER_NVML_FAKE_DEVICES": "1"}, "box:gpu5", "None")):
        d = daemons(server, "--queue", "default", *words, env={"STOKER_NVML": FAKE_DRIVER, **env}, flags=()).ready()
        t = wait_status(server, make_task(server, show))
        assert (t["status"], t["last_worker"], (tmp_path / "seen").read_text()) == ("completed", worker, seen)
        d.end()


def gpu_metrics(server, worker):
    try:
        keys = server.call("workers.get_metric_keys", worker_ids=[worker])["categories"]
    except CallError:
        return []
    return [k for c in keys if c["name"] == "gpu" for k in c["metric_keys"]]


def test_gpus_that_came_without_the_container_runtime(server, daemons):
    """NVIDIA_VISIBLE_DEVICES=void says only that the runtime added none; what the driver shows is reported. The task sees
    what the agent saw."""
    daemons(server, "--queue", "default", flags=(), env={"NVIDIA_VISIBLE_DEVICES": "void", "STOKER_NVML": FAKE_DRIVER,
                                                         "CLEARML_AGENT_STATUS_REPORT_FREQ_SEC": "0.2"}).ready()
    wait_for("use of GPUs", lambda: "gpu_usage" in gpu_metrics(server, "box:0"))
    task = make_task(server, "import os; print('seen', os.environ.get('NVIDIA_VISIBLE_DEVICES'), "
                             "os.environ.get('CUDA_VISIBLE_DEVICES'))")
    wait_status(server, task, "completed")
    assert "seen void None" in console(server, task)


def test_same_id_is_refused(server, daemons, tmp_path):
    first = daemons(server, "--queue", "default", env={"CLEARML_WORKER_ID": "mine:own"}).ready()
    second = daemons(server, "--queue", "default", env={"CLEARML_WORKER_ID": "mine:own"})
    assert second.wait() == 1
    assert "mine:own" in second.text() and "already" in second.text()
    first.process.kill()  # a crash frees the id at once
    first.process.wait()
    daemons(server, "--queue", "default", env={"CLEARML_WORKER_ID": "mine:own"}).ready()


def test_gpu_lists(server, daemons, tmp_path):
    """Worker ids and what the task sees; ranges; a queue whose name has a space. No driver: nobody knows, which is said."""
    show = f"import os; open({str(tmp_path / 'seen')!r}, 'w').write(os.environ['CUDA_VISIBLE_DEVICES'])"
    for words, worker, seen in (("0,10,11", "box:gpu0,10,11", "0,10,11"), ("2-4", "box:gpu2,3,4", "2,3,4"),
                                ("0:1", "box:gpu0.1", "0:1")):
        d = daemons(server, "--queue", "my queue", "--gpus", words, env={"STOKER_NVML": "/nonexistent.so"}).ready()
        t = wait_status(server, make_task(server, show, queue="my queue"))
        assert (t["status"], t["last_worker"]) == ("completed", worker)
        assert (tmp_path / "seen").read_text() == seen
        assert f"--gpus: there is no NVIDIA driver here to ask whether {seen} exists; taken as it stands" in d.text()
        d.process.terminate()
        assert d.wait() == 254


def test_exit_codes(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default").ready()

    def run(*words, program=(STOKER, "agent"), **env):
        return subprocess.run([*program, *words], env={**d.env, **env}, capture_output=True, text=True, timeout=GUARD)
    link = tmp_path / "clearml-agent"
    link.symlink_to(STOKER)
    for program in ((STOKER, "agent"), (str(link),)):
        assert run(program=program).returncode == 0
        assert run("--help", program=program).returncode == 0
        assert run("--version", program=program).stdout.startswith("CLEARML-AGENT version ")
        assert run("worker", program=program).returncode == 2
        assert run("daemon", "--no-such-option", program=program).returncode == 2
        missing = run("daemon", "--queue", "no such queue", "--foreground", program=program)
        assert (missing.returncode, "no such queue" in missing.stderr) == (1, True)
        assert run("--config-file", "/nonexistent.conf", "list", program=program).returncode == 1
        assert run("daemon", "--status", program=program).returncode == 0
        assert run("execute", program=program).returncode == 2
        assert "box:cpu:0" in run("list", program=program).stdout
    wrong = run("daemon", "--queue", "default", "--foreground", CLEARML_API_SECRET_KEY="wrong")
    assert wrong.returncode == 1
    assert "credentials" in wrong.stderr and "wrong" not in wrong.stderr
    (nowhere,) = free_ports(1)
    away = run("daemon", "--queue", "default", "--foreground", CLEARML_API_HOST=f"http://127.0.0.1:{nowhere}")
    assert (away.returncode, str(nowhere) in away.stderr) == (1, True)
    bad = tmp_path / "bad.conf"
    bad.write_text(server.config().read_text() + "\nagent.worker_id: ${NOT_SET_ANYWHERE}\n")
    at = bad.read_text().splitlines().index("agent.worker_id: ${NOT_SET_ANYWHERE}") + 1
    for words in (("daemon", "--queue", "default", "--foreground"), ("list",), ("config",)):
        told = run(*words, CLEARML_CONFIG_FILE=str(bad))
        assert told.returncode == 1 and f"bad.conf:{at}: ${{NOT_SET_ANYWHERE}}" in told.stderr, told.stderr
    shown = run("config").stdout
    as_json = json.loads(run("config", "--json").stdout)
    assert as_json["api.api_server"] == server.api and as_json["api.credentials.secret_key"] == "****"
    assert {f"{k} = {json.dumps(v)}" for k, v in as_json.items()} == {x for x in shown.splitlines() if not x.startswith("#")}
    assert [w["id"] for w in json.loads(run("list", "--json").stdout)] == ["box:cpu:0"]
    assert server.secret not in shown and server.access in shown


def test_secrets_of_the_daemon_are_told_nobody(server, daemons, tmp_path):
    """What it was given by flags, the environment and the file stands in no log, no console and no file of its own."""
    conf = tmp_path / "secrets.conf"
    conf.write_text(server.config().read_text() + 'agent.git.extra_credentials: [{host: h, user: u, pass: "S3CRET-a"}]\n'
                    'sdk.aws.s3 { key: "S3CRET-b", secret: "S3CRET-c" }\n'
                    'agent.extra_docker_arguments: ["--env=AWS_SECRET_ACCESS_KEY=S3CRET-d", "-eDB_PASSWORD=S3CRET-e", '
                    '"-e", "API_TOKEN=S3CRET-f", "--env", "PLAIN=shown"]\n')
    conf.chmod(0o600)
    d = daemons(server, "--queue", "default", "--git-user", "robot", "--git-pass", "S3CRET-g", "--log-level", "DEBUG", conf=conf,
                env={"CLEARML_EXTRA_PIP_INSTALL_FLAGS": "--extra-index-url=http://u:S3CRET-h@127.0.0.1:9/simple"}).ready()
    task = make_task(server, "print('ran')")
    assert wait_status(server, task)["status"] == "completed"
    shown = d.agent("config")
    assert shown.returncode == 0 and "PLAIN=shown" in shown.stdout
    told = {"log": d.text(), "console": console(server, task), "config": shown.stdout + shown.stderr,
            "list": d.agent("list").stdout, "status": json.dumps(d.status()), "task": json.dumps(task_of(server, task)),
            **{str(p): p.read_text(errors="replace") for p in (tmp_path / "state").rglob("*") if p.is_file()}}
    for where, text in told.items():
        for secret in ("S3CRET", server.secret):
            assert secret not in text, f"{where}: {text[max(0, text.index(secret) - 60):][:120]}"


def test_detached_and_its_log(server, daemons, tmp_path):
    d = daemons(server, "--queue", "default")
    d.end()
    done = subprocess.run([STOKER, "agent", "daemon", "--detached", "--queue", "default", "--cpu-only"], env=d.env,
                          capture_output=True, text=True, timeout=GUARD)
    assert done.returncode == 0
    path = pathlib.Path(done.stdout.strip().rsplit(" ", 1)[1])
    assert path.stat().st_mode & 0o777 == 0o600
    try:
        task = make_task(server, "print('in the background')")
        assert wait_status(server, task)["status"] == "completed"
        wait_for("its log", lambda: f"DONE: Running task '{task}'" in path.read_text())
    finally:
        assert d.agent("stop").returncode == 0


# -- another server -------------------------------------------------------------------------------------------------------

def test_server_without_our_calls(server, daemons, tmp_path):
    """It polls as the reference agent does."""
    proxy = Proxy(server.api_port, plain=True)
    conf = config_by(server, proxy, tmp_path / "proxy.conf")
    d = daemons(server, "--queue", "empty", "default", conf=conf,
                env={"CLEARML_AGENT_QUEUE_POLL_FREQ_SEC": "0.1"}).ready()
    task = make_task(server, "print('polled')")
    assert wait_status(server, task)["status"] == "completed"
    assert "polled\n" in console(server, task)
    assert any(b"queues.get_next_task" in h for h in proxy.seen)
    assert not any(b"x_queues.claim" in h for h in proxy.seen)
    d.end()
    proxy.cut()


# -- as process 1 of a container ------------------------------------------------------------------------------------------

def test_orphans_of_process_one_are_reaped(server, daemons, tmp_path):
    """The supervisor dies, what it leaves becomes ours: killed, and none of it stays a zombie."""
    unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        pytest.skip("this machine does not let us make process namespaces")
    d = daemons(server, "--queue", "default", program=[*unshare, STOKER, "agent", "daemon"])
    script = f"""
import subprocess, time
for _ in range(5):
    subprocess.Popen(["sleep", "100000"], start_new_session=True)
open({str(tmp_path / 'begun')!r}, "w").close()
time.sleep(100000)
"""
    task = make_task(server, script)
    wait_for("the task to run", lambda: (tmp_path / "begun").exists())
    (one,) = children(d.process.pid)
    run = d.journal(task, "child")["run"]
    supervisor = next(p for p in carriers(run) if p in children(one))
    assert len(carriers(run)) >= 7  # supervisor, script, five sleepers
    os.kill(supervisor, signal.SIGKILL)
    assert wait_status(server, task)["status"] == "failed"
    wait_for("the last process", lambda: not carriers(run))
    assert wait_status(server, make_task(server, "print('next')"))["status"] == "completed"
    wait_for("all zombies to be reaped", lambda: "Z" not in children(one).values())
    os.kill(one, signal.SIGTERM)
    assert d.wait() == 254
