"""Questions in the middle of what else may happen: signals, threads, options that do not fit."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from background import acting

from smolagents_fork import DockerExecutor, ProposedCall, ProposedRun, Refused
from smolagents_fork.control.control import Control
from smolagents_fork.control.proposals import AgentStep, stepping
from smolagents_fork.errors import ConfigurationError, ExecutorError, ProgramRefusedError


def allow(control: Control, code: str) -> None:
    with control.run(code):
        pass


def test_error_of_a_signals_handler_is_not_the_functions():
    class FromHandler(Exception):
        pass

    begun = threading.Event()
    given: list[ProposedRun] = []

    def wait(run: ProposedRun) -> None:
        given.append(run)
        begun.set()
        while not run.withdrawn:
            threading.Event().wait(0.05)

    def handler(_number: int, _frame: object) -> None:
        raise FromHandler

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        asked = Control("Executor", wait, None)
        main = threading.main_thread().ident
        assert main is not None
        with (
            acting(begun.is_set, lambda: signal.pthread_kill(main, signal.SIGUSR1)),
            pytest.raises(FromHandler),
        ):
            allow(asked, "1")
        assert given[0].withdrawn
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_questions_of_several_threads_are_asked_one_by_one():
    at_once, most = 0, 0

    def before_tool(_call: ProposedCall) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        threading.Event().wait(0.01)
        at_once -= 1

    asked = Control("Executor", None, before_tool)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: asked.before_call("tool", {"n": n}), range(16)))
    assert most == 1


def test_interruption_ends_the_wait_for_another_threads_question():
    begun = threading.Event()

    def wait(call: ProposedCall) -> None:
        begun.set()
        while not call.withdrawn:
            threading.Event().wait(0.05)

    asked = Control("Executor", None, wait)
    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(asked.before_call, "tool", {"n": n}) for n in range(2)]
        assert begun.wait(60)
        asked.interrupt()
        asked.interrupt()
        for call in calls:
            # The second may come to be asked between both, and is withdrawn too.
            while not call.done():
                asked.interrupt()
            assert isinstance(call.exception(), TimeoutError)


def test_step_is_that_of_the_innermost_agent():
    seen: list[ProposedRun] = []
    asked = Control("Executor", seen.append, None)
    with stepping(AgentStep("outer", 1, "")):
        with stepping(AgentStep("inner", 4, "text")):
            allow(asked, "1")
        allow(asked, "2")
    allow(asked, "3")
    assert [(run.agent_name, run.step_number) for run in seen] == [
        ("inner", 4),
        ("outer", 1),
        (None, None),
    ]


def test_tools_in_the_sandbox_are_not_asked_about():
    with pytest.raises(ConfigurationError, match="before_tool with tool_placement"):
        DockerExecutor(before_tool=print, tool_placement={"search": "sandbox"})


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (["cut \ud83d here"], "cut \ufffd here"),
        ([""], "no reason was given"),
        ([], "no reason was given"),
        (["x" * 100_000], None),
    ],
    ids=["surrogate", "empty", "none", "long"],
)
def test_reasons_are_text_that_can_be_sent(reason, text):
    def refuse(_: object) -> None:
        raise Refused(*reason)

    def leave(_: object) -> None:
        raise SystemExit(*reason)

    with pytest.raises(ProgramRefusedError) as caught:
        allow(Control("Executor", refuse, None), "1")
    said = [str(caught.value)]
    if text is not None:
        assert said == [f"before_run refused this code: {text}"]
    before_call = Control("Executor", None, refuse).before_call
    assert before_call is not None
    with pytest.raises(Refused) as refused:
        before_call("tool", {})
    said.append(str(refused.value))
    with pytest.raises(ExecutorError, match="before_run raised SystemExit") as failed:
        allow(Control("Executor", leave, None), "1")
    said.append(str(failed.value))
    assert text is None or "; the code did not" in said[-1]
    assert all(len(message.encode()) < 60_000 for message in said)
