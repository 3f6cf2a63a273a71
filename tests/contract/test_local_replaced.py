"""Wherever upstream's documentation names the local interpreter, the fork's is found."""

from __future__ import annotations

import smolagents
from smolagents import CodeAgent, PythonInterpreterTool
from smolagents.local_python_executor import (
    LocalPythonExecutor,
)

import smolagents_fork

# Upstream's tree walker drops the else of a loop and never catches a KeyError (issue 2746).
PROGRAM = """
found = []
for item in [1, 2]:
    found.append(item)
else:
    found.append("else")
try:
    {}["missing"]
except KeyError as error:
    found.append(str(error))
final_answer(found)
"""


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


def test_agents_code_means_what_it_means_in_python(model):
    model.answers = [f"<code>{PROGRAM}</code>"]
    answer = CodeAgent(tools=[], model=model, verbosity_level=0).run("anything")
    assert answer == [1, 2, "else", "'missing'"]


def test_interpreter_tool_runs_it_too():
    tool = PythonInterpreterTool()
    assert "Output: 9" in tool("(n := 3) ** 2")
