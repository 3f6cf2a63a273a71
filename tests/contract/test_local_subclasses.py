"""Classes derived from the local executor, as an agent's executor."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import smolagents
import smolagents.local_python_executor
from smolagents import CodeAgent

from smolagents_fork.errors import ConfigurationError


def agent_with(model: Any, cls: type, **kwargs: Any) -> CodeAgent:
    model.answers = ["<code>final_answer(1 + 1)</code>"]
    return CodeAgent(
        tools=[],
        model=model,
        verbosity_level=0,
        additional_authorized_imports=["json"],
        executor_class=cls,
        **kwargs,
    )


def test_a_class_is_given_imports_logger_and_keywords(model: Any) -> None:
    class MyExecutor(smolagents.LocalPythonExecutor):  # type: ignore[misc]
        def __init__(
            self, additional_authorized_imports: list[str], logger: Any, **executor_kwargs: Any
        ) -> None:
            self.given = additional_authorized_imports, logger, executor_kwargs
            super().__init__(additional_authorized_imports, **executor_kwargs)

    agent = agent_with(model, MyExecutor, executor_kwargs={"timeout_seconds": 7})
    assert agent.python_executor.given == (["json"], agent.logger, {"timeout_seconds": 7})
    assert agent.run("anything") == 2


BASE: Any = smolagents.LocalPythonExecutor


class ByOtherNames(BASE):
    def __init__(self, imports: Any, log: Any, /, *, greeting: str) -> None:
        super().__init__(imports, logger=log)
        self.greeting = greeting


class PassesEverythingOn(BASE):
    def __init__(self, *arguments: Any, greeting: str, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.greeting = greeting


class UpstreamsParameters(BASE):
    def __init__(
        self,
        additional_authorized_imports: Any,
        max_print_outputs_length: Any = None,
        additional_functions: Any = None,
        greeting: str = "",
    ) -> None:
        super().__init__(
            additional_authorized_imports, max_print_outputs_length, additional_functions
        )
        self.greeting = greeting


class ImportsOnly(BASE):
    def __init__(self, additional_authorized_imports: Any, greeting: str = "") -> None:
        super().__init__(additional_authorized_imports)
        self.greeting = greeting


@pytest.mark.parametrize(
    ("cls", "takes_length"),
    [
        (ByOtherNames, False),
        (PassesEverythingOn, True),
        (UpstreamsParameters, True),
        (ImportsOnly, False),
    ],
)
@pytest.mark.parametrize("length", [None, 77])
def test_other_constructors_are_given_what_they_take(
    model: Any, cls: type, takes_length: bool, length: int | None
) -> None:
    agent = agent_with(
        model, cls, executor_kwargs={"greeting": "hello"}, max_print_outputs_length=length
    )
    executor = agent.python_executor
    assert executor.greeting == "hello"
    assert executor.additional_authorized_imports == ["json"]
    assert executor.max_print_outputs_length == (length if length and takes_length else 50_000)
    assert agent.run("anything") == 2


class WithoutConstructor(BASE):
    pass


def test_a_class_without_a_constructor_is_made_as_the_local_executor(model: Any) -> None:
    options = {"executor_kwargs": {"timeout_seconds": 7}, "max_print_outputs_length": 77}
    agent = agent_with(model, WithoutConstructor, **options)
    assert agent.python_executor.timeout_seconds == 7
    assert agent.python_executor.max_print_outputs_length == 77
    assert agent.run("anything") == 2


def test_a_logger_goes_in_by_name() -> None:
    logger = smolagents.AgentLogger()
    executor = smolagents.LocalPythonExecutor([], logger=logger)
    assert executor.logger is logger
    with pytest.raises(ConfigurationError) as refused:
        smolagents.LocalPythonExecutor([], logger)
    assert str(refused.value) == (
        f"max_print_outputs_length={logger!r}: pass a number; pass a logger as logger="
    )
    stdlib = logging.getLogger("stdlib")
    with pytest.raises(ConfigurationError) as refused:
        smolagents.LocalPythonExecutor([], logger=stdlib)
    assert str(refused.value) == (
        f"logger={stdlib!r}: pass upstream's AgentLogger, an object with its methods log() and "
        "log_error(), or None"
    )
