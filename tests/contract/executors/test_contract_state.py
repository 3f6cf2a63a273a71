"""State that calls share."""

from __future__ import annotations

import copy
import os
import pickle
import re
import signal
import sys

import pytest
from background import at_once, eventually
from contract_declarations import behaviour

from smolagents_fork.errors import ConfigurationError, SandboxDiedError
from smolagents_fork.executors.session.session import Session


@behaviour("State", "Variables, functions, classes and imports are kept between calls.")
def test_state_lives_on(contract):
    executor = contract.shared
    executor(
        "import math\nbase = 40\nclass Box:\n    content = [1]\ndef add(n):\n    return base + n"
    )
    executor("base += 1\nBox.content.append(2)\n_, rest = 'first', 2\n'value'")
    assert executor("(add(1), Box.content, math.floor(2.5), _)").output == (42, [1, 2], 2, "first")


@behaviour("State", "A call that fails keeps its changes before the error.")
def test_state_of_a_failed_call_is_kept(contract):
    executor = contract.shared
    executor("before = [1]")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        executor("before.append(2)\nmade = 'in the failed call'\n1 / 0\nafter = 1")
    assert executor("(before, made)").output == ([1, 2], "in the failed call")
    with pytest.raises(Exception, match="NameError"):
        executor("after")


@behaviour("State", "Variables are sent, all or none of a call's, and the program may change them.")
def test_variables_are_sent(contract):
    executor = contract.shared
    executor.send_variables({"sent": {"a": [1, 2.5, None]}, "words": "text"})
    executor("sent['a'].append(words)")
    assert executor("sent").output == {"a": [1, 2.5, None, "text"]}
    executor.send_variables({"len": 1})
    with pytest.raises(ConfigurationError, match=r"^names='sent': pass a list, such as \['sent'\]"):
        executor.remove_variables("sent")
    executor.remove_variables(["sent", "len", "absent"])
    assert executor("len(words)").output == 4
    with pytest.raises(Exception, match="sent"):
        executor("sent")
    with pytest.raises(Exception, match=r"sys"):
        executor.send_variables({"fresh": 1, "sys": sys, "fresher": 2})
    for name in ("fresh", "fresher"):
        with pytest.raises(Exception, match="NameError"):
            executor(name)


@behaviour("State", "Variables are sent in one request, regardless of number and size.")
def test_variables_are_one_request(contract, monkeypatch):
    executor = contract.shared
    requests = []
    request = Session.request

    def counted(*args, **kwargs):
        requests.append(args[1])
        return request(*args, **kwargs)

    monkeypatch.setattr(Session, "request", counted)
    long, short = (
        {f"long{n}": bytes([n]) * 5000 for n in range(100)},
        {f"n{n}": n for n in range(9)},
    )
    executor.send_variables({**short, **long, "last": "text"})
    assert len(requests) == (contract.kind.name != "local")  # which has no guest to ask
    code = "[long0[0], long99[-1], len(long50), n0, n8, last]"
    assert executor(code).output == [0, 99, 5000, 0, 8, "text"]


@behaviour("State", "restart() discards the state, and keeps tools and sent variables.")
def test_restart_keeps_tools_and_variables(contract):
    executor = contract.make()
    if contract.differs:
        assert not hasattr(executor, "restart")
        return
    executor.send_tools({"three": lambda: 3})
    executor.send_variables({"given": [1]})
    executor("made = 1")
    executor.restart()
    assert executor("three() + given[0]").output == 4
    with pytest.raises(Exception, match="NameError"):
        executor("made")


@behaviour(
    "State", "The end of a sandbox between two calls is reported once; the next call has a new one."
)
def test_sandbox_that_ends_between_calls(contract):
    executor = contract.make()
    if contract.differs:
        assert not hasattr(executor, "restart")
        return
    executor.send_tools({"three": lambda: 3})
    executor.send_variables({"given": 5})
    for ask in (
        lambda: executor("1"),
        lambda: executor.send_variables({"given": 6}),
        executor.variables,
    ):
        if contract.kind.name == "docker":
            executor("import os, threading\nthreading.Timer(0.2, os._exit, [9]).start()")
        else:
            os.kill(executor.pid, signal.SIGKILL)
        # Asking takes the news out of the stream; it has to be told all the same.
        assert eventually(lambda: not executor.is_alive())
        with pytest.raises(SandboxDiedError, match="its state is lost, ") as caught:
            ask()
        if not contract.kind.column:
            cause = "exit" if contract.kind.name == "docker" else "signal"
            assert caught.value.cause == cause
        assert executor("three() + given").output == 8
        assert executor.is_alive()


