"""Errors of the code, as the agent gets them."""

from __future__ import annotations

import pytest
from contract_declarations import behaviour
from contract_kinds import printed
from contract_parts import Script
from smolagents import CodeAgent
from smolagents.utils import AgentError

from smolagents_fork.errors import InterpreterError


@behaviour("Errors", "An error has the exception's type and message, and the code's line.")
def test_errors_have_type_message_and_line(contract):
    with pytest.raises(Exception, match="ValueError: of the code") as caught:
        contract.shared("a = 1\n\ndef fails():\n    raise ValueError('of the code')\n\nfails()")
    assert "line 4" in str(caught.value).lower()
    assert "raise ValueError('of the code')" in str(caught.value)


@behaviour("Errors", "Errors of the code have one class that the agent turns into a step's error.")
def test_class_of_errors(contract):
    kind = AgentError if contract.differs else InterpreterError
    with pytest.raises(kind, match="ZeroDivisionError: division by zero"):
        contract.shared("1 / 0")


@behaviour("Errors", "What was printed before an error is kept.")
def test_output_before_an_error_is_kept(contract):
    executor = contract.shared
    with pytest.raises(Exception, match="ZeroDivisionError"):
        executor("print('one')\nprint('two')\n1 / 0\nprint('three')")
    assert printed(executor) == "one\ntwo\n"


@behaviour("Errors", "The agent's next step sees the error and what was printed before it.")
def test_the_model_sees_error_and_output(contract):
    script = Script("print('seen so far')\n{}['key']", "final_answer('done')")
    agent = CodeAgent(tools=[], model=script, verbosity_level=0, executor=contract.shared)
    assert agent.run("go") == "done"
    step = agent.memory.steps[1]
    assert "KeyError" in str(step.error)
    assert "seen so far" in str(step.observations) + str(step.error)


@behaviour("Errors", "A syntax error says so, with its line, and nothing has run.")
def test_syntax_errors(contract):
    executor = contract.shared
    executor("ran = False")
    with pytest.raises(Exception, match="SyntaxError") as caught:
        executor("ran = True\nif ran\n    pass")
    assert "line 2" in str(caught.value)
    assert executor("ran").output is False


@behaviour("Errors", "An exception class of the code's own is named.")
def test_exception_classes_of_the_code(contract):
    with pytest.raises(Exception, match="OutOfStock: 3 left"):
        contract.shared("class OutOfStock(Exception):\n    pass\nraise OutOfStock('3 left')")


@behaviour("Errors", "SystemExit is an error of the step; the executor goes on.")
def test_system_exit_is_an_error(contract):
    executor = contract.shared
    with pytest.raises(Exception, match="SystemExit: 3"):
        executor("raise SystemExit(3)")
    assert executor("'still there'").output == "still there"


@behaviour("Errors", "Endless recursion is a RecursionError; the executor goes on.")
def test_endless_recursion(contract):
    executor = contract.shared
    with pytest.raises(Exception, match="RecursionError"):
        executor("def deeper(n):\n    return deeper(n + 1)\ndeeper(0)")
    assert executor("'still there'").output == "still there"


@behaviour("Errors", "input() is refused at once, in words that say why.")
def test_input_is_refused(contract):
    with pytest.raises(Exception, match="input") as caught:
        contract.shared("input('name? ')")
    assert "nobody" in str(caught.value)
    assert "tool" in str(caught.value)


@behaviour("Errors", "A module that is not authorised cannot be imported.")
def test_imports_are_authorised(contract):
    if contract.differs:
        assert contract.shared("import socket\nsocket.__name__").output == "socket"
        return
    with pytest.raises(Exception, match="Import of socket is not allowed"):
        contract.shared("import socket")
