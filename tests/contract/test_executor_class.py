"""``CodeAgent(executor_class=...)``: the choice of an agent's executor, and refused arguments."""

from __future__ import annotations

import importlib.metadata
import inspect
import re
import sys
import typing
from typing import Any

import pytest
import smolagents
from recording import RecordingExecutor
from smolagents import CodeAgent
from smolagents.local_python_executor import PythonExecutor
from smolagents.remote_executors import RemotePythonExecutor

import smolagents_fork
from smolagents_fork.errors import ConfigurationError, ConfigurationTypeError
from smolagents_fork.executors import registry
from smolagents_fork.executors.agents.selection import can_serve_managed_agents

#: Built-in executors of upstream's that the fork has none of its own for.
UPSTREAMS_OWN: frozenset[str] = frozenset()


class FalsyExecutor(RecordingExecutor):
    def __len__(self) -> int:
        return 0


class RemoteExecutor(RemotePythonExecutor):
    """An executor that must be refused before its constructor runs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pytest.fail("started")


class RemoteThatCan(RecordingExecutor, RemotePythonExecutor):
    supports_managed_agents = True


class LocalThatCannot(RecordingExecutor):
    supports_managed_agents = False


def agent_with(model: Any, **kwargs: Any) -> CodeAgent:
    return CodeAgent(tools=[], model=model, verbosity_level=0, **kwargs)


def test_class_is_called_with_imports_logger_and_kwargs(model):
    agent = agent_with(
        model,
        executor_class=RecordingExecutor,
        executor_kwargs={"size": 3},
        additional_authorized_imports=["numpy"],
    )
    assert isinstance(agent.python_executor, RecordingExecutor)
    assert agent.python_executor.arguments == (["numpy"], agent.logger, {"size": 3})


class LoggerByKeyword(RecordingExecutor):
    def __init__(self, additional_imports: Any, *, size: int = 1, logger: Any) -> None:
        super().__init__(additional_imports, logger, size=size)


class OptionalLogger(RecordingExecutor):
    def __init__(self, imports: Any, *, logger: Any = None, size: int = 1) -> None:
        super().__init__(imports, logger, size=size)


@pytest.mark.parametrize("executor_class", [LoggerByKeyword, OptionalLogger])
def test_class_that_takes_the_logger_by_keyword_only_is_given_it(model, executor_class):
    chosen = {"executor_class": executor_class, "additional_authorized_imports": ["numpy"]}
    agent = agent_with(model, **chosen, executor_kwargs={"size": 3})
    assert agent.python_executor.arguments == (["numpy"], agent.logger, {"size": 3})
    with pytest.raises(ConfigurationError, match=r"executor_kwargs\['logger'\]: the agent passes"):
        agent_with(model, **chosen, executor_kwargs={"logger": None})


@pytest.mark.parametrize(
    ("constructor", "parameters"),
    [
        (lambda self, imports, **options: pytest.fail("called"), "(imports, **options)"),
        (lambda self, imports, *, log=None: pytest.fail("called"), "(imports, *, log=None)"),
        (lambda self: pytest.fail("called"), "()"),
    ],
)
def test_class_that_does_not_take_what_agents_give_is_refused(model, constructor, parameters):
    own = type("Own", (RecordingExecutor,), {"__init__": constructor})
    with pytest.raises(ConfigurationTypeError) as caught:
        agent_with(model, executor_class=own)
    assert str(caught.value) == (
        "Own is called with (additional_authorized_imports, logger, **executor_kwargs), and takes "
        f"{parameters}; it needs these parameters"
    )


def test_local_executor_is_given_the_agents_logger(model):
    agent = agent_with(model)
    assert agent.python_executor.logger is agent.logger
    with pytest.raises(ConfigurationError, match=r"executor_kwargs\['logger'\]: the agent passes"):
        agent_with(model, executor_kwargs={"logger": agent.logger})


def test_falsy_instance_is_taken(model):
    executor = FalsyExecutor([], None)
    assert not executor
    agent = agent_with(model, executor=executor, executor_type="e2b")
    assert agent.python_executor is executor


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"executor": RecordingExecutor},
            TypeError,
            "executor=RecordingExecutor is a class, not an instance; write "
            "executor_class=RecordingExecutor",
        ),
        (
            {"executor_class": int},
            TypeError,
            "executor_class=int is not a PythonExecutor; derive it: "
            "class int(smolagents.PythonExecutor)",
        ),
        (
            {"executor_class": "docker"},
            TypeError,
            "executor_class='docker' is not a class, but of type str; write "
            "executor=<the instance>, executor_type=<a name>, or "
            "executor_class=<the class> with executor_kwargs={...}",
        ),
        (
            {"executor": "docker"},
            TypeError,
            "executor='docker' is text, not an instance; write executor_type='docker'",
        ),
    ],
)
def test_wrong_type_is_refused_with_advice(model, arguments, error, message):
    with pytest.raises(error) as caught:
        agent_with(model, **arguments)
    assert str(caught.value) == message
    assert isinstance(caught.value, ConfigurationTypeError)
    assert not RecordingExecutor.made


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"executor_kwargs": ["memory"]}, r"executor_kwargs=\['memory'\]: pass a mapping"),
        (
            {"executor_type": "docker", "executor_kwargs": {"additional_imports": ["six"]}},
            r"executor_kwargs\['additional_imports'\]: the agent passes its own "
            "additional_authorized_imports to the executor; write additional_authorized_imports=",
        ),
        (
            {"executor_type": "process", "executor_kwargs": {"logger": None}},
            r"executor_kwargs\['logger'\]: the agent passes its own logger",
        ),
        (
            {"executor": FalsyExecutor([], None), "executor_kwargs": {"memory": "1g"}},
            r"executor_kwargs=\{'memory': '1g'\} are for an executor that the agent creates; pass "
            r"them to FalsyExecutor\(...\)",
        ),
        (
            {"executor_class": smolagents_fork.ProcessExecutor, "executor_type": "docker"},
            "both executor_class=ProcessExecutor and executor_type='docker' are passed; pass only",
        ),
        (
            {"executor": FalsyExecutor([], None), "executor_class": RecordingExecutor},
            "both executor=FalsyExecutor instance and executor_class=RecordingExecutor are passed",
        ),
    ],
    ids=[
        "no mapping", "imports", "logger", "instance with arguments", "class and type",
        "instance and class",
    ],
)  # fmt: skip
def test_keywords_that_cannot_be_the_executors(model, arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        agent_with(model, **arguments)


@pytest.mark.parametrize("name", ["Docker", "dokcer", " docker"])
def test_misspelt_type_gets_the_nearest_name(model, name):
    with pytest.raises(ConfigurationError, match=r"Did you mean 'docker'\? Available"):
        agent_with(model, executor_type=name)


def test_type_must_be_text(model):
    with pytest.raises(TypeError, match="executor_type=3 is not a name"):
        agent_with(model, executor_type=3)


# Managed agents


@pytest.mark.parametrize("remote", [RemoteExecutor, LocalThatCannot])
def test_class_that_cannot_serve_managed_agents_is_never_started(model, managed, remote):
    with pytest.raises(ConfigurationError) as caught:
        agent_with(model, executor_class=remote, managed_agents=[managed])
    text, advice = str(caught.value).split("use an executor that can: ")
    assert text == (
        f"{remote.__name__} cannot serve managed agents (here: helper): its class does not set "
        "supports_managed_agents = True. Managed agents are not yet supported with remote "
        "code execution there; "
    )
    names = re.findall(r"'(\w+)'", advice)
    assert names == ["docker", "process", "wasm"]
    assert all(can_serve_managed_agents(registry.built_in(name)) for name in names)
    assert not RecordingExecutor.made


def test_instance_that_cannot_serve_managed_agents_is_refused(model, managed):
    with pytest.raises(ConfigurationError, match="LocalThatCannot cannot serve managed agents"):
        agent_with(model, executor=LocalThatCannot([], None), managed_agents=[managed])


@pytest.mark.parametrize("able", [RecordingExecutor, RemoteThatCan])
def test_class_that_can_serve_managed_agents_gets_them(model, managed, able):
    agent = agent_with(model, executor_class=able, managed_agents=[managed])
    agent.run("anything")
    assert agent.python_executor.tools["helper"] is managed


# Plug-ins


def test_entry_points_are_found_by_name_and_only_the_requested_one_is_loaded(model, plug_ins):
    entries = ("plugged = plugins_module:Plugged", "made = plugins_module:factory")
    plug_ins(*entries)
    plug_ins("bomb = bombs_module:X", name="bombs", source="raise SystemExit('loaded')")
    agent = agent_with(model, executor_type="plugged", executor_kwargs={"a": 1})
    assert type(agent.python_executor).__name__ == "Plugged"
    assert agent.python_executor.arguments == ([], agent.logger, {"a": 1})
    agent = agent_with(model, executor_type="made")
    assert agent.python_executor.arguments[2] == {"made_by": "factory"}
    assert "bombs_module" not in sys.modules


def test_factory_function_cannot_be_known_to_serve_managed_agents(model, managed, plug_ins):
    plug_ins("made = plugins_module:factory")
    with pytest.raises(ConfigurationError, match="cannot serve managed agents"):
        agent_with(model, executor_type="made", managed_agents=[managed])


@pytest.mark.parametrize(
    ("entry", "error", "words"),
    [
        (
            "chosen = plugins_module:broken",
            TypeError,
            "executor_type='chosen' returned str, which is not a Python",
        ),
        (
            "chosen = plugins_module:Gone",
            ValueError,
            r"entry point 'plugins_module:Gone' could not be loaded",
        ),
        ("chose = plugins_module:Plugged", ValueError, r"Available: .*local.*chose"),
    ],
    ids=["not an executor", "not there", "another name"],
)
def test_entry_point_that_makes_no_executor_says_why(model, plug_ins, entry, error, words):
    plug_ins(entry)
    with pytest.raises(error, match=words):
        agent_with(model, executor_type="chosen")


def test_duplicate_name_lists_both_and_loads_neither(model, plug_ins):
    plug_ins("twin = plugins_module:Plugged")
    plug_ins("twin = others_module:Plugged", name="others")
    with pytest.raises(ValueError, match="is offered by 2 entry points") as caught:
        agent_with(model, executor_type="twin")
    assert "plugins_module:Plugged (from plugins)" in str(caught.value)
    assert "others_module:Plugged (from others)" in str(caught.value)
    assert not {"plugins_module", "others_module"} & set(sys.modules)


def test_built_in_name_overrides_an_entry_point(model, plug_ins):
    plug_ins("local = plugins_module:Plugged")
    assert isinstance(agent_with(model).python_executor, smolagents.LocalPythonExecutor)


# Code written for upstream


def test_subclass_that_overrides_creation_decides(model):
    class Own(CodeAgent):
        def create_python_executor(self) -> PythonExecutor:
            return RecordingExecutor([], "own")

    agent = Own(tools=[], model=model, executor_type="my-own-name", verbosity_level=0)
    assert agent.python_executor.arguments[1] == "own"


def test_subclass_that_extends_creation_gets_the_forks_executor(model, monkeypatch):
    class Extended(CodeAgent):
        def create_python_executor(self) -> PythonExecutor:
            return super().create_python_executor()

    # A name that upstream's own method refuses.
    monkeypatch.setitem(registry.BUILT_IN, "process", "recording:RecordingExecutor")
    agent = Extended(tools=[], model=model, executor_type="process", verbosity_level=0)
    assert type(agent.python_executor) is RecordingExecutor


def test_names_are_upstreams_and_two_more():
    """A release that adds a built-in executor, by signature or entry point, fails this test."""
    annotation = inspect.signature(CodeAgent).parameters["executor_type"].annotation
    entries = importlib.metadata.distribution("smolagents").entry_points
    upstreams = {
        *(typing.get_args(annotation) or ("local", "blaxel", "docker", "e2b", "modal")),
        *entries.select(group=registry.ENTRY_POINT_GROUP).names,
    }
    assert upstreams - UPSTREAMS_OWN | {"process", "wasm"} == set(registry.BUILT_IN)


@pytest.fixture
def upstream_with_a_sixth_executor(monkeypatch):
    """Upstream's method as a later release may have it."""

    def create_python_executor(self):
        if self.executor_type not in {"local", "docker", "new-cloud"}:
            raise ValueError(f"Unsupported executor type: {self.executor_type}")
        return RecordingExecutor([], self.executor_type, **self.executor_kwargs)

    monkeypatch.setattr(CodeAgent, "create_python_executor", create_python_executor)


@pytest.mark.usefixtures("upstream_with_a_sixth_executor")
def test_new_executor_of_upstream_works_by_its_name(model):
    agent = agent_with(model, executor_type="new-cloud", executor_kwargs={"size": 3})
    assert agent.python_executor.arguments == ([], "new-cloud", {"size": 3})
    assert agent_with(model).python_executor.__class__ is smolagents.LocalPythonExecutor


def test_error_of_upstreams_executor_is_not_taken_for_an_unknown_name(model, monkeypatch):
    def create_python_executor(self):
        raise ValueError("no key for the cloud")

    monkeypatch.setattr(CodeAgent, "create_python_executor", create_python_executor)
    with pytest.raises(ValueError, match="no key for the cloud"):
        agent_with(model, executor_type="new-cloud")


def test_keyword_comes_last_so_that_positional_arguments_keep_their_place():
    by_place = [
        name
        for name, parameter in inspect.signature(CodeAgent.__init__).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    assert "executor_class" not in by_place[:-1]
