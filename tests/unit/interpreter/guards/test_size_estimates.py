"""Every row of the table of sizes stops a program that makes much, and lets a small one run."""

from __future__ import annotations

import pytest
from case_harness import run_ours, run_reference
from program_harness import stopped

from smolagents_fork.errors import LimitExceededError
from smolagents_fork.executors.local import LocalPythonExecutor
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits
from smolagents_fork.interpreter.guarded.guards.sizes import ESTIMATES

LIMITS = RunLimits(
    max_items=10_000, max_text_length=10_000, max_integer_bits=10_000, timeout_seconds=300
)
HEAD = "import operator\nfrom collections import deque\nfrom array import array\n"
TEXTS = ("'a\\tb'", "b'a\\tb'", "bytearray(b'a\\tb')")
SEQUENCES = (*TEXTS, "[1, 2]", "(1, 2)", "deque([1, 2])", "array('b', [1, 2])")
#: For each operation: its receivers, what makes little of one, ``v``, and what makes much.
USES = {
    "*": ((*SEQUENCES, "7 ** 900"), "v * 3", "v * (9 ** 9_000 if isinstance(v, int) else 20_000)"),
    "**": (("3",), "v ** 5", "v ** 20_000"),
    "<<": (("3",), "v << 5", "v << 20_000"),
    "join": (TEXTS, "v.join([v, v])", "(v * 1000).join([v] * 90)"),
    "replace": (TEXTS, "v.replace(v, v + v)", "(v * 1000).replace(v, v * 20)"),
    "expandtabs": (TEXTS, "v.expandtabs(9)", "(v * 1000).expandtabs(90)"),
    **{
        name: (TEXTS, f"v.{name}(9)", f"v.{name}(20_000)")
        for name in ("center", "ljust", "rjust", "zfill")
    },
    "to_bytes": (("3",), "v.to_bytes(9, 'big')", "v.to_bytes(20_000, 'big')"),
}
ROWS = [
    pytest.param(name, value, id=f"{name} of {value}") for name in USES for value in USES[name][0]
]


def test_every_row_is_exercised() -> None:
    assert USES.keys() == ESTIMATES.keys()


@pytest.mark.parametrize(("operation", "value"), ROWS)
def test_a_row_stops_what_makes_much_and_nothing_else(operation: str, value: str) -> None:
    _values, small, large = USES[operation]
    small = f"{HEAD}v = {value}\nresult = {small}"
    interpreter = Interpreter(["array", "operator"])
    assert run_ours(small, interpreter=interpreter) == run_reference(small)
    said = stopped(f"{HEAD}v = {value}\n{large}", LIMITS, "array", "operator")
    assert " would make " in said
    assert "; a single operation may make 10000 (max_" in said


@pytest.mark.parametrize(("operation", "value"), ROWS)
def test_a_row_applies_to_every_form_of_its_operation(operation: str, value: str) -> None:
    """By the type, in place, by ``operator`` and in derived classes."""
    large = USES[operation][2]
    setup = f"{HEAD}v = {value}\nw = v * 1000\n"
    name = {"*": "mul", "**": "pow", "<<": "lshift"}.get(operation)
    if name is None:
        call = large.replace("(v * 1000).", "w.")
        receiver, rest = call.split(f".{operation}(", 1)
        forms = [
            f"type({receiver}).{operation}({receiver}, {rest}",
            f"class D(type(v)): pass\nv = D(v)\nw = D(w)\n{call}",
        ]
    else:
        right = large.split(" ", 2)[2]
        forms = [
            f"operator.{name}(v, {right})",
            f"list(map(operator.{name}, [v], [{right}]))",
            f"v {operation}= {right}",
            f"def f():\n    v = w\n    v {operation}= {right}\nf()",
            f"d = [v]\nd[0] {operation}= {right}",
            f"class O: pass\no = O()\no.n = v\no.n {operation}= {right}",
            f"class D(type(v)): pass\nD(*([v] if type(v).__name__ != 'array' else ['b', v]))"
            f" {operation} {right}",
        ]
        if operation == "*":
            forms.append(f"{right} * v")
    for form in forms:
        stopped(setup + form, LIMITS, "array", "operator")


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("max_items", "[0] * 5_000", "A multiplication would make 5000 items"),
        ("max_items", "5_000 * (0,)", "A multiplication would make 5000 items"),
        ("max_text_length", "'a' * 5_000", "A multiplication would make 5000 characters or bytes"),
        ("max_text_length", "'a'.ljust(5_000)", r"ljust\(\) would make 5000 characters or bytes"),
        ("max_integer_bits", "2 ** 5_000", "A power would make an integer of"),
        ("max_integer_bits", "1 << 5_000", "A shift would make an integer of"),
    ],
)
def test_the_parameter_that_a_message_names_raises_the_limit(
    name: str, code: str, words: str
) -> None:
    with pytest.raises(LimitExceededError, match=rf"{words}.* may make 100 \({name}\)"):
        LocalPythonExecutor([], **{name: 100})(code)  # type: ignore[arg-type]
    LocalPythonExecutor([], **{name: 10_000})(code)  # type: ignore[arg-type]
