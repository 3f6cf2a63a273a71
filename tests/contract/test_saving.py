"""A saved agent keeps its executor, and never silently comes back with another."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys

import pytest
import smolagents
from recording import RecordingExecutor
from scripted_model import ScriptedModel
from smolagents import CodeAgent, ToolCallingAgent

from smolagents_fork import AllowedHost, ProcessExecutor
from smolagents_fork.errors import ConfigurationError


class OtherExecutor(RecordingExecutor):
    """A second class, to distinguish the executors of two agents."""


def make(model, **kwargs):
    kwargs.setdefault("executor_class", RecordingExecutor)
    return CodeAgent(tools=[], model=model, verbosity_level=0, **kwargs)


def through_dict(agent, folder, **kwargs):
    # Through JSON text, as a file would be.
    return type(agent).from_dict(json.loads(json.dumps(agent.to_dict())), **kwargs)


def through_folder(agent, folder, **kwargs):
    agent.save(folder)
    return type(agent).from_folder(folder, **kwargs)


both_routes = pytest.mark.parametrize("route", [through_dict, through_folder])


def test_dict_names_the_class(model):
    saved = make(model, executor_kwargs={"size": 3}).to_dict()
    assert saved["executor_class"] == "recording:RecordingExecutor"
    assert saved["executor_type"] == "class"
    assert saved["executor_kwargs"] == {"size": 3}


@both_routes
def test_allowed_class_comes_back(model, tmp_path, route):
    agent = make(model, executor_kwargs={"size": 3})
    loaded = route(agent, tmp_path, allowed_executor_classes=[RecordingExecutor])
    assert type(loaded.python_executor) is RecordingExecutor
    assert loaded.python_executor.arguments[2] == {"size": 3}


@both_routes
def test_given_executor_replaces_that_of_managed_agents(model, tmp_path, route):
    helper = CodeAgent([], model, executor_type="local", name="helper", description="Helps.")
    agent = CodeAgent([], model, executor_type="local", managed_agents=[helper])
    options = {"executor_type": "process", "executor_kwargs": {"timeout_seconds": 7}}
    with route(agent, tmp_path, **options) as loaded:
        for one in (loaded, loaded.managed_agents["helper"]):
            assert type(one.python_executor) is ProcessExecutor
            assert one.executor_kwargs == {"timeout_seconds": 7}


@both_routes
def test_listed_hosts_come_back_as_their_text_says(model, tmp_path, route):
    hosts = ["a.example", AllowedHost("b.example:8080", private=True), AllowedHost("1.1.1.1")]
    options = {"executor_type": "process", "executor_kwargs": {"allowed_hosts": hosts}}
    with CodeAgent([], model, **options) as agent, route(agent, tmp_path) as loaded:
        assert loaded.executor_kwargs == {"allowed_hosts": hosts}
        assert loaded.executor_kwargs["allowed_hosts"][1].ports == (8080,)


class ModelOfMine(ScriptedModel):
    """A class that is not known where the agent is loaded."""


@both_routes
def test_given_model_replaces_one_that_cannot_be_made(model, tmp_path, route):
    helper = make(
        ModelOfMine(),
        executor_class=None,
        executor_type="local",
        name="helper",
        description="Helps.",
    )
    agent = make(ModelOfMine(), executor_class=None, executor_type="local", managed_agents=[helper])
    with pytest.raises(ValueError, match="Unknown model class 'ModelOfMine'"):
        route(agent, tmp_path)
    loaded = route(agent, tmp_path, model=model)
    assert loaded.model is loaded.managed_agents["helper"].model is model


@both_routes
def test_arguments_come_back_as_they_were(model, tmp_path, route):
    kwargs = {"files": {"a.bin": b"\0\xff", "b.txt": tmp_path / "b", "c": "text"}, "ids": (1, 2)}
    agent = make(model, executor_kwargs=kwargs)
    loaded = route(agent, tmp_path, allowed_executor_classes=[RecordingExecutor])
    assert loaded.python_executor.arguments[2] == kwargs
    assert loaded.executor_kwargs == agent.executor_kwargs == kwargs


def test_argument_that_a_file_cannot_have_is_refused_before_writing(model, tmp_path):
    helper = make(
        model, name="helper", description="helps", executor_kwargs={"on": {"output": print}}
    )
    for agent in (helper, make(model, managed_agents=[helper])):
        with pytest.raises(ConfigurationError) as caught:
            agent.save(tmp_path / "agent")
        text = str(caught.value)
        assert text.startswith(
            "the agent cannot be saved: executor_kwargs['on']['output']: a value"
        )
        assert text.endswith("pass it when you load: from_folder(folder, executor_kwargs={...})")
        assert not (tmp_path / "agent").exists()
    loaded = CodeAgent.from_dict(helper.to_dict(), allowed_executor_classes=[RecordingExecutor])
    assert loaded.executor_kwargs == {"on": {"output": print}}


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        (
            {"executor_kwargs": {"$": "no such form", "v": 1}},
            r"cannot be loaded: .*no such form",
        ),
        *(
            ({"executor_class": reference}, "expected the text 'module:qualname'")
            for reference in (None, 3, ["a"], "")
        ),
    ],
)
def test_damaged_dictionary_is_refused(model, saved, words):
    with pytest.raises(ConfigurationError, match=words):
        CodeAgent.from_dict(
            {**make(model).to_dict(), **saved}, allowed_executor_classes=[RecordingExecutor]
        )


@both_routes
def test_class_that_is_not_allowed_is_refused_and_not_imported(model, tmp_path, route):
    agent = make(model)
    with pytest.raises(ConfigurationError, match=r"pass allowed_executor_classes=.RecordingExecut"):
        route(agent, tmp_path, allowed_executor_classes=[OtherExecutor])
    assert len(RecordingExecutor.made) == 1


def test_class_named_by_a_file_is_never_imported(model):
    saved = make(model).to_dict()
    saved["executor_class"] = "antigravity:Executor"
    with pytest.raises(ConfigurationError, match="'antigravity:Executor', which is not the fork's"):
        CodeAgent.from_dict(saved)
    with pytest.raises(ConfigurationError, match="executor_type='class': "):
        CodeAgent.from_dict(saved, executor_type="class")
    assert "antigravity" not in sys.modules


@both_routes
def test_class_of_the_forks_own_needs_no_permission(model, tmp_path, route):
    agent = make(model, executor_class=smolagents.LocalPythonExecutor)
    assert agent.to_dict()["executor_type"] == "class"
    loaded = route(agent, tmp_path)
    assert type(loaded.python_executor) is smolagents.LocalPythonExecutor


@both_routes
@pytest.mark.parametrize("value", ["plugins_module:Plugged", "plugins_module:Alias"])
def test_class_of_an_entry_point_needs_no_permission(model, tmp_path, route, plug_ins, value):
    """Also when the package exports it under another name than its module's."""
    plug_ins(f"plugged = {value}")
    plugged = importlib.import_module("plugins_module").Plugged
    loaded = route(make(model, executor_class=plugged), tmp_path / "saved")
    assert type(loaded.python_executor) is plugged


