"""Every row of the table of sizes stops a program that makes much, and lets a small one run."""

from __future__ import annotations

from array import array
from collections import deque

import pytest
from program_harness import in_ours, in_python, stopped

from smolagents_fork.interpreter.guarded import Limits
from smolagents_fork.interpreter.guarded.guards.sizes import ESTIMATES

LIMITS = Limits(
    max_items=10_000, max_text_length=10_000, max_integer_bits=10_000, timeout_seconds=300
)
HEAD = "from collections import deque\nfrom array import array\n"
#: A small value of each type.
VALUE = {
    str: "'a\\tb'",
    bytes: "b'a\\tb'",
    bytearray: "bytearray(b'a\\tb')",
    list: "[1, 2]",
    tuple: "(1, 2)",
    deque: "deque([1, 2])",
    array: "array('b', [1, 2])",
    int: "3",
}
#: For each operation: what makes little of a value ``v`` and what makes much.
USES = {
    "*": ("v * 3", "v * 20_000"),
    "**": ("v ** 5", "v ** 20_000"),
    "<<": ("v << 5", "v << 20_000"),
    "%": ("{f}%d{q} % 5", "{f}%20000d{q} % 5"),
    "join": ("v.join([v, v])", "(v * 1000).join([v] * 90)"),
    "center": ("v.center(9)", "v.center(20_000)"),
    "ljust": ("v.ljust(9)", "v.ljust(20_000)"),
    "rjust": ("v.rjust(9)", "v.rjust(20_000)"),
    "zfill": ("v.zfill(9)", "v.zfill(20_000)"),
    "replace": ("v.replace(v, v + v)", "(v * 1000).replace(v, v * 20)"),
    "expandtabs": ("v.expandtabs(9)", "v.expandtabs(20_000)"),
    "translate": ("v.translate({97: 'xyz'})", "(v * 1000).translate({97: 'x' * 50})"),
    "extend": ("(v.extend(v), v)[1]", "[v.extend(v) for _ in range(20)]"),
    "to_bytes": ("v.to_bytes(9, 'big')", "v.to_bytes(20_000, 'big')"),
}
ROWS = [
    pytest.param(kind, operation, id=f"{kind.__name__} {operation}")
    for kind, operation in ESTIMATES
]


def uses(kind: type, operation: str) -> tuple[str, str]:
    value = f"v = {VALUE[kind]}\n"
    small, large = USES[operation]
    if operation == "%":
        begin = {str: "'", bytes: "b'", bytearray: "bytearray(b'"}[kind]
        end = "')" if kind is bytearray else "'"
        small, large = (text.format(f=begin, q=end) for text in (small, large))
    return HEAD + value + f"result = {small}", HEAD + value + f"result = {large}"


@pytest.mark.parametrize(("kind", "operation"), ROWS)
def test_a_row_stops_what_makes_much_and_nothing_else(kind: type, operation: str) -> None:
    small, large = uses(kind, operation)
    assert repr(in_ours(small, "array")) == repr(in_python(small))
    said = stopped(large, LIMITS, "array")
    assert " would make " in said
    assert "; a single operation may make" in said


@pytest.mark.parametrize(("kind", "operation"), ROWS)
def test_a_row_applies_to_every_form_of_its_operation(kind: type, operation: str) -> None:
    """By getattr, by the type, in place, by ``operator`` and in derived classes."""
    value = VALUE[kind]
    name = {"*": "mul", "**": "pow", "<<": "lshift", "%": "mod"}.get(operation)
    if name is None:
        call = USES[operation][1]
        call = call.replace("(v * 1000).", "w.")
        forms = [
            call.replace(f"v.{operation}(", f"object.__getattribute__(v, {operation!r})(").replace(
                f"w.{operation}(", f"object.__getattribute__(w, {operation!r})("
            ),
            call.replace(f"v.{operation}(", f"getattr(v, {operation!r})(").replace(
                f"w.{operation}(", f"getattr(w, {operation!r})("
            ),
            call.replace(f"v.{operation}(", f"type(v).{operation}(v, ").replace(
                f"w.{operation}(", f"type(w).{operation}(w, "
            ),
        ]
        setup = f"v = {value}\nw = v * 1000\n"
    else:
        right = "20_000" if operation != "%" else "5"
        setup = f"v = {value}\n"
        if operation == "%":
            setup = "v = " + uses(kind, "%")[1].rsplit("result = ", 1)[1].rsplit(" % ", 1)[0] + "\n"
        forms = [
            f"operator.{name}(v, {right})",
            f"list(map(operator.{name}, [v], [{right}]))",
            f"v {operation}= {right}",
            f"d = [v]\nd[0] {operation}= {right}",
            f"class O: pass\no = O()\no.n = v\no.n {operation}= {right}",
        ]
        if operation == "*":
            forms.append("20_000 * v")
    if kind is not array and kind is not deque:
        base = kind.__name__
        derived = f"class D({base}): pass\n" + setup.replace(f"v = {value}", f"v = D({value})")
        if operation == "%":
            template = setup.removeprefix("v = ").strip()
            derived = f"class D({base}): pass\nv = D({template})\n"
        use = USES[operation][1] if operation != "%" else "v % 5"
        stopped(HEAD + derived + use, LIMITS, "array")
    for form in forms:
        stopped(HEAD + "import operator\n" + setup + form, LIMITS, "array", "operator")
