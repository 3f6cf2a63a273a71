"""``SMOLAGENTS_DEFAULT_EXECUTOR``: the executor of agents whose code names none."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import smolagents
from recording import RecordingExecutor
from smolagents import CodeAgent
from smolagents.monitoring import AgentLogger, LogLevel

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors import registry
from smolagents_fork.executors.agents.selection import VARIABLE


class Logger(AgentLogger):
    def __init__(self) -> None:
        super().__init__(level=LogLevel.OFF)
        self.lines: list[tuple[str, LogLevel]] = []

    def log(self, *args: Any, level: Any = LogLevel.INFO, **kwargs: Any) -> None:
        self.lines.append((str(args[0]), level))


def agent_with(model: Any, **kwargs: Any) -> CodeAgent:
    return CodeAgent(tools=[], model=model, logger=Logger(), **kwargs)


def logged(agent: CodeAgent) -> list[tuple[str, LogLevel]]:
    return [line for line in agent.logger.lines if VARIABLE in line[0]]


@pytest.fixture
def variable(monkeypatch):
    """Return a function that sets the variable; "recording" is a name."""
    monkeypatch.setitem(registry.BUILT_IN, "recording", "recording:RecordingExecutor")
    return lambda name: monkeypatch.setenv(VARIABLE, name)


def test_variable_decides_where_the_code_says_nothing(model, variable):
    variable("recording")
    agent = agent_with(model)
    assert type(agent.python_executor) is RecordingExecutor
    assert agent.executor_type == "recording"
    assert logged(agent) == [
        ("Code runs in RecordingExecutor: SMOLAGENTS_DEFAULT_EXECUTOR=recording", LogLevel.INFO)
    ]


@pytest.mark.parametrize("name", [None, "", "  "])
def test_without_the_variable_it_is_local(model, variable, monkeypatch, name):
    monkeypatch.delenv(VARIABLE, raising=False)
    if name is not None:
        variable(name)
    agent = agent_with(model)
    assert isinstance(agent.python_executor, smolagents.LocalPythonExecutor)
    assert agent.executor_type == "local"
    assert logged(agent) == []


def test_class_and_instance_override_the_variable(model, variable):
    variable("process")
    made = RecordingExecutor([], None)
    for given in ({"executor": made}, {"executor_class": RecordingExecutor}):
        agent = agent_with(model, **given)
        assert type(agent.python_executor) is RecordingExecutor
        assert agent.executor_type == "local"
        assert logged(agent) == []


@pytest.mark.parametrize(
    ("name", "arguments", "begin", "end"),
    [
        ("podman", {}, "executor_type='podman': ", "Available: blaxel, docker, e2b"),
        ("process", {"executor_kwargs": {"image_name": "x"}}, "", "no parameter 'image_name'"),
    ],
)
def test_error_is_the_usual_one_and_names_the_variable(
    model, variable, name, arguments, begin, end
):
    variable(name)
    with pytest.raises(ConfigurationError) as caught:
        agent_with(model, **arguments)
    message = str(caught.value)
    assert message.startswith(begin)
    assert end in message
    assert message.endswith(
        f" (executor_type comes from the variable SMOLAGENTS_DEFAULT_EXECUTOR={name})"
    )


class LocalByDefault(CodeAgent):
    def __init__(self, tools: Any, model: Any, executor_type: Any = "local", **kwargs: Any) -> None:
        super().__init__(tools=tools, model=model, executor_type=executor_type, **kwargs)


class Forwarding(CodeAgent):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


def test_explicit_local_overrides_the_variable_in_every_call(model, variable, tmp_path):
    saved = agent_with(model, executor_type="local")
    saved.save(str(tmp_path))
    variable("recording")
    names = [
        name
        for name, parameter in inspect.signature(CodeAgent).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    by_place: list[list[Any]] = []
    if "executor_type" in names:  # a release may take it by keyword only
        by_place.append([[], model, *[None] * (names.index("executor_type") - 2), "local"])
    agents = [
        *(CodeAgent(*one) for one in by_place),
        *(Forwarding(*one) for one in by_place),
        Forwarding([], model=model, executor_type="local"),
        LocalByDefault([], model),
        CodeAgent.from_dict(saved.to_dict()),
        CodeAgent.from_dict({**saved.to_dict(), "executor_type": None}, executor_type="local"),
        CodeAgent.from_folder(tmp_path),
    ]
    for agent in agents:
        assert isinstance(agent.python_executor, smolagents.LocalPythonExecutor)
        assert agent.executor_type == "local"


def test_variable_decides_for_subclasses_and_saved_agents_that_name_none(model, variable):
    dictionary = agent_with(model).to_dict()
    del dictionary["executor_type"]
    variable("recording")
    agents = [
        Forwarding([], model=model),
        LocalByDefault([], model=model, executor_type=None),
        CodeAgent.from_dict(dictionary),
        CodeAgent(
            [], model=model, **dict.fromkeys(["executor", "executor_type", "executor_kwargs"])
        ),
    ]
    assert {type(agent.python_executor) for agent in agents} == {RecordingExecutor}


def test_default_of_the_signature_is_not_explicit():
    parameters = inspect.signature(CodeAgent).parameters
    assert parameters["executor_type"].default is None
    assert parameters["stream_outputs"].default is False