@behaviour("State", "Calls from several threads take turns.")
def test_calls_of_several_threads_take_turns(contract):
    executor = contract.shared
    executor("order = []")
    code = "import time\norder.append({n})\ntime.sleep(0.05)\norder.append({n})"
    at_once(*[lambda n=n: executor(code.format(n=n)) for n in range(6)])
    order = executor("order").output
    assert order[::2] == order[1::2]
    assert sorted(order[::2]) == list(range(6))


@behaviour(
    "State", "A call has the value of the expression, assignment or block that it ends with."
)
def test_last_statement_has_a_value(contract):
    contract.shared(
        "class Five:\n    def __enter__(self): return 5\n    def __exit__(self, *error): pass"
    )
    for code in (
        "value = 2\nvalue + 3",
        "assigned = 5",
        "assigned: int = 5",
        "assigned = 2; assigned += 3",
        "if True:\n    5\nelse:\n    6",
        "for number in range(6):\n    number",
        "number = 3\nwhile number < 5:\n    number += 1",
        "with Five() as number:\n    number",
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    5",
        "try:\n    4\nexcept ValueError:\n    6\nelse:\n    5",
        "match 5:\n    case number: number",
        "try:\n    5\nfinally:\n    pass",
    ):
        assert contract.shared(code).output == 5, code
    assert contract.shared("first, second = 2, 3").output == (2, 3)
    for code in ("def function(): pass", "class Box: pass", "if True:\n    pass", "import math"):
        assert contract.shared(code).output is None, code
    for code in ("", " ", "\n\n", "# only words"):
        result = contract.shared(code)
        assert (result.output, result.logs) == (None, ""), code


@behaviour("State", "variables() returns the program's variables, and names those left out.")
def test_variables_are_read(contract):
    executor = contract.make()
    executor.send_tools({"tool_of_the_host": lambda: 1})
    executor.send_variables({"sent": {"a": [1]}})
    executor(
        "import math\nsent['a'].append((2, b'x'))\nmade = {1, 2.5}\n_private = 1\n"
        "def function(): pass\nclass Box: pass\nbox = Box()"
    )
    found = executor.variables()
    values = {"sent": {"a": [1, (2, b"x")]}, "made": {1, 2.5}}
    assert found | values == found
    assert "math" in found.left_out
    if contract.differs:
        assert found.keys() == {*values, "function", "Box", "box"}
        return
    assert found == values
    assert found.left_out.keys() == {"math", "function", "Box", "box"}
    assert "function" in found.left_out["function"]


@behaviour("State", "Two executors share nothing; variables of one can be sent to another.")
def test_variables_go_to_another_executor(contract):
    first, second = contract.shared, contract.limited
    first("moved = [1, {'two': (2, 3)}]")
    with pytest.raises(Exception, match="NameError"):
        second("moved")
    second.send_variables({"moved": first.variables()["moved"]})
    assert second("moved.append(4)\nmoved").output == [1, {"two": (2, 3)}, 4]
    assert first("moved").output[:2] == [1, {"two": (2, 3)}]
    second.remove_variables(["moved"])


@behaviour("State", "`copy` and `pickle` are refused; the error says how to move the variables.")
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_refused(contract, copied):
    executor = contract.shared
    if contract.differs:
        executor = contract.make()
        executor("copied = [1]")
        made = copied(executor)
        made = pickle.loads(made) if isinstance(made, bytes) else made
        assert made("copied").output == [1]
        return
    with pytest.raises(TypeError, match=r"other\.send_variables\(executor\.variables\(\)\)"):
        copied(executor)


@behaviour("State", "repr() shows an executor's class, where its code runs, its limits and state.")
def test_representation_of_an_executor(contract):
    executor = contract.make(timeout_seconds=50)
    name, seen = type(executor).__name__, []
    assert re.fullmatch(rf"<{name}: ready, in .+; timeout_seconds=50(\.0)?\b.*>", repr(executor))
    executor.send_tools({"note": lambda: seen.append(repr(executor))})
    executor("note()")
    assert seen[0].startswith(f"<{name}: running code, in ")
    executor.cleanup()
    if contract.kind.name != "local":  # which works on
        assert repr(executor).startswith(f"<{name}: closed")
