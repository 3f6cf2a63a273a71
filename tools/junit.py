"""Reads pytest's JUnit file: one outcome for each test."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tools.errors import SuiteError

__all__ = ["Outcome", "Status", "node_id", "read_junit"]

Status = Literal["passed", "failed", "error", "skipped", "missing"]

# Good to bad.
_TAGS: dict[str, Status] = {
    "": "passed",
    "skipped": "skipped",
    "failure": "failed",
    "error": "error",
}
_ORDER = list(_TAGS.values())


@dataclass(frozen=True)
class Outcome:
    """Outcome of a test on one side.

    Attributes:
        status: ``missing`` when the side has no such test.
        message: the first words of the failure, or the reason of a skip.
        text: everything pytest wrote about it.
        seconds: what it took.
    """

    status: Status
    message: str = ""
    text: str = ""
    seconds: float = 0.0


def node_id(classname: str, name: str) -> str:
    """pytest's id of a test from the two attributes of a ``testcase``.

    pytest writes ``tests/test_a.py::TestB::test_c[x]`` as ``tests.test_a.TestB`` and
    ``test_c[x]``. Test modules are the ones whose last part starts with ``test_``; upstream has no
    class of that form.

    Args:
        classname: dotted module and classes; empty for a module that could not be collected.
        name: the test with its parameters, or the dotted module in that case.
    """
    parts = (classname or name).split(".")
    rest = [name] if classname else []
    for index, part in enumerate(parts):
        if part.startswith("test_"):
            path = "/".join(parts[: index + 1]) + ".py"
            return "::".join([path, *parts[index + 1 :], *rest])
    return "::".join([*parts, *rest])


def read_junit(path: Path) -> dict[str, Outcome]:
    """Outcomes by test id, in the file's order.

    A test that occurs twice (its body passed, its teardown did not) has the worst of its outcomes.

    Raises:
        SuiteError: the file is missing, no XML, or names no test.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise SuiteError(f"{path}: no readable JUnit file: {error}") from error
    outcomes: dict[str, Outcome] = {}
    for case in root.iter("testcase"):
        key = node_id(case.get("classname") or "", case.get("name") or "")
        seconds = float(case.get("time") or 0)
        said = [element for element in case if element.tag in _TAGS]
        found = [Outcome("passed", seconds=seconds)] + [
            Outcome(_TAGS[one.tag], one.get("message") or "", one.text or "", seconds)
            for one in said
        ]
        known = [outcomes[key]] if key in outcomes else []
        outcomes[key] = max([*known, *found], key=lambda one: _ORDER.index(one.status))
    if not outcomes:
        raise SuiteError(f"{path}: names no test at all; the run collected nothing")
    return outcomes
