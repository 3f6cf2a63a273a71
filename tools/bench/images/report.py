"""The builds' figures as rows of the table, and the goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..comparison import Goal, Row

__all__ = ["GOALS", "rows"]

#: Of pip's own time for the same list; of what pip leaves when kernel and gateway are installed by
#: name. Issue 16's table: 250 MB of 380.
GOALS = {"the core: build": Goal(1.2), "the core: size on the base": Goal(250 / 380)}
_NAMES = {"core": "the core", "five": "five packages", "more": "one more package"}


def rows(floor: Sequence[Mapping[str, Any]], fork: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Rows of one run.

    Args:
        floor: seconds and bytes of pip alone, by image, a round each.
        fork: those of the builds.
    """
    sides = (fork, floor)
    found = [
        Row(f"{name}: build", ours, "s", pip)
        for key, name in _NAMES.items()
        for ours, pip in [[_best(side, key, "seconds") for side in sides]]
    ]
    by_name = _best(floor, "by name", "bytes")
    found.append(Row("the core: size on the base", _best(fork, "core", "bytes"), "MB", by_name))
    for key, before in (("five", "core"), ("more", "five")):
        ours, pip = (_best(side, key, "bytes") - _best(side, before, "bytes") for side in sides)
        found.append(Row(f"{_NAMES[key]}: size added", ours, "MB", pip))
    return found


def _best(rounds: Sequence[Mapping[str, Any]], image: str, what: str) -> float:
    return float(min(one[image][what] for one in rounds))
