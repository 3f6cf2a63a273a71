"""``final_answer``: a call that ends the run with its value."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

import pytest
from contract_declarations import behaviour
from smolagents import FinalAnswerTool


@pytest.fixture
def executor(contract):
    contract.shared.send_tools({"final_answer": FinalAnswerTool()})
    return contract.shared


@behaviour("Final answer", "An assignment to its name lasts no longer than the call.")
def test_final_answer_comes_back(executor):
    with contextlib.suppress(Exception):  # refused where code cannot assign to tools' names
        executor("final_answer = 'the answer'")
    result = executor("final_answer(1)")
    assert (result.output, result.is_final_answer) == (1, True)


@behaviour(
    "Final answer",
    "It ends the run with its value, from functions, loops, comprehensions and handlers; output "
    "before it is kept.",
)
@pytest.mark.parametrize(
    "code",
    [
        "final_answer(1)",
        "def inner():\n    final_answer(1)\ndef outer():\n    inner()\n    return 2\nouter()",
        "for n in range(10):\n    while True:\n        final_answer(1)",
        "[final_answer(1) for n in range(3)]",
        "try:\n    final_answer(1)\nexcept BaseException:\n    final_answer(2)",
    ],
)
def test_final_answer_from_anywhere(executor, code):
    result = executor(f"print('before')\n{code}\nprint('after')")
    assert (result.output, result.is_final_answer, result.logs) == (1, True, "before\n")
    result = executor("'the next call'")
    assert (result.output, result.is_final_answer) == ("the next call", False)


@behaviour("Final answer", "A loop that catches every exception does not stop it.")
def test_final_answer_is_not_caught(contract):
    executor = contract.limited  # which ends code by force sooner
    executor.send_tools({"final_answer": FinalAnswerTool()})
    result = executor(
        "while True:\n    try:\n        final_answer(1)\n    except BaseException:\n        pass"
    )
    assert (result.output, result.is_final_answer) == (1, True)
    assert executor("'the next call'").output == "the next call"


@behaviour("Final answer", "It can come from a thread of the code.")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_final_answer_from_a_thread(contract, executor):
    if contract.without_threads(executor):
        return
    code = (
        "import threading\nthread = threading.Thread(target=final_answer, args=(1,))\n"
        "thread.start()\nthread.join()"
    )
    result = executor(code)
    assert (result.output, result.is_final_answer, result.logs) == (1, True, "")


@behaviour("Final answer", "A FinalAnswerException of the code's own is an ordinary error.")
def test_an_exception_of_that_name_is_an_error(executor):
    define = "class FinalAnswerException(BaseException):\n    value = 1\n"
    with pytest.raises(Exception, match="FinalAnswerException: mine"):
        executor(define.replace("Base", "") + "raise FinalAnswerException('mine')")
    code = (
        "try:\n    raise FinalAnswerException('mine')\n"
        "except FinalAnswerException as error:\n    caught = str(error)\ncaught"
    )
    result = executor(code)
    assert (result.output, result.is_final_answer) == ("mine", False)


@behaviour(
    "Final answer",
    "A final_answer tool of the agent's own gives the value; one that raises gives an error.",
)
def test_own_final_answer_tool(contract):
    class Joined(FinalAnswerTool):
        inputs: ClassVar[dict[str, Any]] = {
            "first": {"type": "string", "description": "First part."},
            "second": {"type": "string", "description": "Second part."},
        }

        def forward(self, first: str, second: str) -> str:
            if second == "bad":
                raise ValueError("this answer will not do")
            return f"{first}-{second}"

    executor = contract.shared
    executor.send_tools({"final_answer": Joined()})
    with pytest.raises(Exception, match="ValueError: this answer will not do"):
        executor("final_answer('a', 'bad')")
    code = (
        "try:\n    final_answer('a', 'bad')\nexcept ValueError:\n    final_answer('a', second='b')"
    )
    result = executor(code)
    assert (result.output, result.is_final_answer) == ("a-b", True)
