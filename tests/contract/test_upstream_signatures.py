"""Parameters of upstream's constructors: each is the fork's too, or is decided upon here.

The names come from the release that is installed, so a release's new parameter fails these tests
instead of being accepted and ignored.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import pytest
import smolagents
from smolagents import CodeAgent, MultiStepAgent, local_python_executor

from smolagents_fork import upstream
from smolagents_fork.errors import ConfigurationError

#: Parameters of agents that reach no executor, or that the fork's choice of one hands on.
DECIDED = frozenset(
    {
        "additional_authorized_imports", "add_base_tools", "code_block_tags", "description",
        "executor", "executor_class", "executor_kwargs", "executor_type", "final_answer_checks",
        "instructions", "logger", "managed_agents", "max_print_outputs_length", "max_steps",
        "model", "name", "planning_interval", "prompt_templates", "provide_run_summary",
        "return_full_result", "step_callbacks", "stream_outputs", "tools",
        "use_structured_outputs_internally", "verbosity_level",
    }
)  # fmt: skip

EXECUTORS = (
    "BlaxelExecutor", "DockerExecutor", "E2BExecutor", "LocalPythonExecutor", "ModalExecutor"
)  # fmt: skip
#: Parameters of upstream's executors that the fork's refuse, by the executor's name.
REFUSED: Mapping[str, frozenset[str]] = {}


def parameters(function: object) -> set[str]:
    """Return the names that a constructor takes, without those that stand for any others."""
    return {
        one.name
        for one in inspect.signature(function).parameters.values()
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    } - {"self"}


def upstreams_and_forks(name: str) -> tuple[type, type]:
    """Return the two classes of an executor."""
    if name == "LocalPythonExecutor":
        return vars(local_python_executor)[name], getattr(smolagents, name)
    return getattr(upstream, name), getattr(smolagents, name)


@pytest.mark.parametrize("kind", [CodeAgent, MultiStepAgent])
def test_parameter_of_an_agent_is_decided_upon(kind):
    new = parameters(kind.__init__) - DECIDED
    assert not new, (
        f"{kind.__name__} takes {new}: the executors of the fork are not made by upstream's code, "
        "so hand on what is for them in agents/selection.py; then list the names here"
    )


@pytest.mark.parametrize("name", EXECUTORS)
def test_parameter_of_an_executor_is_the_forks_too(name):
    upstreams, forks = upstreams_and_forks(name)
    new = parameters(upstreams) - parameters(forks) - REFUSED.get(name, frozenset())
    assert not new, (
        f"upstream's {name} takes {new}: add each to the arguments of {forks.__module__}.{name}, "
        "or list it in REFUSED of this test, if the fork's executor is to refuse it by name"
    )


@pytest.mark.parametrize(
    ("name", "keyword"),
    [
        (name, keyword)
        for name in EXECUTORS
        for keyword in ("unknown_keyword", *sorted(REFUSED.get(name, ())))
        if name != "E2BExecutor"  # its other keywords are the service's
    ],
)
def test_parameter_that_the_fork_does_not_have_is_refused_by_name(name, keyword):
    with pytest.raises(ConfigurationError, match=f"{name} has no parameter '{keyword}'"):
        getattr(smolagents, name)([], **{keyword: 1})


@pytest.mark.parametrize("name", ["BlaxelExecutor", "E2BExecutor", "ModalExecutor"])
def test_hosted_executor_passes_on_what_upstreams_passes_on(name):
    upstreams, forks = (
        any(one.kind is one.VAR_KEYWORD for one in inspect.signature(cls).parameters.values())
        for cls in upstreams_and_forks(name)
    )
    assert upstreams == forks
