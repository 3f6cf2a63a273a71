"""Outcomes of tests in a JUnit file that pytest has written, read by junitparser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import ParseError

from junitparser import JUnitXml, JUnitXmlError, TestCase, TestSuite

from tools.errors import SuiteError

__all__ = ["Outcome", "Status", "node_id", "read_junit"]

Status = Literal["passed", "failed", "error", "skipped", "missing"]
# Good to bad, by the name of junitparser's class.
_STATUSES: dict[str, Status] = {"Skipped": "skipped", "Failure": "failed", "Error": "error"}
_ORDER: list[Status] = ["passed", *_STATUSES.values()]


@dataclass(frozen=True)
class Outcome:
    """Outcome of a test on one side.

    Attributes:
        status: ``missing`` when the side has no such test.
        message: the first words of the failure, or the reason of a skip.
        text: everything pytest wrote about it.
    """

    status: Status
    message: str = ""
    text: str = ""


def node_id(classname: str, name: str) -> str:
    """Return pytest's id of a test from the two attributes of a ``testcase``.

    Args:
        classname: dotted module and classes, such as ``tests.test_a.TestB``; empty for a module
            that could not be collected. Test modules are those whose last part starts with
            ``test_``; upstream has no class of that form.
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
    """Return outcomes by test id, in the file's order.

    A test that occurs twice (its body passed, its teardown did not) has the worst of its outcomes.

    Raises:
        SuiteError: the file is missing, not XML, or names no test.
    """
    try:
        root = JUnitXml.fromfile(str(path))
    except (OSError, ParseError, JUnitXmlError) as error:
        raise SuiteError(f"{path}: no readable JUnit file: {error}") from error
    outcomes: dict[str, Outcome] = {}
    for suite in [root] if isinstance(root, TestSuite) else root:
        for case in suite:
            key = node_id(case.classname or "", case.name or "")
            candidates = [*([outcomes[key]] if key in outcomes else []), *_outcomes(case)]
            outcomes[key] = max(candidates, key=lambda outcome: _ORDER.index(outcome.status))
    if not outcomes:
        raise SuiteError(f"{path}: names no test at all; the run collected nothing")
    return outcomes


def _outcomes(case: TestCase) -> list[Outcome]:
    return [
        Outcome("passed"),
        *(
            Outcome(_STATUSES[type(result).__name__], result.message or "", result.text or "")
            for result in case.result
        ),
    ]
