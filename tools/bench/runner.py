"""A benchmark's command line: measure, print the table, write JSON; ``--record``: the page, too.

The exit status is 0 when every goal was reached, 1 when one was missed or the benchmark found a
fault, and 2 when there was nothing to compare.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from smolagents_fork.errors import ForkError

from .comparison import Goal, Row, compared
from .machine import busy_note, machine, machine_text
from .pristine import PristineError
from .record import write_section

__all__ = ["Benchmark", "Measured", "heading", "record", "started_document"]


@dataclass(frozen=True)
class Measured:
    """Figures of one run.

    Args:
        rows: of the table.
        drawn: another table in place of one of rows, and whether its goals were reached.
        about: of this run, behind the machine's name: images, versions, counts.
        notes: lines below the table.
        raw: further figures for the JSON document.
    """

    rows: Sequence[Row] = ()
    drawn: tuple[str, bool] | None = None
    about: str = ""
    notes: Sequence[str] = ()
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """One command ``python -m tools.bench.NAME`` and one section of the page.

    Args:
        name: of the package below ``tools.bench``, and of the section.
        description: shown by ``--help``.
        goals: by row.
        measure: takes the options and returns the figures.
        arguments: of its own command line: name to default (a number or text) and help.
    """

    name: str
    description: str | None
    goals: Mapping[str, Goal]
    measure: Callable[[argparse.Namespace], Measured]
    arguments: Mapping[str, tuple[int | str, str]] = field(default_factory=dict)

    def run(self, argv: Sequence[str] | None = None) -> int:
        """Run it by its command line and return the exit status.

        Args:
            argv: arguments; ``None``: the process's.
        """
        parser = argparse.ArgumentParser(
            prog=f"python -m tools.bench.{self.name}", description=self.description
        )
        for option, (default, words) in self.arguments.items():
            parser.add_argument(
                f"--{option}", type=type(default), default=default, help=f"{words} (%(default)s)"
            )
        parser.add_argument("--output", type=Path, default=Path("reports"), help="folder for JSON")
        parser.add_argument("--record", action="store_true", help="write it to docs/benchmarks.md")
        options = parser.parse_args(argv)
        document = started_document()
        if busy := busy_note(document["machine"]):
            self.say(f"WARNING: {busy}")
        began = time.monotonic()
        try:
            found = self.measure(options)
        except (ForkError, PristineError) as error:
            self.say(str(error))
            return 2
        table, reached = found.drawn or compared(found.rows, self.goals)
        document |= {
            "seconds": round(time.monotonic() - began, 1),
            "rows": [asdict(row) for row in found.rows],
            "reached": reached,
            **found.raw,
        }
        parts = [heading(document, found.about), table.rstrip("\n"), *found.notes]
        text = "\n\n".join(parts) + "\n"
        record(self.name, document, text, options.output, options.record)
        return 0 if reached else 1

    def say(self, line: str) -> None:
        """Print a line about what is being done, beside the table."""
        print(f"bench-{self.name}: {line}", file=sys.stderr, flush=True)


def started_document() -> dict[str, Any]:
    """Return the date and the machine, before anything is measured."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"date": now.isoformat(timespec="seconds"), "machine": machine()}


def heading(document: Mapping[str, Any], about: str = "") -> str:
    """Return the lines above a table: date, machine, and whether it was busy.

    Args:
        document: of the run.
        about: further words about the run.
    """
    where = document["machine"]
    words = f"Measured {document['date'][:10]} on {machine_text(where)}" + (
        f"; {about}." if about else "."
    )
    busy = busy_note(where)
    return f"{words}\n\n{busy}" if busy else words


def record(name: str, document: Mapping[str, Any], text: str, folder: Path, to_page: bool) -> None:
    """Write a run's JSON document, its section of the page if asked, and print it.

    Args:
        name: of the benchmark.
        document: the run's.
        text: Markdown.
        folder: for the JSON document.
        to_page: whether the page is written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"bench-{name}.json").write_text(json.dumps(document, indent=1) + "\n")
    if to_page:
        write_section(name, text)
    print(text)
