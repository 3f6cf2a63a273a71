"""Faults of the connection to a sandbox, and of its ends: the same for every engine."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from background import PrintedLine, acting, eventually, host_process
from far_engines import FarEngine, with_grouping
from fault_proxy import FaultProxy
from smolagents import tool
from smolagents.utils import AgentError
from web_servers import serving

from smolagents_fork import AllowedHost
from smolagents_fork.errors import ExecutorError, SandboxDiedError


def _open(request: pytest.FixtureRequest) -> Iterator[FarEngine]:
    if sys.platform == "win32":
        pytest.skip("the engines run on Linux")
    with contextlib.ExitStack() as stack:
        yield request.param[0](request, stack)


far_engine = pytest.fixture(params=with_grouping("as sent"), name="far_engine")(_open)
splitting_engine = pytest.fixture(params=with_grouping("bytes"), name="splitting_engine")(_open)
gathering_engine = pytest.fixture(params=with_grouping("gathered"), name="gathering_engine")(_open)

#: Length of a fault: attempts have their longest pause by then, and a lease has fifteen seconds.
FAULT_SECONDS = 3.0

FAULTS: dict[str, Callable[[FaultProxy], None]] = {
    "reset": lambda proxy: proxy.reset(refuse=True),
    "cut": FaultProxy.cut,
    "forgotten": lambda proxy: proxy.cut(silent=False),
    "frozen": FaultProxy.freeze,
}
every_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)


def for_a_while(proxy: FaultProxy, fault: Callable[[FaultProxy], None]) -> Callable[[], None]:
    """Return a function that causes a fault, and heals it after some seconds."""

    def act() -> None:
        fault(proxy)
        time.sleep(FAULT_SECONDS)
        proxy.heal()

    return act


@every_fault
def test_call_survives(far_engine: FarEngine, fault):
    printed = PrintedLine()
    executor = far_engine.make(on_output=printed)
    executor("runs = 0")
    code = (
        "import time\nruns += 1\nprint('begun', flush=True)\n"
        "for number in range(10):\n    time.sleep(0.5)\n    print(number)\nruns"
    )
    with acting(printed.is_set, for_a_while(far_engine.proxy, fault)):
        said = executor(code)
    assert said.output == 1
    assert said.logs == "begun\n" + "".join(f"{number}\n" for number in range(10))
    assert executor("runs").output == 1


@every_fault
def test_tool_call_survives(far_engine: FarEngine, fault):
    calls = []
    executor = far_engine.make()

    @tool
    def double(number: int) -> int:
        """Doubles a number.

        Args:
            number: any
        """
        calls.append(number)
        if number == 1:
            for_a_while(far_engine.proxy, fault)()
        return number * 2

    executor.send_tools({"double": double})
    assert executor("[double(number=n) for n in range(4)]").output == [0, 2, 4, 6]
    assert calls == [0, 1, 2, 3]


@pytest.mark.parametrize("fault", [FAULTS["reset"], FAULTS["cut"]], ids=["reset", "cut"])
def test_long_value_and_output_survive(far_engine: FarEngine, fault):
    executor = far_engine.make(max_print_outputs_length=30_000_000)
    executor("runs = 0")
    proxy, before = far_engine.proxy, far_engine.proxy.passed_bytes
    code = "runs += 1\nprint('x' * 10_000_000)\nprint('y' * 10_000_000)\nbytes(range(256)) * 80_000"
    # In the middle of what it sends.
    proxy.pass_at_most(before + 8_000_000)
    with acting(lambda: proxy.is_at_limit, for_a_while(proxy, fault)):
        said = executor(code)
    assert said.output == bytes(range(256)) * 80_000
    assert said.logs == "x" * 10_000_000 + "\n" + "y" * 10_000_000 + "\n"
    assert executor("runs").output == 1


@pytest.mark.parametrize("fault", [FAULTS["reset"], FAULTS["cut"]], ids=["reset", "cut"])
def test_long_variable_survives(far_engine: FarEngine, fault):
    executor = far_engine.make()
    proxy, value = far_engine.proxy, bytes(range(256)) * 80_000
    proxy.pass_at_most(proxy.passed_bytes + 8_000_000)
    with acting(lambda: proxy.is_at_limit, for_a_while(proxy, fault)):
        executor.send_variables({"value": value})
    assert executor("len(value), value[-256:] == bytes(range(256))").output == (20_480_000, True)


@pytest.mark.parametrize("fault", [FAULTS["reset"], FAULTS["cut"]], ids=["reset", "cut"])
def test_files_are_whole_or_an_error_says_so(far_engine: FarEngine, fault):
    executor = far_engine.make()
    proxy, content = far_engine.proxy, bytes(range(256)) * 40_000
    executor.put_file(b"older", "file")
    proxy.pass_at_most(proxy.passed_bytes + 4_000_000)
    with acting(lambda: proxy.is_at_limit, for_a_while(proxy, fault)):
        executor.put_file(content, "file")
    assert executor("len(open('file', 'rb').read())").output == len(content)
    proxy.pass_at_most(proxy.passed_bytes + 4_000_000)
    with acting(lambda: proxy.is_at_limit, for_a_while(proxy, fault)):
        assert executor.get_file("file") == content
    assert executor("import os\nos.listdir()").output == ["file"]


def test_listed_hosts_are_reached_after_a_cut(far_engine: FarEngine):
    with serving() as server:
        host = f"localhost:{server.port}"
        entry = AllowedHost(host, private=True)
        executor = far_engine.make(allowed_hosts=[entry])
        executor(
            "import os, urllib.request\n"
            "def get(path): return urllib.request.urlopen(path, timeout=60).read().decode()"
        )
        assert executor(f"get('http://{host}/a')").output == "got /a"
        for_a_while(far_engine.proxy, FaultProxy.cut)()
        assert executor(f"get('http://{host}/b')").output == "got /b"


def test_idle_sandbox_survives(far_engine: FarEngine):
    executor = far_engine.make()
    executor("kept = 5")
    for_a_while(far_engine.proxy, FaultProxy.cut)()
    assert executor.is_alive()
    assert executor("kept").output == 5


def test_interrupt_after_a_fault_stops_code_that_runs(far_engine: FarEngine):
    printed = PrintedLine()
    executor = far_engine.make(on_output=printed, interrupt_grace_seconds=60.0)
    executor("kept = 5")

    def act() -> None:
        for_a_while(far_engine.proxy, FAULTS["reset"])()
        executor.interrupt()

    with (
        acting(printed.is_set, act),
        pytest.raises(AgentError, match="interrupted"),
    ):
        executor("print('begun', flush=True)\nimport time\ntime.sleep(100)")
    assert executor("kept").output == 5


def test_bytes_that_come_one_by_one_change_nothing(splitting_engine: FarEngine):
    check_everything(splitting_engine)


def test_bytes_that_come_together_change_nothing(gathering_engine: FarEngine):
    check_everything(gathering_engine)


def check_everything(far_engine: FarEngine) -> None:
    """Send values and files both ways, call a tool, interrupt, and end the kernel."""
    printed = PrintedLine()
    executor = far_engine.make(on_output=printed, interrupt_grace_seconds=60.0)
    assert executor("print('ä€😀' * 1000)\n[0.5, 'ä', bytes(range(256))]").output == [
        0.5,
        "ä",
        bytes(range(256)),
    ]
    executor.put_file(bytes(range(256)) * 40, "file")
    assert executor.get_file("file") == bytes(range(256)) * 40
    with pytest.raises(ExecutorError, match="No such file"):
        executor.get_file("missing")
    executor.send_variables({"kept": {"text": "ä€😀" * 50, "numbers": [0.5, -1, 10**30]}})
    assert executor("kept").output == {"text": "ä€😀" * 50, "numbers": [0.5, -1, 10**30]}
    executor.send_tools({"double": lambda number: 2 * number})
    assert executor("[double(n) for n in range(5)]").output == [0, 2, 4, 6, 8]
    printed.text = ""
    with (
        acting(printed.is_set, executor.interrupt),
        pytest.raises(AgentError, match="interrupted"),
    ):
        executor("print('begun', flush=True)\nimport time\ntime.sleep(100)")
    with pytest.raises(SandboxDiedError, match="exit code 3"):
        executor("import os; os._exit(3)")
    assert executor("double(kept['numbers'][1])").output == -2


def test_fault_that_outlasts_the_lease_ends_the_state(far_engine: FarEngine):
    printed = PrintedLine()
    executor = far_engine.make(on_output=printed, lease_seconds=3.0)
    with (
        acting(printed.is_set, lambda: far_engine.proxy.reset(refuse=True)),
        pytest.raises(SandboxDiedError, match="its state is lost"),
    ):
        executor("print('begun', flush=True)\nimport time\ntime.sleep(100)")
    far_engine.proxy.heal()
    assert executor("1 + 1").output == 2


@pytest.mark.parametrize("moment", ["idle", "in a call"])
def test_killed_host_leaves_nothing_after_the_lease(far_engine: FarEngine, moment):
    call = "executor('import time; time.sleep(600)')\n" if moment == "in a call" else ""
    program = (
        f"{far_engine.host_program}executor('1')\nprint('ready', flush=True)\n"
        f"{call}import time\ntime.sleep(600)"
    )
    with host_process(program) as host:
        assert far_engine.list_sandboxes(host.pid)
        host.kill()
    assert eventually(lambda: not far_engine.list_sandboxes(host.pid))
