"""``before_run`` and ``before_tool``: functions of the host that are asked first."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from background import PATIENCE_SECONDS, acting
from contract_declarations import behaviour
from contract_parts import Counter
from scripted_model import Script
from smolagents import CodeAgent

from smolagents_fork import ProposedCall, ProposedRun, Refused


def double(number: int) -> int:
    return 2 * number


@behaviour(
    "Control",
    "before_run sees the whole code, and None lets it run; Refused is the step's error with its "
    "reason, and nothing runs.",
)
def test_refused_code_does_not_run(contract):
    seen: list[ProposedRun] = []

    def before_run(run: ProposedRun) -> None:
        seen.append(run)
        if "forbidden" in run.code:
            raise Refused("this agent has no forbidden names")

    executor = contract.make(before_run=before_run)
    code = "print('earlier')\n" + "kept = 1\n" * 300 + "kept + 1"
    assert executor(code).output == 2
    [run] = seen
    assert run.code == code
    assert run.executor == type(executor).__name__
    assert (run.agent_name, run.step_number, run.model_output) == (None, None, "")
    with pytest.raises(Exception, match="this agent has no forbidden names"):
        executor("kept = 2\nforbidden = 1")
    assert not str(executor.state["_print_outputs"])
    assert executor("kept").output == 1


@behaviour("Control", "A before_run that fails, or returns another value, refuses the code.")
def test_only_an_answer_allows(contract):
    answers: list[Any] = [False, True, 0, b"1", KeyError("missing")]

    def before_run(run: ProposedRun) -> Any:
        if "kept = 2" not in run.code:
            return None
        if isinstance(answers[0], Exception):
            raise answers[0]
        return answers[0]

    executor = contract.make(before_run=before_run)
    executor("kept = 1")
    while answers:
        with pytest.raises(Exception, match=r"before_run .* the code did not run"):
            executor("kept = 2")
        assert executor("kept").output == 1, answers
        answers.pop(0)


@behaviour("Control", "before_run and before_tool may be asynchronous.")
def test_asynchronous_answers(contract):
    async def before_run(run: ProposedRun) -> str | None:
        await asyncio.sleep(0)
        return "double(4)" if run.code == "0" else None

    async def before_tool(call: ProposedCall) -> None:
        await asyncio.sleep(0)
        if call.arguments["number"] > 4:
            raise Refused("too large")

    executor = contract.make(before_run=before_run, before_tool=before_tool)
    executor.send_tools({"double": double})
    assert executor("0").output == 8
    with pytest.raises(Exception, match="too large"):
        executor("double(5)")


@behaviour("Control", "before_tool sees the name of each tool and its arguments by parameter.")
def test_calls_are_shown_before_they_are_made(contract):
    seen: list[tuple[str, dict[str, Any]]] = []

    def before_tool(call: ProposedCall) -> None:
        seen.append((call.name, dict(call.arguments)))

    def mail(text: str, *, to: str = "team@example.org, by default", copies: list | None = None):
        return to

    counter = Counter(start=0)
    functions = {"double": double, "mail": mail}
    executor = contract.make(before_tool=before_tool, additional_functions=functions)
    executor.send_tools({"counter": counter, "final_answer": lambda answer: answer})
    code = "counter(1)\nmail('hello')\nfinal_answer(double(number=counter(step=2)))"
    assert executor(code).output == 6
    mailed = {"text": "hello", "to": "team@example.org, by default", "copies": None}
    assert seen == [
        ("counter", {"step": 1}),
        ("mail", mailed),
        ("counter", {"step": 2}),
        ("double", {"number": 3}),
        ("final_answer", {"answer": 6}),
    ]


@behaviour("Control", "Refused in before_tool is a PermissionError in the code; no tool is called.")
def test_refused_tool_is_not_called(contract):
    def before_tool(call: ProposedCall) -> None:
        if call.name == "counter":
            raise Refused("counting is over")

    counter = Counter(start=0)
    executor = contract.make(before_tool=before_tool)
    executor.send_tools({"counter": counter, "double": double})
    code = "try:\n    counter(1)\nexcept PermissionError as error:\n    found = str(error)\nfound"
    assert "before_tool refused counter(): counting is over" in executor(code).output
    assert executor("double(2)").output == 4
    assert counter.total == 0


@behaviour("Control", "A before_tool that fails, or returns a value, refuses the call.")
def test_only_none_allows_a_call(contract):
    answers = [
        lambda arguments: False,
        lambda arguments: "yes",
        lambda arguments: {}["missing"],
        lambda arguments: arguments.update(step=2),
        lambda arguments: arguments.clear(),
        lambda arguments: arguments.update(more=None),
    ]
    shown: list[str] = []

    def before_tool(call: ProposedCall) -> Any:
        shown.append(json.dumps(call.arguments))
        return answers[len(shown) - 1](call.arguments)

    counter = Counter(start=0)
    executor = contract.make(before_tool=before_tool)
    executor.send_tools({"counter": counter})
    for _ in answers:
        with pytest.raises(Exception, match=r"before_tool .*counter\(\) was not called"):
            executor("counter(1)")
    assert counter.total == 0
    assert shown == ['{"step": 1}'] * len(answers)


@behaviour("Control", "interrupt() ends the wait for an answer at once; nothing runs.")
@pytest.mark.parametrize("asked_about", ["run", "tool"])
def test_wait_for_an_answer_is_interrupted(contract, asked_about):
    begun = threading.Event()
    proposals: list[Any] = []

    def wait(proposal: Any) -> None:
        if asked_about == "run" and "marker" not in proposal.code:
            return
        proposals.append(proposal)
        begun.set()
        for _ in range(int(PATIENCE_SECONDS / 0.05)):
            if proposal.withdrawn:
                return
            threading.Event().wait(0.05)

    counter = Counter(start=0)
    executor = contract.make(**{f"before_{asked_about}": wait})
    executor.send_tools({"counter": counter})
    executor("kept = 1")
    with (
        acting(begun.is_set, executor.interrupt),
        pytest.raises(Exception, match="interrupt"),
    ):
        executor("marker = counter(1)")
    assert proposals[0].withdrawn
    assert counter.total == 0
    assert executor("kept").output == 1


@behaviour("Control", "cleanup() from another thread ends the wait for an answer.")
def test_wait_for_an_answer_ends_with_cleanup(contract):
    begun, ended = threading.Event(), threading.Event()

    def wait(run: ProposedRun) -> None:
        begun.set()
        while not run.withdrawn and not ended.wait(0.05):
            pass

    executor = contract.make(before_run=wait)
    try:
        with (
            acting(begun.is_set, executor.cleanup),
            pytest.raises(Exception, match=r"interrupt|closed|cleanup"),
        ):
            executor("1")
    finally:
        ended.set()


@behaviour("Control", "Waiting for an answer does not count as the code's time.")
def test_time_of_an_answer_is_not_the_codes(contract):
    def wait(_proposal: Any) -> None:
        threading.Event().wait(2.5)

    executor = contract.make(before_run=wait, before_tool=wait, timeout_seconds=2)
    executor.send_tools({"double": double})
    assert executor("double(2)").output == 4


@behaviour(
    "Control",
    "In an agent's step, before_run gets the agent, the step and the model's text; audit= names "
    "agent and step.",
)
def test_step_of_an_agent_is_known(contract):
    seen: list[ProposedRun | ProposedCall] = []
    lines: list[dict[str, Any]] = []
    asking = {"before_run": seen.append, "before_tool": seen.append}
    options = contract.agent_options(**asking, audit=lines.append)
    model = Script("kept = counter(2)", "final_answer(kept)")
    agent = contract.keep(
        CodeAgent(tools=[Counter(0)], model=model, name="clerk", verbosity_level=0, **options)
    )
    assert agent.run("go") == 2
    runs = [one for one in seen if isinstance(one, ProposedRun)]
    assert [(one.agent_name, one.step_number) for one in runs] == [("clerk", 1), ("clerk", 2)]
    assert "Thought: next." in runs[0].model_output
    calls = [one for one in seen if isinstance(one, ProposedCall)]
    assert [(one.name, one.step_number) for one in calls] == [("counter", 1), ("final_answer", 2)]
    steps = [(line["agent"], line["step"]) for line in lines if line["phase"] == "begin"]
    assert {("clerk", 1), ("clerk", 2)} <= set(steps)


@behaviour(
    "Control",
    "Code that before_run returns runs instead; the agent's memory has it, and the model is "
    "notified. A refused step is an observation for the model, which continues.",
)
def test_memory_has_changed_and_refused_code(contract):
    def before_run(run: ProposedRun) -> str | None:
        if "delete" in run.code:
            raise Refused("this agent deletes nothing")
        return "final_answer(4242)"

    options = contract.agent_options(before_run=before_run)
    model = Script("delete = 1", "broken")
    agent = contract.keep(CodeAgent(tools=[], model=model, verbosity_level=0, **options))
    assert agent.run("go") == 4242
    _, refused, changed = agent.memory.steps[:3]
    assert "this agent deletes nothing" in str(refused.error)
    assert changed.code_action == "final_answer(4242)"
    assert [call.arguments for call in changed.tool_calls] == ["final_answer(4242)"]
    told = "".join(str(message.content) for message in changed.to_messages())
    assert "final_answer(4242)" in told