def test_entry_points_of_other_packages_are_not_loaded(model, plug_ins):
    plug_ins("bomb = bombs_module:X", name="bombs", source="raise SystemExit('loaded')")
    with pytest.raises(ConfigurationError, match="not in your list"):
        CodeAgent.from_dict(make(model).to_dict())


@both_routes
def test_instance_is_an_error_that_says_so(model, tmp_path, route):
    agent = make(model, executor_class=None, executor=RecordingExecutor([], None))
    with pytest.raises(ConfigurationError, match="saved with an executor instance") as caught:
        route(agent, tmp_path)
    assert "RecordingExecutor" in str(caught.value)
    assert "pass executor=<an instance>" in str(caught.value)


def test_instance_is_refused_by_upstream_without_the_fork(model):
    """Upstream resolves neither name, so it refuses too."""
    with_instance = make(model, executor_class=None, executor=RecordingExecutor([], None))
    for agent in (with_instance, make(model)):
        assert agent.to_dict()["executor_type"] not in {"local", "blaxel", "e2b", "modal", "docker"}


@both_routes
def test_saved_instance_can_be_replaced_by_the_caller(model, tmp_path, route):
    agent = make(model, executor_class=None, executor=RecordingExecutor([], None))
    mine = OtherExecutor([], None)
    assert route(agent, tmp_path, executor=mine).python_executor is mine


@both_routes
def test_caller_overrides_the_saved_class_without_its_arguments(model, tmp_path, route):
    agent = make(model, executor_kwargs={"size": 3})
    loaded = route(agent, tmp_path, executor_type="local")
    assert type(loaded.python_executor) is smolagents.LocalPythonExecutor
    assert loaded.executor_kwargs == {}


