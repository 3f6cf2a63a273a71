"""Wherever upstream's documentation names the local interpreter, the fork's is found."""

from __future__ import annotations

import smolagents
from smolagents import CodeAgent, PythonInterpreterTool
from smolagents.local_python_executor import (
    LocalPythonExecutor,
)

import smolagents_fork


def test_local_executor_is_the_forks_under_every_name(model):
    assert LocalPythonExecutor is smolagents_fork.LocalPythonExecutor
    assert smolagents.LocalPythonExecutor is smolagents_fork.LocalPythonExecutor
    for agent in (
        CodeAgent(tools=[], model=model, verbosity_level=0),
        CodeAgent(tools=[], model=model, verbosity_level=0, executor_type="local"),
        CodeAgent(tools=[], model=model, verbosity_level=0, executor_class=LocalPythonExecutor),
    ):
        assert type(agent.python_executor) is smolagents_fork.LocalPythonExecutor
        assert isinstance(agent.python_executor, smolagents.PythonExecutor)


def test_interpreter_tool_runs_it_too():
    tool = PythonInterpreterTool()
    assert "Output: 9" in tool("(n := 3) ** 2")
