"""What every executor promises, and the one table of where one differs by design.

A test of this suite runs on every executor. Where an executor is listed in :data:`DIFFERENCES`, the
test asks ``contract.differs`` and holds the other behaviour; a test that does not ask fails, and so
does one that asks for nothing. ``docs/executors/index.md`` is made from both tables.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

AREAS = (
    "State",
    "Tools",
    "Managed agents",
    "Final answer",
    "Errors",
    "Output",
    "Values",
    "Limits",
    "Interruption",
    "Cleanup",
)
EXECUTORS = ("local", "process", "docker")

_Function = TypeVar("_Function", bound=Callable[..., object])


@dataclass(frozen=True)
class Behaviour:
    """One promise: the test that holds it, its area, and its words for the page."""

    test: str
    area: str
    words: str
    module: str


@dataclass(frozen=True)
class Difference:
    """Where executors differ from the promise, by design: what holds there instead."""

    executors: tuple[str, ...]
    tests: tuple[str, ...]
    words: str


BEHAVIOURS: dict[str, Behaviour] = {}

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        ("docker",),
        ("test_assignment_is_a_value",),
        "Only an expression at the end has a value, as in any Jupyter kernel; upstream's remote "
        "executors have it so.",
    ),
)


def behaviour(area: str, words: str) -> Callable[[_Function], _Function]:
    """Declare that the decorated test holds a promise.

    Args:
        area: one of :data:`AREAS`.
        words: a sentence for the page.
    """
    if area not in AREAS:
        raise ValueError(f"area {area!r}: one of {AREAS}")

    def declare(function: _Function) -> _Function:
        name = function.__name__
        module = function.__module__.rpartition(".")[2]
        known = BEHAVIOURS.get(name)
        if known is not None and known.module != module:
            raise ValueError(f"{name} is declared in {known.module} and in {module}")
        BEHAVIOURS[name] = Behaviour(name, area, words, module)
        return function

    return declare


def difference(executor: str, test: str) -> Difference | None:
    """The declared difference of ``executor`` in ``test``, if there is one."""
    return next((d for d in DIFFERENCES if executor in d.executors and test in d.tests), None)


def all_behaviours() -> list[Behaviour]:
    """Every promise of the suite, in the order of the areas; imports the suite's modules."""
    for path in sorted(Path(__file__).parent.glob("test_contract_*.py")):
        importlib.import_module(path.stem)
    order = {area: number for number, area in enumerate(AREAS)}
    return sorted(BEHAVIOURS.values(), key=lambda one: order[one.area])
