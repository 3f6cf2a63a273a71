"""Table of hostile programs: ``programs/*.py`` and the programs found by the fuzzer.

Format of a file in ``programs/``::

    # a comment on the file
    # imports: array          headers of the file, for every program in it
    import array              code that every program begins with
    # hostile: name-of-the-program
    # local: no why           `local` does not stop it; it must stop every other program
    # imports: numpy, pandas  authorised beside the harmless modules of the case corpus
    # limit: why              it attacks a limit, not a guard
    # ends: quietly why       in `local` it may end without an error, if its canary is not reached
    # memory: why             in `local` a MemoryError is an answer: nothing was allocated
    # outside: what           its canary says that something outside the process was reached
    # documented: words       the words by which docs/executors/local.md names what does not hold
    # weak: why               plain CPython cannot show it reaching its canary

A file of ``tests/fuzz/corpus/`` is one program of the family ``corpus``, headers first.
Only the standard library is used here, so that the same table runs in Pyodide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from case_harness import AUTHORISED

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
CORPUS = HERE.parent / "fuzz" / "corpus"
HARMLESS_MODULES = [name for name in AUTHORISED if name not in ("numpy", "pandas")]
HEADERS = ("local", "imports", "limit", "ends", "memory", "outside", "documented", "weak")
_HEADER = re.compile(rf"# ({'|'.join(HEADERS)}): *(.*)\n")
_NAME = re.compile(r"^# hostile: *(.*)\n", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """One hostile program and its expected behaviour."""

    family: str
    name: str
    code: str
    path: Path = field(repr=False)
    line: int
    local: str = ""
    imports: tuple[str, ...] = ()
    limit: str = ""
    ends: str = ""
    memory: str = ""
    outside: str = ""
    documented: str = ""
    weak: str = ""

    @property
    def id(self) -> str:
        return f"{self.family}::{self.name}"

    @property
    def modules(self) -> list[str]:
        return [*HARMLESS_MODULES, *self.imports]

    @property
    def in_local(self) -> bool:
        """Return whether ``local`` must stop it."""
        return not self.local

    def shown(self) -> str:
        """Text of the program for a test's message."""
        return f"{self.id} ({self.path.name} line {self.line})\n{self.code}"


def read_programs(path: Path) -> Iterator[Program]:
    """Read every program of one file of ``programs/``, in order."""
    text = path.read_text(encoding="utf-8")
    starts = list(_NAME.finditer(text))
    shared, prelude = _headers(_without_comments(text[: starts[0].start()]))
    ends = [match.start() for match in starts[1:]] + [len(text)]
    for match, end in zip(starts, ends, strict=True):
        options, body = _headers(text[match.end() : end])
        line = text.count("\n", 0, match.start()) + 1
        code = prelude + body.rstrip() + "\n"
        name = match.group(1).strip()
        yield Program(path.stem, name, code, path, line, **{**shared, **options})


def read_corpus() -> Iterator[Program]:
    """Read every program found by the fuzzer."""
    for path in sorted(CORPUS.glob("*.py")):
        options, code = _headers(path.read_text(encoding="utf-8"))
        yield Program("corpus", path.stem, code, path, 1, **options)


def all_programs() -> list[Program]:
    """Return the whole table."""
    files = sorted(PROGRAMS.glob("*.py"))
    return [program for path in files for program in read_programs(path)] + list(read_corpus())


def in_parts(programs: Sequence[Program], size: int) -> dict[str, list[Program]]:
    """Group programs by family in parts of at most ``size``, one test per part."""
    families: dict[str, list[Program]] = {}
    for program in programs:
        families.setdefault(program.family, []).append(program)
    return {
        f"{family}-{number // size}": members[number : number + size]
        for family, members in families.items()
        for number in range(0, len(members), size)
    }


def _headers(body: str) -> tuple[dict[str, Any], str]:
    """Split a text into its headers and the rest."""
    options: dict[str, Any] = {}
    while match := _HEADER.match(body):
        key, text = match.groups()
        options[key] = tuple(re.split(r", *", text)) if key == "imports" else text
        body = body[match.end() :]
    return options, body


def _without_comments(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(n for n in lines if not n.startswith("#") or _HEADER.match(n))