@both_routes
def test_type_and_arguments_come_back_as_upstream_has_it(model, tmp_path, route):
    agent = make(model, executor_class=None, executor_kwargs={"max_print_outputs_length": 123})
    loaded = route(agent, tmp_path)
    assert loaded.executor_type == "local"
    assert loaded.python_executor.max_print_outputs_length == 123
    assert "executor_class" not in agent.to_dict()


@both_routes
def test_managed_agents_keep_their_own_executors(model, tmp_path, route):
    helper = make(model, name="helper", description="helps", executor_class=OtherExecutor)
    web = ToolCallingAgent(
        tools=[], model=ScriptedModel(), name="web", description="searches", verbosity_level=0
    )
    agent = make(model, managed_agents=[helper, web], additional_authorized_imports=["json"])
    loaded = route(agent, tmp_path, allowed_executor_classes=[RecordingExecutor, OtherExecutor])
    assert type(loaded.python_executor) is RecordingExecutor
    assert type(loaded.managed_agents["helper"].python_executor) is OtherExecutor
    assert type(loaded.managed_agents["web"]) is ToolCallingAgent


@both_routes
def test_managed_agent_with_a_class_that_is_not_allowed_is_refused(model, tmp_path, route):
    helper = make(model, name="helper", description="helps", executor_class=OtherExecutor)
    agent = make(model, managed_agents=[helper], executor_class=None)
    with pytest.raises(ConfigurationError, match="OtherExecutor"):
        route(agent, tmp_path)


@both_routes
def test_manager_of_another_class_passes_the_permission_on(model, tmp_path, route):
    helper = make(model, name="helper", description="helps")
    agent = ToolCallingAgent(
        tools=[], model=ScriptedModel(), managed_agents=[helper], verbosity_level=0
    )
    loaded = route(agent, tmp_path, allowed_executor_classes=[RecordingExecutor])
    assert type(loaded.managed_agents["helper"].python_executor) is RecordingExecutor


def test_permission_must_be_a_list(model):
    saved = make(model).to_dict()
    for allowed in (RecordingExecutor, ["RecordingExecutor"]):
        with pytest.raises(TypeError, match=r"RecordingExecutor'.*: pass a list of classes"):
            CodeAgent.from_dict(saved, allowed_executor_classes=allowed)


APP = """
import runpy, sys
import smolagents
smolagents.InferenceClientModel = smolagents.Model
found = runpy.run_path("app.py")["agent"]
print(type(found.python_executor).__name__, found.executor_kwargs, found.executor_type)
"""


def start_app(folder):
    return subprocess.run(
        [sys.executable, "-c", APP],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("cls", "kwargs"),
    [
        (smolagents.LocalPythonExecutor, {}),
        (RecordingExecutor, {"files": {"a.bin": b"\0\xff"}, "ids": (1, 2)}),
    ],
)
def test_program_of_a_saved_agent_starts_with_its_executor(tmp_path, cls, kwargs):
    agent = make(smolagents.Model(), executor_class=cls, executor_kwargs=kwargs)
    agent.save(tmp_path)
    done = start_app(tmp_path)
    expected = f"{cls.__name__} {kwargs} local\n"
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_program_of_an_agent_with_an_instance_says_what_to_write(model, tmp_path):
    instance = smolagents.LocalPythonExecutor([])
    CodeAgent([], model=smolagents.Model(), executor=instance, verbosity_level=0).save(tmp_path)
    done = start_app(tmp_path)
    assert done.returncode
    assert "was saved with an executor instance" in done.stderr
    assert "pass executor=<an instance>" in done.stderr


@pytest.mark.parametrize(
    "text", ["no_such_module:X", "recording:Missing", "recording:", ":X", "recording:Missing:X"]
)
def test_text_that_names_no_class_is_an_error(model, text):
    with pytest.raises(ConfigurationError, match=r"executor_class='.*module:qualname"):
        make(model, executor_class=text)


def test_requirements_of_an_agent_with_a_named_executor_ask_for_the_fork(model, tmp_path):
    agent = make(model)
    agent.executor_class, agent.executor_type = None, "x"
    agent.save(tmp_path)
    release, fork, _ = smolagents.__version__.partition("+fork.")
    assert fork
    assert f"smolagents>={release}\n" in (tmp_path / "requirements.txt").read_text()
