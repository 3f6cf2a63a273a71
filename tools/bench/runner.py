"""Run one benchmark: measure, print the table, write pyperf's JSON; ``--record``: the page, too."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyperf

from ..paths import REPORTS, ROOT
from .table import Row, draw, suite

__all__ = [
    "PAGE",
    "Measured",
    "collect_metadata",
    "machine_text",
    "put_section",
    "record",
    "say",
]

#: The page with the last recorded run of every benchmark, each between its markers.
PAGE = ROOT / "docs" / "benchmarks.md"
#: Share of the cores that other work may take before a run says that it was disturbed.
_BUSY_SHARE = 0.5


@dataclass(frozen=True)
class Measured:
    """Figures of one run.

    Args:
        rows: of the table.
        about: of this run, behind the machine's name: images, versions, counts.
        notes: lines below the table.
        table: another drawing of the rows, and whether its goals were reached.
    """

    rows: Sequence[Row]
    about: str = ""
    notes: Sequence[str] = ()
    table: tuple[str, bool] | None = None


def say(line: str) -> None:
    """Print a line about what is being done, beside the table."""
    print(f"bench: {line}", file=sys.stderr, flush=True)


def machine_text(metadata: dict[str, Any]) -> str:
    """Return the lines about date and machine, and whether it was busy.

    Args:
        metadata: that pyperf has collected before the run.
    """
    load, cores = float(metadata["load_avg_1min"]), int(metadata["cpu_count"])
    text = (
        f"Measured {metadata['date'][:10]} on {cores} cores ({metadata.get('cpu_model_name')}), "
        f"{metadata['platform']}, Python {metadata['python_version']}, load {load:.1f} before"
    )
    if load > cores * _BUSY_SHARE:
        text += ", which is BUSY: a quiet machine gives smaller times on all sides"
    return text


def collect_metadata() -> dict[str, Any]:
    """Return what pyperf knows of the machine now."""
    return dict(pyperf.Run([1.0]).get_metadata())


def record(name: str, metadata: dict[str, Any], measured: Measured, to_page: bool) -> bool:
    """Print a run's table and write it; return whether every goal was reached.

    Args:
        name: of the benchmark.
        metadata: of the machine, from before the run.
        measured: figures of the run.
        to_page: whether the page is written too.
    """
    table, reached = measured.table or draw(measured.rows)
    about = f"; {measured.about}." if measured.about else "."
    text = "\n\n".join([machine_text(metadata) + about, table.rstrip("\n"), *measured.notes])
    REPORTS.mkdir(exist_ok=True)
    results = suite(measured.rows)
    results.dump(str(REPORTS / f"bench-{name}.json"), replace=True)
    if to_page:
        PAGE.write_text(put_section(PAGE.read_text("utf-8"), name, text), "utf-8")
    print(text)
    return reached


def put_section(page: str, name: str, text: str) -> str:
    """Return a page's text with ``text`` between the markers of a section.

    Raises:
        ValueError: the page does not have the section's two markers, once each and in order.
    """
    begin, end = f"<!-- bench {name} -->\n", f"<!-- end bench {name} -->"
    before, first, rest = page.partition(begin)
    _, second, after = rest.partition(end)
    if not first or not second or begin in rest or end in before + after:
        raise ValueError(
            f"{PAGE.name} has no section {name!r}: it needs the lines {begin.strip()!r} and "
            f"{end!r}, once each and in this order"
        )
    return f"{before}{begin}\n{text.strip()}\n\n{end}{after}"
