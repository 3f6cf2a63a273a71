"""Copies of local executors and of their errors, by copy and by pickle, as upstream has them."""

from __future__ import annotations

import copy
import pickle
from typing import Any, ClassVar

import pytest
from smolagents import FinalAnswerTool, LocalPythonExecutor, Tool
from smolagents.local_python_executor import InterpreterError

COPIED = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
}
both_copies = pytest.mark.parametrize("copied", COPIED.values(), ids=COPIED)


class Adder(Tool):
    name = "adder"
    description = "Adds to a total."
    inputs: ClassVar[dict[str, Any]] = {"number": {"type": "integer", "description": "What."}}
    output_type = "integer"

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def forward(self, number: int) -> int:
        self.total += number
        return self.total


def doubled(number: int) -> int:
    return 2 * number


@pytest.fixture
def executor() -> LocalPythonExecutor:
    made = LocalPythonExecutor(
        ["json"],
        max_print_outputs_length=100,
        additional_functions={"doubled": doubled},
        timeout_seconds=20,
    )
    made.send_tools({"adder": Adder(), "final_answer": FinalAnswerTool()})
    made.send_variables({"given": {"a": [1]}})
    made("import json\nkept = [1, {'two': (2, 3)}]\nprint('printed')\nkept")
    return made


@both_copies
def test_a_copy_has_state_tools_and_settings(executor, copied):
    made = copied(executor)
    assert str(made.state["_print_outputs"]) == "printed\n"
    assert made.state["_operations_count"] == executor.state["_operations_count"]
    assert made("print('of the copy')").logs == "of the copy\n"
    assert str(executor.state["_print_outputs"]) == "printed\n"
    assert made("(kept, given)").output == ([1, {"two": (2, 3)}], {"a": [1]})
    assert made("json.dumps(kept[0])").output == "1"
    assert made("(adder(2), doubled(4), sqrt(9))").output == (2, 8, 3.0)
    assert executor("adder(1)").output == 1
    assert made("final_answer(kept[0])").is_final_answer
    assert sorted(made.static_tools) == sorted(executor.static_tools)
    assert made.authorized_imports == executor.authorized_imports
    assert (made.timeout_seconds, made.max_print_outputs_length) == (20, 100)
    assert "truncated" in made("print('x' * 1000)").logs
    with pytest.raises(InterpreterError, match="Import of socket is not allowed"):
        made("import socket")
    assert copied(made)("kept[0]").output == 1


@both_copies
def test_the_state_of_a_copy_is_its_own(executor, copied):
    made = copied(executor)
    made("kept.append('of the copy')\nonly_there = 1")
    assert executor("kept").output == [1, {"two": (2, 3)}]
    with pytest.raises(InterpreterError, match="NameError"):
        executor("only_there")


@both_copies
def test_an_executor_without_tools_or_calls_is_copied(copied):
    made = copied(LocalPythonExecutor([]))
    assert made.static_tools is None
    assert made("1 + 1").output == 2


def test_classes_of_a_copy_are_the_programs_own():
    executor = LocalPythonExecutor([])
    executor("class Box:\n    def __init__(self): self._own = 5\nbox = Box()\ndef f(): pass")
    copied = copy.deepcopy(executor)
    code = "f._mark = 1\n(box._own, isinstance(box, Box), Box()._own, f._mark)"
    assert copied(code).output == (5, True, 5, 1)


def test_functions_are_shared_by_copies_and_keep_their_variables():
    executor = LocalPythonExecutor([])
    executor("total = 1\ndef added():\n    global total\n    total += 1\n    return total")
    copied = copy.deepcopy(executor)
    assert copied("added()\nadded()").output == 3
    assert (executor("total").output, copied("total").output) == (3, 1)
    copied("def added(): return 'other'")
    assert executor("added()").output == 4


def test_function_shared_by_a_copy_ends_within_the_limits_of_its_maker():
    executor = LocalPythonExecutor([], max_while_iterations=1000)
    executor("def spin():\n    while True: pass")
    copied = copy.deepcopy(executor)
    with pytest.raises(InterpreterError, match="Maximum number of 1000 iterations"):
        copied("spin()")


def test_program_with_functions_is_not_pickled():
    executor = LocalPythonExecutor([])
    executor("def function(): pass")
    with pytest.raises((pickle.PicklingError, AttributeError), match="function"):
        pickle.dumps(executor)
