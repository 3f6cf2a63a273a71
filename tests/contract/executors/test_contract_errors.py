"""Errors of the code."""

from __future__ import annotations

import copy
import pickle
import re
import resource
import sys
import textwrap
import traceback
from typing import Any

import pytest
from contract_declarations import behaviour
from contract_parts import read_programs
from scripted_model import Script
from smolagents import CodeAgent
from smolagents.utils import AgentError

from smolagents_fork.errors import ConfigurationError, ForkError, InterpreterError


@behaviour("Errors", "An error has the exception's type and message, and the code's line.")
def test_errors_have_type_message_and_line(contract):
    with pytest.raises(Exception, match="ValueError: of the code") as caught:
        contract.shared("\n\na = 1\ndef fails():\n    raise ValueError('of the code')\n\nfails()")
    assert "line 5" in str(caught.value).lower()
    assert "raise ValueError('of the code')" in str(caught.value)
    contract.shared("total, rows = 1, [1]\ndef read(row):\n    return row['nam']")
    for code, hint in {
        "totl": "Did you mean: 'total'",
        "read({'name': 1})": r"Maybe you meant one of these indexes instead: \['name'\]",
        "rows[5]": r"Could not index \[1\] with 5",
        "rows.apend(1)": "Did you mean: 'append'",
        "from math import sqr": "Did you mean: 'sqrt'",
    }.items():
        with pytest.raises(Exception, match=hint):
            contract.shared(code)
    with pytest.raises(Exception, match="ValueError: bad\nin row 3\nof part b"):
        contract.shared(
            "error = ValueError('bad')\nerror.__notes__ = ['in row 3', 'of part b']\nraise error"
        )


