"""Calls of a managed agent: what each puts into the agent ends with it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from recording import RecordingExecutor
from scripted_model import ScriptedModel
from smolagents import CodeAgent, ToolCallingAgent, tool
from smolagents.utils import AgentError

ANSWER = "<code>final_answer(data)</code>"


def helper_with(*answers: str, **options: Any) -> CodeAgent:
    return CodeAgent(
        model=ScriptedModel(*answers),
        name="helper",
        description="Helps.",
        verbosity_level=0,
        **{"tools": [], "max_steps": 1, **options},
    )


def test_variables_end_with_a_call_that_failed(model):
    helper = helper_with(executor_class=RecordingExecutor)
    helper.model.answers = []
    with pytest.raises(AgentError):
        helper("one", additional_args={"data": 41})
    assert helper.state == {}
    assert helper.python_executor.variables == {"data": None}


@pytest.mark.parametrize("executor", ["local", "process"])
def test_removal_of_variables_is_neither_asked_about_nor_recorded(executor):
    asked, lines = [], []
    helper = helper_with(
        ANSWER,
        executor_type=executor,
        executor_kwargs={"before_run": lambda run: asked.append(run.code), "audit": lines.append},
    )
    with helper:
        assert "41" in helper("one", additional_args={"data": 41, "len": 1})
        assert asked == ["final_answer(data)"]
        assert [line["phase"] for line in lines if line["event"] == "run"] == ["begin", "end"]
        with pytest.raises(Exception, match="data"):
            helper.python_executor("data")
        if executor == "process":
            helper.python_executor.restart()
        assert helper.python_executor("len('ab')").output == 2


def test_run_of_the_host_keeps_its_variables():
    helper = helper_with(ANSWER)
    assert helper.run("one", additional_args={"data": 41}) == 41
    assert helper.state == {"data": 41}


@tool
def lookup(word: str) -> str:
    """Look up a word.

    Args:
        word: to look up.
    """
    return word


@pytest.mark.parametrize("executor", ["local", "process"])
def test_prompt_has_a_short_form_of_what_would_take_minutes_to_print(executor):
    """The work of an array's text doubles with each dimension, and callers may be hostile."""
    prompts: list[str] = []

    class Reader(ScriptedModel):
        def generate(self, messages: Any, **kwargs: Any) -> Any:
            prompts.append(str([message.content for message in messages[1:]]))
            return super().generate(messages, **kwargs)

    helper = helper_with()
    helper.model = Reader(*[ANSWER.replace("data", "1")] * 2)
    manager = CodeAgent(
        tools=[],
        model=ScriptedModel(
            "<code>import numpy\ndata = numpy.zeros((2,) * 20, dtype='int8')\n"
            "helper('one', additional_args={'data': data})\nhelper(data)</code>",
            "<code>final_answer('done')</code>",
        ),
        managed_agents=[helper],
        additional_authorized_imports=["numpy"],
        executor_type=executor,
        verbosity_level=0,
    )
    with manager:
        assert manager.run("go") == "done"
    assert manager.memory.steps[1].error is None
    assert "<dict, too large for its text: {'data': ndarray of shape" in prompts[0]
    assert "<ndarray, too large for its text: ndarray of shape" in prompts[1]
    assert max(map(len, prompts)) < 50_000


WRONG = [
    (5, TypeError, "helper() takes additional_args as a dict of variables, not as int"),
    ({5: 5}, TypeError, "helper(): additional_args has the name 5; use text"),
    *(
        (
            {name: 5},
            ValueError,
            f"helper(): additional_args has the name {name!r}, which Python reserves; use another",
        )
        for name in ("__builtins__", "__name__", "__import__")
    ),
    *(
        (
            {name: 5},
            ValueError,
            f"helper(): additional_args has the name {name!r} of a tool of that agent; use another",
        )
        for name in ("final_answer", "lookup", "web")
    ),
    *(
        (
            {"fine": 1, name: 5},
            ValueError,
            f"helper(): additional_args has the name {name!r}, which code cannot write; "
            "use an identifier",
        )
        for name in ("class", "False", "a b", "", "1x", "\ufb01nal_answer")
    ),
]


@pytest.mark.parametrize(("given", "error", "message"), WRONG)
def test_names_of_variables_are_checked(given, error, message):
    web = ToolCallingAgent([], model=ScriptedModel(), name="web", description="Searches.")
    helper = helper_with(
        "<code>final_answer(lookup('fine'))</code>", tools=[lookup], managed_agents=[web]
    )
    with pytest.raises(error) as raised:
        helper("one", additional_args=given)
    assert str(raised.value) == message
    assert "fine" in helper("two")


class MeetingExecutor(RecordingExecutor):
    """Waits in its first call until it may go on."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.seen: list[dict[str, Any]] = []

    def __call__(self, code_action: str) -> Any:
        self.seen.append(dict(self.variables))
        self.begun.set()
        assert self.may_end.wait(60)
        return super().__call__(code_action)


def test_calls_at_once_follow_one_another(model):
    helper = helper_with("<code>1</code>", "<code>2</code>", executor_class=MeetingExecutor)
    executor = helper.python_executor
    calls = [
        threading.Thread(target=helper, args=(name,), kwargs={"additional_args": {name: name}})
        for name in ("one", "two")
    ]
    calls[0].start()
    assert executor.begun.wait(60)
    calls[1].start()
    calls[1].join(0.5)
    assert calls[1].is_alive()
    executor.may_end.set()
    for call in calls:
        call.join(60)
    assert executor.seen == [{"one": "one"}, {"two": "two"}]


def test_waiting_call_is_interrupted(model):
    helper = helper_with("<code>1</code>", executor_class=MeetingExecutor)
    executor, errors = helper.python_executor, []

    def second() -> None:
        try:
            helper("two")
        except AgentError as error:
            errors.append(str(error))

    first, waiting = threading.Thread(target=helper, args=("one",)), threading.Thread(target=second)
    first.start()
    assert executor.begun.wait(60)
    waiting.start()
    helper.interrupt()
    waiting.join(60)
    executor.may_end.set()
    first.join(60)
    assert errors == ["Agent interrupted."]
