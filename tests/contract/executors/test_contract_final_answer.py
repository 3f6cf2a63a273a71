"""``final_answer``: a call that ends the run with its value."""

from __future__ import annotations

import pytest
from contract_declarations import behaviour
from smolagents import FinalAnswerTool


@pytest.fixture
def executor(contract):
    contract.shared.send_tools({"final_answer": FinalAnswerTool()})
    return contract.shared


@behaviour("Final answer", "It ends the run with its value; what was printed before is kept.")
def test_final_answer_ends_the_run(executor):
    result = executor("print('before')\nfinal_answer({'a': 1})\nprint('after')")
    assert (result.output, result.is_final_answer, result.logs) == ({"a": 1}, True, "before\n")
    assert executor("'the next call'").output == "the next call"
