"""Every call of a run meets every kind of trouble on its way, more than once: the run ends as if nothing had been."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from conftest import wait_for  # noqa: E402
from daemon_bench import (  # noqa: E402, F401
    COUNTER, FAULTS, Daemon, Proxy, carriers, check_counted, config_by, daemons, lines, make_task, wait_console,
    wait_status)

TIMES = 2
SELDOM = ("server.info", "x_tasks.watch")  # asked for again after a second: once is enough


def times(call):
    return 1 if call in SELDOM else TIMES


CALLS = ["auth.login", "workers.status_report", "tasks.get_by_id", "server.info", "events.add_batch", "x_tasks.stage",
         "x_tasks.watch", "tasks.ping", "tasks.completed"]
PLAIN_CALLS = ["tasks.started", "tasks.get_all"]
START_CALLS = ["auth.login", "queues.get_all", "server.info", "workers.register"]
QUICK = {"CLEARML_AGENT_STATUS_REPORT_FREQ_SEC": "0.2", "CLEARML_AGENT_QUEUE_POLL_FREQ_SEC": "0.1"}
ONCE = "open({folder!r} + '/runs', 'a').write('x')\n"


def daemon_through(server, folder, plain):
    """A daemon whose only way to the server leads through a proxy: (server, proxy, daemon)."""
    proxy = Proxy(server.api_port, plain)
    conf = config_by(server, proxy, folder / "proxy.conf")
    with open(conf, "a") as more:
        more.write("agent.task_ping_interval_sec: 0.1\n")
    d = Daemon(server, folder, ("--queue", "plain" if plain else "default"), conf=conf, env=QUICK).ready()
    yield server, proxy, d
    d.end()
    proxy.cut()


@pytest.fixture(scope="module")
def through(shared_server, tmp_path_factory):
    yield from daemon_through(shared_server, tmp_path_factory.mktemp("through"), plain=False)


@pytest.fixture(scope="module")
def through_plain(shared_server, tmp_path_factory):
    yield from daemon_through(shared_server, tmp_path_factory.mktemp("plain"), plain=True)


def check_run(way, folder, calls, fault, queue="default"):
    """A task that says numbered lines and goes on until all calls have got through: it has run once, all of it is there,
    nothing is left."""
    server, proxy, d = way
    for call in calls:
        proxy.fail(call, fault, times(call))
    task = make_task(server, (ONCE + COUNTER).format(folder=str(folder)), queue=queue)
    wait_for("the task to run", lambda: lines(folder) > 20)
    run = d.journals()[task]["run"]
    wait_for("the trouble", lambda: set(proxy.failing) <= {"tasks.completed"})
    (folder / "enough").touch()
    assert wait_status(server, task)["status"] == "completed"
    check_counted(server, task)
    assert (folder / "runs").read_text() == "x"
    wait_for("the run's folder to go", lambda: not d.journals())
    assert carriers(run) == []
    assert not proxy.failing and {call: proxy.failed[call] for call in calls} == {call: times(call) for call in calls}
    assert d.process.poll() is None


@pytest.mark.parametrize("fault", FAULTS)
def test_calls_in_trouble(through, tmp_path, fault):
    server, proxy, _ = through
    proxy.fail("x_queues.claim", fault, TIMES)
    assert wait_status(server, make_task(server, "print('before')"))["status"] == "completed"  # by the claim that waits already
    check_run(through, tmp_path, CALLS, fault)
    assert proxy.failed["x_queues.claim"] == TIMES


@pytest.mark.parametrize("fault", FAULTS)
def test_calls_of_every_server_in_trouble(through_plain, tmp_path, fault):
    proxy = through_plain[1]
    if not FAULTS[fault][0]:  # what it has taken from a queue, and the answer is lost, nobody can ask for again
        proxy.fail("queues.get_next_task", fault, TIMES)
        wait_for("the trouble of an idle agent", lambda: not proxy.failing)  # the one that was under way may take a task
        assert proxy.failed["queues.get_next_task"] == TIMES
    check_run(through_plain, tmp_path, PLAIN_CALLS, fault, queue="plain")


@pytest.mark.parametrize("fault", [f for f in FAULTS if f != "401"])  # that one is told at once
def test_start_in_trouble(shared_server, daemons, tmp_path, fault):
    """The first calls of an agent are patient for as long as a server takes to start anew."""
    proxy = Proxy(shared_server.api_port)
    for call in START_CALLS:
        proxy.fail(call, fault, TIMES)
    d = daemons(shared_server, "--queue", "default", conf=config_by(shared_server, proxy, tmp_path / "proxy.conf")).ready()
    assert not proxy.failing and proxy.failed == dict.fromkeys(START_CALLS, TIMES)
    d.process.terminate()
    assert d.wait() == 254
    proxy.cut()


@pytest.mark.parametrize("fault", ["no answer", "500", "503 later", "401"])
def test_what_is_said_of_tasks_does_not_wait_for_reports(server, daemons, tmp_path, fault):
    proxy = Proxy(server.api_port)
    proxy.fail("workers.status_report", fault, sys.maxsize)
    d = daemons(server, "--queue", "default", conf=config_by(server, proxy, tmp_path / "proxy.conf"), env=QUICK).ready()
    wait_for("reports in trouble", lambda: proxy.failed["workers.status_report"] > 2)
    task = make_task(server, "print('said')")
    assert wait_status(server, task)["status"] == "completed"
    wait_console(server, task, f"task {task} pulled from default by worker box:cpu:0")
    proxy.failing.clear()
    wait_for("the report", lambda: server.call("workers.get_all")["workers"][0].get("queues"))
    d.end()
    assert d.text().count("report of box:cpu:0: POST") + d.text().count("report of box:cpu:0: workers") == 1
    proxy.cut()


@pytest.mark.parametrize("fault", ["no answer", "500", "503 later", "404 html"])
def test_abort_asks_for_the_callback_until_it_is_told(through, tmp_path, fault):
    """A task that has asked for time at its abort has it, also when the server does not say so at once."""
    server, proxy, d = through
    task = make_task(server, COUNTER.format(folder=str(tmp_path)))
    wait_for("the task to run", lambda: lines(tmp_path) > 5)
    server.call("tasks.edit", task=task, force=True, runtime={"_abort_callback_timeout": "600", "_abort_poll_freq": "1"})
    proxy.fail("tasks.get_all", fault, TIMES)
    server.call("tasks.stop", task=task)
    wait_for("the question to be answered", lambda: not proxy.failing)
    before = lines(tmp_path)
    wait_for("the task to go on", lambda: lines(tmp_path) > before + 20)
    server.call("tasks.edit", task=task, force=True, runtime={"_abort_callback_completed": 1})
    assert wait_status(server, task)["status"] == "stopped"
    assert not (tmp_path / "enough").exists()
    wait_for("the run's folder to go", lambda: not d.journals())
