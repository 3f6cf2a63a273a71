"""Entries of ``additional_authorized_imports`` in agents: errors, the prompt, saved agents."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from smolagents import CodeAgent

from smolagents_fork.errors import ConfigurationError, InterpreterError

LIST = ["json", "numpy>=1", "pillow", "python-dateutil.*"]
NAMES = ["local", pytest.param("process", marks=pytest.mark.slow)]


def agent_of(model: Any, imports: list[str], **options: Any) -> CodeAgent:
    return CodeAgent([], model=model, additional_authorized_imports=imports, **options)


@pytest.mark.parametrize("name", NAMES)
def test_another_version_is_an_error_of_the_constructor(model, name):
    with pytest.raises((ConfigurationError, InterpreterError)) as caught:
        agent_of(model, ["numpy==1.0"], executor_type=name)
    assert str(caught.value) == (
        f"numpy==1.0 is authorized, and numpy {version('numpy')} is installed. Install that "
        "version (pip install 'numpy==1.0'), leave the version out, or use "
        "executor_type='docker', which installs what the list names."
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_distribution_that_is_not_installed_is_an_error_of_the_constructor(model, name):
    with pytest.raises((ConfigurationError, InterpreterError)) as caught:
        agent_of(model, ["no-such-thing>=2"], executor_type=name)
    assert str(caught.value) == (
        "Non-installed authorized modules: no-such-thing. Please install these modules or remove "
        "them from the authorized imports list."
    )


def test_a_text_that_is_no_entry_is_refused_by_the_agent(model):
    with pytest.raises(ConfigurationError, match="'numpy @ file:///x' is not a requirement"):
        agent_of(model, ["numpy @ file:///x"])


def test_a_plain_list_is_upstreams(model):
    agent = agent_of(model, ["numpy.*", "json", "math"])
    assert {"numpy.*", "json", "math"} <= set(agent.authorized_imports)
    assert agent.to_dict()["authorized_imports"] == agent.authorized_imports


def test_a_saved_agent_keeps_distributions_and_versions(model):
    agent = agent_of(model, LIST)
    saved = agent.to_dict()
    assert set(LIST) <= set(saved["authorized_imports"])
    assert not {"PIL", "dateutil.*"} & set(saved["authorized_imports"])
    loaded = agent_of(model, saved["authorized_imports"])
    assert loaded.authorized_imports == agent.authorized_imports