@behaviour("Errors", "An argument of the wrong type is named.")
def test_arguments_of_the_wrong_type(contract):
    executor = contract.shared
    for call, words in (
        (lambda: executor.send_tools([print]), r"tools=\[<built-in function.*: pass a mapping"),
        (lambda: executor.send_variables([1]), r"variables=\[1\]: pass a mapping"),
        (lambda: executor(5), "code is int: pass text"),
        (lambda: executor(b"1 + 1"), "code is bytes: pass text"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            call()
    assert executor("1").output == 1


@behaviour("Errors", "Errors of the code have one class that the agent turns into a step's error.")
def test_class_of_errors(contract):
    kind = AgentError if contract.differs else InterpreterError
    with pytest.raises(kind, match="ZeroDivisionError: division by zero"):
        contract.shared("1 / 0")


@behaviour("Errors", "The agent's next step sees the error and the output before it.")
def test_the_model_sees_error_and_output(contract):
    script = Script("print('seen so far')\n{}['key']", "final_answer('done')")
    agent = CodeAgent(tools=[], model=script, verbosity_level=0, executor=contract.shared)
    assert agent.run("go") == "done"
    step = agent.memory.steps[1]
    assert "KeyError" in str(step.error)
    assert "seen so far" in str(step.observations) + str(step.error)


@behaviour("Errors", "A syntax error names its line, and none of the code runs.")
def test_syntax_errors(contract):
    executor = contract.shared
    executor("ran = False")
    for statement, words in {
        "if ran\n    pass": "SyntaxError: expected ':'",
        "rows = [1,\n  2,\n": r"SyntaxError: '\[' was never closed",
        "print((1,)\nran = 3": r"SyntaxError: '\(' was never closed",
        "text = '''of\nlines\n": "SyntaxError: unterminated triple-quoted string literal",
        "def f():\n": "IndentationError: expected an indented block after function definition",
        "try:\n    ran\n": "SyntaxError: expected 'except' or 'finally' block",
        "return 5": "SyntaxError: 'return' outside function",
        "def f(a, a): pass": "SyntaxError: duplicate (argument|parameter) 'a' in function",
    }.items():
        with pytest.raises(Exception, match=words) as caught:
            executor(f"ran = True\n{statement}")
        assert f"line {3 if statement.startswith('try') else 2}" in str(caught.value)
        assert executor("ran").output is False
    # A model's answer that is cut within an emoji has a lone surrogate.
    with pytest.raises(Exception, match=r"due to: UnicodeEncodeError: .* surrogates not"):
        executor("ran = True\ntext = '\ud83d'")
    assert executor("ran").output is False


@behaviour(
    "Errors",
    "`SystemExit` ends the step: successfully without a status or with 0, otherwise with an "
    "error that names the status. The executor can still be used.",
)
def test_system_exit_ends_the_step(contract):
    executor = contract.shared
    for success in ("", "0", "None", "False"):
        done = executor(f"print('before')\nkept = {success!r}\nraise SystemExit({success})")
        assert (done.output, done.is_final_answer) == (None, False)
        assert done.logs.rstrip("\n").endswith("before")
        assert executor("kept").output == success
    for failure, text in {"3": "3 (exit status 3)", "'no data'": "no data (exit status 1)"}.items():
        with pytest.raises(Exception, match=re.escape(f"SystemExit: {text}")):
            executor(f"def leave(): raise SystemExit({failure})\nleave()")
    assert executor("'still there'").output == "still there"


@behaviour("Errors", "Endless recursion is a RecursionError; the executor can still be used.")
def test_endless_recursion(contract):
    error = error_of(contract.shared, "def deeper(n):\n    return deeper(n + 1)\ndeeper(0)")
    assert "RecursionError" in str(error)
    # The model is sent it again with each later step.
    assert len(str(error)) < 5000


@behaviour("Errors", "input() and breakpoint() raise at once; the error says what to do.")
@pytest.mark.parametrize(
    ("code", "advice"), [("input('name? ')", "tool"), ("breakpoint()", r"[Uu]se print\(\)")]
)
def test_input_is_refused(contract, code, advice):
    name = code.partition("(")[0]
    with pytest.raises(Exception, match=rf"{name}.* is not a(?s:.*){advice}"):
        contract.shared(code)


@behaviour("Errors", "A module that is not authorised cannot be imported.")
def test_imports_are_authorised(contract):
    if contract.differs:
        assert contract.shared("import socket\nsocket.__name__").output == "socket"
        return
    with pytest.raises(Exception, match="Import of socket is not allowed"):
        contract.shared("import socket")


def error_of(executor: Any, code: str) -> Exception:
    """Return the error of a call, which has to be the executor's; it can still be used.

    Not ``pytest.raises``: what ends a process would end the run of the tests.
    """
    ended = outcome(executor, code)
    assert isinstance(ended, (ForkError, AgentError)), repr(type(ended))
    assert executor("'still there'").output == "still there"
    return ended


def outcome(executor: Any, code: str) -> Any:
    """Return the output of a call, or its exception."""
    try:
        return executor(code)
    except BaseException as error:
        return error


ENDING = ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException", "CancelledError"]
#: Programs that raise or throw an exception that ends a process; ``{kind}`` is its class.
RAISING = {
    "raise": "raise {kind}",
    "raise with a message": "raise {kind}('ended by the code')",
    "in a function": "def ends():\n    raise {kind}\nends()",
    "throw into a generator": (
        "def numbers():\n    yield 1\nmade = numbers()\nnext(made)\nmade.throw({kind}())"
    ),
    "from a cleanup": "try:\n    1 / 0\nfinally:\n    raise {kind}",
    "in a group": "raise BaseExceptionGroup('several', [{kind}(), ValueError('one')])",
}


#: Programs in which ``SystemExit`` is not success.
WITH_ANOTHER_VALUE = ("raise with a message", "in a group")


@behaviour("Errors", "Any exception of the code ends its call, not the host.")
@pytest.mark.parametrize("how", RAISING)
@pytest.mark.parametrize("kind", ENDING)
def test_exceptions_that_would_end_a_process(contract, how, kind):
    if how == "in a group" and sys.version_info < (3, 11):
        pytest.skip("groups of exceptions came with Python 3.11")
    executor = contract.shared
    code = "from asyncio import CancelledError\n" + RAISING[how].format(kind=kind)
    if kind == "SystemExit" and how not in WITH_ANOTHER_VALUE:
        assert executor(code).output is None  # as at the end of a Python process
        assert executor("'still there'").output == "still there"
    else:
        assert kind in str(error_of(executor, code))


#: Programs that raise an exception without a text -> what names it.
UNREADABLE = {
    "an argument's repr": (
        "class Argument:\n    def __repr__(self):\n        raise SystemExit(3)\n"
        "raise KeyError(Argument())",
        "KeyError: <exception str() failed: SystemExit>",
    ),
    "itself": (
        "class Itself(BaseException):\n    def __str__(self):\n        raise self\n"
        "raise Itself('never shown')",
        "Itself: <exception str() failed: Itself>",
    ),
    **{
        f"{base} {method} {kind}": (
            "from asyncio import CancelledError\n"
            f"class Unreadable({base}):\n    def {method}(self):\n"
            f"        raise {kind}('of the text')\n    __str__ = {method}\n"
            "raise Unreadable('never shown')",
            f"Unreadable: <exception str() failed: {kind}>",
        )
        for kind in [*ENDING, "ValueError", "StopIteration"]
        for base in ("Exception", "BaseException")
        for method in ("__str__", "__repr__")
    },
}


@behaviour(
    "Errors",
    "An exception whose text cannot be read is named, with the error that its text raised.",
)
@pytest.mark.parametrize("which", UNREADABLE)
def test_exceptions_whose_text_raises(contract, which):
    code, text = UNREADABLE[which]
    assert text in str(error_of(contract.shared, code))


SHAPES = read_programs("errors")


@behaviour(
    "Errors", "The length of an error's message is limited, and so is the cost of formatting it."
)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_an_error_says_is_bounded(contract, shape):
    if "group" in shape and sys.version_info < (3, 11):
        pytest.skip("groups of exceptions came with Python 3.11")
    assert len(str(error_of(contract.limited, SHAPES[shape]))) < 500_000


@behaviour("Errors", "Code too deep for Python's compiler is an error of the step.")
@pytest.mark.parametrize(
    "code",
    [
        "x = " + "-" * 50_000 + "1",
        "x = " + "not " * 20_000 + "1",
        "x = " + "+".join(["1"] * 50_000),
        "x = 1\nx" + ".real" * 20_000,
        "x = " + "lambda:" * 3_000 + "1",
        "x = " + "[" * 3_000 + "]" * 3_000,
        "x = 5\nif x == 0:\n    pass\n"
        + "".join(f"elif x == {n}:\n    pass\n" for n in range(5, 6_000)),
    ],
    ids=["minus", "not", "plus", "attributes", "lambdas", "brackets", "elif"],
)
def test_code_too_deep_for_the_compiler(contract, code):
    error_of(contract.limited, code)


@behaviour("Errors", "Nested finally blocks, which a compiler doubles, cost only time.")
def test_nested_finally_blocks_are_bounded(contract):
    nested = "\n".join(f"{' ' * n}try:\n{' ' * n} done = {n}\n{' ' * n}finally:" for n in range(18))
    executor = contract.limited
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ended = outcome(executor, f"{nested}\n{' ' * 18}done = 18\ndone")
    if isinstance(ended, BaseException):
        assert isinstance(ended, (ForkError, AgentError)), repr(type(ended))
    else:
        assert ended.output == 18
    # In kilobytes; compiled as it is written, it takes 750 MB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    assert executor("'still there'").output == "still there"


#: What gives a sandbox a network, or does without.
REMEDIES = {
    "process": "give the executor allowed_hosts= or network='host'",
    "docker": "give the executor allowed_hosts= or network='bridge'",
    "kubernetes": "give KubernetesEngine allow_network=True",
    "wasm": "use executor_type='docker' with network='bridge'",
}


@behaviour(
    "Network",
    "The error of code that needs a network names the parameter that allows it, and so does output "
    "with its text.",
)
@pytest.mark.parametrize(
    "code",
    [
        "import urllib.request\nurllib.request.urlopen('http://example.org/', timeout=5)",
        "import socket\nsocket.create_connection(('example.org', 80), timeout=5)",
        "import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=5)",
    ],
    ids=["urllib", "name", "address"],
)
def test_missing_network_is_named(contract, code):
    if contract.differs:
        return
    remedy = REMEDIES.get(contract.kind.column) or REMEDIES[contract.kind.name]
    advice = f"\nThis sandbox has no network: {remedy}, or give the agent a tool"
    told = str(error_of(contract.wide, code))
    assert advice in told
    assert len(told) < 600
    caught = (
        f"try:\n{textwrap.indent(code, '  ')}\nexcept OSError as error:\n  print('failed:', error)"
    )
    logs = contract.wide(caught).logs
    assert logs.startswith("failed: ")
    assert advice in logs
    assert logs.endswith("outside\n")


@behaviour("Errors", "A traceback shows the code's own lines, and none of libraries.")
def test_tracebacks_show_the_code_only(contract):
    code = (
        "import json\n\ndef read(text):\n    return json.loads(text)\n\n"
        "try:\n    read('{')\nexcept ValueError as error:\n"
        "    raise RuntimeError('not read') from error"
    )
    told = str(error_of(contract.wide, code))
    assert "RuntimeError: not read" in told
    assert "JSONDecodeError" in told
    assert "line 9" in told
    assert "line 4" in told
    assert "decoder.py" not in told
    assert "smolagents_fork" not in told


@behaviour("Errors", "`pickle` and `copy` copy errors with their class.")
@pytest.mark.parametrize(
    "code",
    [
        "1 / 0",
        "if",
        "raise SystemExit(3)",
        "class Own(Exception): pass\nraise Own('mine')",
        "import time\nwhile True: time.sleep(0.01)",
    ],
)
def test_errors_are_copied_by_pickle(contract, code):
    error = error_of(contract.limited, code)
    for copied in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(copied) is type(error)
        assert str(copied) == str(error)


@behaviour("Errors", "Formatting an error later runs none of the code's methods.")
@pytest.mark.parametrize(
    "raised",
    [
        "Speaking('x')",
        "KeyError(Speaking('x'))",
        "ValueError('x', [Speaking('y')])",
        "Named('x')",
    ],
)
def test_formatting_an_error_runs_no_code(contract, raised):
    called: list[str] = []
    executor = contract.shared
    executor.send_tools({"called": called.append})
    error = error_of(
        executor,
        "def speak(self, *_):\n    called('spoken')\n    return 'spoken'\n"
        "class Speaking(Exception):\n    __str__ = __repr__ = speak\n"
        "class Named(Exception):\n    __notes__ = property(speak)\n"
        f"raise {raised}",
    )
    called.clear()
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    assert type(error).__name__ in text
    assert called == []


@behaviour(
    "Errors",
    "A name or an import that policy refuses raises when its line runs, not before, and can be "
    "caught.",
)
def test_a_refused_name_in_an_unused_function(contract):
    executor = contract.shared
    code = (
        "if False:\n    import socket\ndef imports():\n    import ctypes\n"
        "def unused():\n    return ().__class__.__bases__\nprint('ran')\n1 + 1"
    )
    result = executor(code)
    assert (result.output, result.logs) == (2, "ran\n")
    caught = executor(
        "try:\n    unused()\n    found = 'allowed'\nexcept Exception:\n    found = 'refused'\nfound"
    )
    assert caught.output == ("allowed" if contract.differs else "refused")
