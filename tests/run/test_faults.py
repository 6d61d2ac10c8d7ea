"""Every call of `stoker execute` without a daemon meets every kind of trouble on its way: the run ends as if nothing had been."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "agent"))
from daemon_bench import FAULTS, Proxy, config_by, queue_id  # noqa: E402
from test_execute import machine  # noqa: E402, F401

CALLS = ["auth.login", "tasks.get_all", "tasks.dequeue", "tasks.started", "tasks.get_by_id", "x_tasks.stage",
         "tasks.set_requirements", "events.add_batch", "tasks.completed"]


@pytest.mark.parametrize("fault", FAULTS)
def test_calls_in_trouble(machine, tmp_path, fault):  # noqa: F811
    """Found by its name, taken from its queue, with packages whose list goes back."""
    server, proxy = machine.server, Proxy(machine.server.api_port)
    for call in CALLS:
        proxy.fail(call, fault, 2)
    t = machine.task("for i in range(1000): print('line', i)", pip="six\n")
    server.call("tasks.edit", task=t, name=f"in trouble: {fault}", force=True)
    server.call("tasks.enqueue", task=t, queue=queue_id(server))
    conf = config_by(server, proxy, tmp_path / "proxy.conf")
    assert machine.run(f"in trouble: {fault}", "--require-queue", CLEARML_CONFIG_FILE=str(conf)) == 0, machine.err
    assert not proxy.failing and proxy.failed == dict.fromkeys(CALLS, 2)
    d = machine.get(t)
    assert (d["status"], d["status_reason"]) == ("completed", "worker execution done")
    assert [m for m in machine.log(t) if m.startswith("line ")] == [f"line {i}" for i in range(1000)]
    assert d["script"]["requirements"]["org_pip"] == "six\n" and "six==" in "".join(d["script"]["requirements"]["pip"])
    assert not list(machine.state.glob("runs/*"))
    proxy.cut()
