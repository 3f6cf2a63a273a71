"""The programs: what an agent writes, each with its input size for at least 50 ms in CPython.

They are cases of the interpreter's tests, too (tests/cases/programs/speed.py), with the smaller
size that slow engines get. The first line of a program says both sizes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ...paths import ROOT

__all__ = ["PROGRAMS", "Program"]

_FILE = ROOT / "tests" / "cases" / "programs" / "speed.py"
_PROGRAM = re.compile(r"n = (?P<small>\d+)  # (?P<full>\d+) when it is timed\n(?P<source>.*)", re.S)


@dataclass(frozen=True)
class Program:
    """One program.

    Args:
        name: what it exercises.
        n: input size for at least 50 ms in CPython.
        small: input size for engines some hundred times slower.
        source: the program, which ends in an expression; results are compared by it.
    """

    name: str
    n: int
    small: int
    source: str

    def text(self, n: int) -> str:
        """Return the program at input size ``n``."""
        return f"n = {n}\n{self.source}"


def _load(path: Path) -> tuple[Program, ...]:
    programs = []
    for chunk in path.read_text("utf-8").split("# case: speed-")[1:]:
        name, _, text = chunk.partition("\n")
        match = _PROGRAM.fullmatch(text)
        assert match is not None, name
        sizes = int(match["full"]), int(match["small"])
        programs.append(Program(name.replace("-", " "), *sizes, match["source"]))
    return tuple(programs)


PROGRAMS = _load(_FILE)
