"""All an executor does, where what the engine says arrives byte by byte, or much of it at once."""

from __future__ import annotations

import os

import pytest
from background import acting, eventually
from docker_waiting import first_print, gone, set_options
from fault_proxy import FaultProxy
from smolagents import tool
from smolagents.utils import AgentError
from whole_contract import every

from smolagents_fork.errors import ExecutorError, SandboxDiedError, SandboxTimeoutError

# One that stops only if it is interrupted; the end is one that comes in any case.
BUSY = "print('begun', flush=True)\nimport time\nend = time.monotonic() + 300\n"
BUSY += "while time.monotonic() < end: pass"


@pytest.fixture(params=every(2, ["bytes", "gathered"]))
def regrouped(request, engine, monkeypatch):
    if not str(engine.api.base_url).startswith("http+docker"):
        pytest.skip("the engine is not on a local socket")
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    with FaultProxy(host.removeprefix("unix://"), request.param) as proxy:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{proxy.port}")
        yield proxy


@tool
def double(number: int) -> int:
    """Doubles a number.

    Args:
        number: any
    """
    return number * 2


def files(executor):
    for content in (b"", b"x", bytes(range(256)) * 40):
        executor.put_file(content, "folder/f")
        assert executor.get_file("folder/f") == content
    with pytest.raises(ExecutorError, match="No such file"):
        executor.get_file("missing")
    with pytest.raises(ExecutorError, match="more than 10 bytes"):
        executor.get_file("folder/f", max_bytes=10)
    with pytest.raises(ExecutorError, match="it is a folder"):
        executor.put_file(b"x", "folder")


def test_behaviour_is_independent_of_packet_boundaries(make, regrouped, engine):
    executor = make(timeout_seconds=240, interrupt_grace_seconds=120)
    executor("kept = [1]")

    said = executor(
        "for n in range(300): print(n)\nimport sys\nprint('err', file=sys.stderr)\nkept"
    )
    assert said.output == [1]
    assert said.logs.count("\n") == 301
    assert said.logs.startswith("0\n1\n")
    assert "err\n" in said.logs
    with pytest.raises(AgentError, match="ZeroDivisionError"):
        executor("print('printed before')\n1/0")
    assert executor.state["_print_outputs"] == "printed before\n"

    values = {"data": bytes(range(256)) * 8, "text": "ä€😀" * 50, "numbers": [0.5, -1, 10**30]}
    executor.send_variables({"values": values})
    assert executor("values").output == values

    executor.send_tools({"double": double})
    assert executor("[double(number=n) for n in range(5)]").output == [0, 2, 4, 6, 8]

    files(executor)
    executor._sandbox._streams = False  # and as where no stream can be attached
    files(executor)
    executor._sandbox._streams = True

    options = executor.options
    with (
        acting(first_print(executor).is_set, executor.interrupt),
        pytest.raises(AgentError, match=r"interrupted by interrupt\(\)"),
    ):
        executor(BUSY)
    set_options(executor, timeout_seconds=0.5)
    with pytest.raises(SandboxTimeoutError, match="state kept"):
        executor(BUSY)
    set_options(executor, timeout_seconds=options.timeout_seconds)
    assert executor("kept").output == [1]

    with pytest.raises(SandboxDiedError, match="exit code 3"):
        executor("print('printed before')\nimport os; os._exit(3)")
    assert executor.state["_print_outputs"] == "printed before\n"
    assert executor("double(number=values['numbers'][1])").output == -2

    container = executor.container
    executor.restart()
    assert executor("double(number=4)").output == 8
    assert executor.container.id != container.id
    assert eventually(lambda: gone(engine, container.name))

    container = executor.container
    engine.api.kill(container.id)
    with pytest.raises(SandboxDiedError, match=f"sandbox {container.short_id} ended"):
        executor("import time; time.sleep(100)")
    assert executor("double(number=5)").output == 10
    container = executor.container
    executor.delete()
    assert gone(engine, container.name)
