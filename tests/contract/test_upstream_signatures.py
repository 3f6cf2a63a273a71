"""Parameters of upstream's constructors: each is the fork's too, or is decided upon here.

The names come from the release that is installed, so a release's new parameter fails these tests
instead of being accepted and ignored.
"""

from __future__ import annotations

import inspect

import pytest
import smolagents
from smolagents import CodeAgent, MultiStepAgent, local_python_executor

from smolagents_fork import upstream
from smolagents_fork.executors import hosted

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


def parameters(function: object) -> set[str]:
    """Return the names that a constructor takes, without those that stand for any others."""
    return {
        one.name
        for one in inspect.signature(function).parameters.values()
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    } - {"self"}


@pytest.mark.parametrize("kind", [CodeAgent, MultiStepAgent])
def test_parameter_of_an_agent_is_decided_upon(kind):
    new = parameters(kind.__init__) - DECIDED
    assert not new, (
        f"{kind.__name__} takes {new}: the executors of the fork are not made by upstream's code, "
        "so hand on what is for them in agents/selection.py; then list the names here"
    )


def test_parameter_of_the_local_executor_is_the_forks_too():
    local = vars(local_python_executor)["LocalPythonExecutor"]
    assert parameters(local) <= parameters(smolagents.LocalPythonExecutor)


def test_parameter_of_the_docker_executor_is_the_forks_too():
    assert parameters(upstream.DockerExecutor) <= parameters(smolagents.DockerExecutor)


@pytest.mark.parametrize("name", ["BlaxelExecutor", "E2BExecutor", "ModalExecutor"])
def test_parameter_of_a_hosted_executor_is_the_forks_too(name):
    kind = getattr(hosted, name)
    assert parameters(getattr(upstream, name)) <= parameters(kind)
    passes_on = [
        any(one.kind is one.VAR_KEYWORD for one in inspect.signature(cls).parameters.values())
        for cls in (kind, getattr(upstream, name))
    ]
    assert passes_on in ([True, True], [False, False])
