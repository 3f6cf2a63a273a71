"""Time limits, and interruption."""

from __future__ import annotations

import contextlib
import threading

import pytest
from background import PrintedLine, acting
from begin_tool import Begin
from contract_declarations import behaviour
from contract_kinds import printed
from scripted_model import Script
from smolagents import CodeAgent

from smolagents_fork.errors import SandboxTimeoutError

ENDLESS = {
    "a loop": "while True:\n    pass",
    "a loop that catches": (
        "while True:\n    try:\n        while True:\n            pass\n"
        "    except BaseException:\n        pass"
    ),
    "sleep": "import time\ntime.sleep(600)",
}
#: Ends by no signal: Python looks for one after each call, and so last in the ``try`` block.
STUBBORN = (
    "import collections, itertools\nconsume, forever = collections.deque, itertools.repeat(None)\n"
    "try:\n    print('stubborn', flush=True)\nfinally:\n    consume(forever, maxlen=0)"
)


@behaviour(
    "Limits",
    "Code past timeout_seconds ends with a TimeoutError that names the limit; state is kept.",
)
@pytest.mark.parametrize("what", ["a loop", "sleep"])
def test_endless_code_is_stopped(contract, what):
    executor = contract.limited
    executor("kept = 'from before'")
    with pytest.raises(TimeoutError, match=str(contract.kind.timeout)):
        executor(f"print('printed')\n{ENDLESS[what]}")
    assert printed(executor) == "printed\n"
    assert executor("kept").output == "from before"


@behaviour("Limits", "Code that catches every exception still ends at its limit.")
def test_code_that_catches_everything_is_stopped(contract):
    executor = contract.limited
    with pytest.raises(TimeoutError, match=str(contract.kind.timeout)):
        executor(ENDLESS["a loop that catches"])
    assert executor("'next'").output == "next"


@behaviour(
    "Limits",
    "Code that does not stop within interrupt_grace_seconds is killed, and an error says so; the "
    "next call has tools, variables and files again.",
)
@pytest.mark.parametrize("end", ["limit", "interrupt"])
def test_code_that_does_not_stop_is_killed(contract, end):
    if contract.differs:
        assert not contract.takes("interrupt_grace_seconds")
        return
    seconds = contract.kind.timeout if end == "limit" else 600
    heard = PrintedLine()
    executor = contract.make(
        timeout_seconds=seconds,
        interrupt_grace_seconds=0.5,
        files={"data": b"given"},
        on_output=heard,
    )
    executor.send_variables({"given": [1, 2]})
    executor.put_file(b"changed", "data")
    executor("made = 1")
    interrupting = acting(heard.is_set, executor.interrupt)
    with (
        interrupting if end == "interrupt" else contextlib.nullcontext(),
        pytest.raises(SandboxTimeoutError) as caught,
    ):
        executor(STUBBORN)
    assert "did not stop within interrupt_grace_seconds=0.5 and was killed; its state is lost" in (
        str(caught.value)
    )
    assert ("interrupted by interrupt()" in str(caught.value)) is (end == "interrupt")
    assert printed(executor) == heard.text
    assert executor("given").output == [1, 2]
    assert executor.get_file("data") == b"given"
    with pytest.raises(Exception, match="NameError"):
        executor("made")


@behaviour("Limits", "The next call has the full time again.")
def test_each_call_has_its_own_time(contract):
    executor = contract.limited
    for _ in range(5):
        assert (
            executor(f"import time\ntime.sleep({contract.kind.timeout / 4})\n'slept'").output
            == "slept"
        )


@behaviour(
    "Interruption",
    "interrupt() from another thread ends running code; state is kept. It does nothing when idle.",
)
def test_interrupt_from_another_thread(contract):
    executor = contract.shared
    executor("kept = 'from before'")
    executor.interrupt()
    with (
        contract.once_begun(executor, executor.interrupt),
        pytest.raises(Exception, match="interrupted"),
    ):
        executor("begin()\nimport time\ntime.sleep(50)\nkept = 'ran on'")
    executor.interrupt()
    assert executor("kept").output == "from before"


@behaviour("Interruption", "interrupt() reaches a managed agent that works for the code.")
def test_interrupt_reaches_what_the_host_does(contract):
    class Working:
        """Like an agent: a call that lasts, and an interrupt()."""

        def __init__(self) -> None:
            self.begun, self.stopped = threading.Event(), threading.Event()

        def __call__(self, task: str) -> str:
            """Works.

            Args:
                task: what on.
            """
            self.begun.set()
            return "stopped" if self.stopped.wait(60) else "ran on"

        def interrupt(self) -> None:
            self.stopped.set()

    executor = contract.shared
    working = Working()
    executor.send_tools({"working": working})
    with (
        acting(working.begun.is_set, executor.interrupt),
        pytest.raises(Exception, match="interrupted"),
    ):
        executor("words = working('task')\nimport time\ntime.sleep(50)")
    assert working.stopped.is_set()


@behaviour("Interruption", "A tool limited by tool_timeout_seconds does not delay interrupt().")
def test_interrupt_does_not_wait_for_a_tool(contract):
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    def blocks() -> str:
        begun.set()
        release.wait(2 if contract.declared else 60)
        ended.set()
        return "dropped"

    executor = contract.limited
    executor.send_tools({"blocks": blocks, "count_one": lambda: 1})
    executor("kept = 'from before'")
    # The code can catch the tool's error, but cannot run on.
    code = "while True:\n    try:\n        blocks()\n    except Exception:\n        pass"
    try:
        with (
            acting(begun.is_set, executor.interrupt),
            pytest.raises(Exception, match="interrupted"),
        ):
            executor(code)
        # The tool's thread runs on, and its result is dropped.
        assert ended.is_set() is contract.differs
        assert executor("[kept, count_one()]").output == ["from before", 1]
    finally:
        release.set()
    assert ended.wait(60)
    assert executor("count_one()").output == 1


@behaviour("Interruption", "interrupt() also ends code that catches every exception.")
def test_interrupt_of_code_that_catches_everything(contract):
    # Interruption is the subject, and not the interpreter's budget.
    budget = {"max_operations": 10**12, "max_while_iterations": 10**12}
    executor = contract.make(
        timeout_seconds=120, **(budget if contract.kind.name == "local" else {})
    )
    with (
        contract.once_begun(executor, executor.interrupt),
        pytest.raises(Exception, match="interrupted"),
    ):
        executor("begin()\n" + ENDLESS["a loop that catches"])
    assert executor("'next'").output == "next"


@behaviour("Interruption", "agent.interrupt() reaches a running step.")
def test_agent_interrupt_reaches_a_running_step(contract):
    begun = threading.Event()
    agent = CodeAgent(
        tools=[Begin(begun)],
        model=Script("begin()\nimport time\ntime.sleep(50)", "final_answer('ran on')"),
        executor=contract.shared,
        verbosity_level=0,
    )
    with (
        acting(begun.is_set, agent.interrupt),
        pytest.raises(Exception, match="interrupted"),
    ):
        agent.run("go")
    assert "interrupted" in str(agent.memory.steps[-1].error)  # and not after the step
