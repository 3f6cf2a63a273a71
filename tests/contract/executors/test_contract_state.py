"""State that calls share."""

from __future__ import annotations

import pytest
from contract_declarations import behaviour


@behaviour("State", "Variables, functions, classes and imports are kept between calls.")
def test_state_lives_on(contract):
    executor = contract.shared
    executor(
        "import math\nbase = 40\nclass Box:\n    content = [1]\ndef add(n):\n    return base + n"
    )
    executor("base += 1\nBox.content.append(2)")
    assert executor("(add(1), Box.content, math.floor(2.5))").output == (42, [1, 2], 2)


@behaviour("State", "A call that fails keeps its changes before the error.")
def test_state_of_a_failed_call_is_kept(contract):
    executor = contract.shared
    executor("before = [1]")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        executor("before.append(2)\nmade = 'in the failed call'\n1 / 0\nafter = 1")
    assert executor("(before, made)").output == ([1, 2], "in the failed call")
    with pytest.raises(Exception, match="NameError"):
        executor("after")


@behaviour("State", "Sent variables are available, and the program may change them.")
def test_variables_are_sent(contract):
    executor = contract.shared
    executor.send_variables({"sent": {"a": [1, 2.5, None]}, "words": "text"})
    executor("sent['a'].append(words)")
    assert executor("sent").output == {"a": [1, 2.5, None, "text"]}


@behaviour("State", "The value of a call is that of the expression it ends with.")
def test_last_expression_is_the_value(contract):
    assert contract.shared("value = 20\nvalue * 2 + 2").output == 42
    assert contract.shared("for number in range(3):\n    pass").output is None


@behaviour("State", "A call that ends with an assignment has the assigned value.")
def test_assignment_is_a_value(contract):
    assert contract.shared("assigned = 5").output == (None if contract.differs else 5)


@behaviour("State", "Two executors share nothing.")
def test_two_executors_share_nothing(contract):
    contract.shared("only_here = 1")
    with pytest.raises(Exception, match="NameError"):
        contract.limited("only_here")
