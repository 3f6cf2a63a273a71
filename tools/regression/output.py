"""Print a report as a table and lists of tests."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tools.regression.causes import UNEXPLAINED
from tools.regression.comparison import Comparison, Kind, Report

__all__ = ["show"]

# Tests listed one by one in each section; the JUnit files of both sides have all.
SHOWN_AT_MOST = 50


def _line(pair: Comparison) -> str:
    words = " ".join(pair.fork.message.split())
    said = f": {words[:200]}" if words and pair.fork.status != "passed" else ""
    again = "".join(f", again {pristine.status}/{fork.status}" for pristine, fork in pair.again)
    reason = f"\n    {pair.reason}" if pair.kind is Kind.DECLARED else ""
    return f"{pair.test}\n    {pair.pristine.status}/{pair.fork.status}{again}{said}{reason}"


def show(report: Report, console: Console) -> None:
    """Print the report; each pair of outcomes is pristine's first, then the fork's."""
    title = f"upstream {report.release}'s tests: pristine beside {report.fork_version}"
    table = Table("", "", title=title, title_justify="left")
    table.add_column("tests", justify="right")
    table.add_row("collected", "", str(len(report.comparisons)))
    table.add_row("ran on pristine", "", str(report.ran))
    counts = report.causes.most_common()
    causes = {f"{cause.name} ({cause.rule or 'no rule'})": count for cause, count in counts}
    skips = Counter(pair.reason for pair in report.of(Kind.SKIPPED_BOTH))
    parts = {Kind.FAILED_BOTH: causes, Kind.SKIPPED_BOTH: dict(skips.most_common())}
    for kind in Kind:
        count = len(report.of(kind))
        style = "bold red" if kind is Kind.UNDECLARED and count else ""
        table.add_row(kind.value, "", str(count), style=style)
        for words, part in parts.get(kind, {}).items():
            table.add_row("", escape(words), str(part))
    table.add_row("stale declarations", "", str(len(report.stale)))
    console.print(table)
    hidden = [pair for pair in report.of(Kind.FAILED_BOTH) if pair.fork_cause]
    sections = (
        ("UNDECLARED DIFFERENCES", "bold red", report.of(Kind.UNDECLARED)),
        (f"{UNEXPLAINED.name.upper()} failures on both sides", "bold yellow", report.unexplained),
        ("fails on both, for another cause on the fork", "bold yellow", hidden),
        ("flaky: did not differ each time it ran", "yellow", report.of(Kind.FLAKY)),
        ("passes on the fork only", "green", report.of(Kind.GAINED)),
        ("declared differences", "cyan", report.of(Kind.DECLARED)),
    )
    for title, style, members in sections:
        if members:
            console.print(f"{title} ({len(members)})", style=style)
            for pair in members[:SHOWN_AT_MOST]:
                console.print(f"  {escape(_line(pair))}", highlight=False)
            if len(members) > SHOWN_AT_MOST:
                console.print(f"  and {len(members) - SHOWN_AT_MOST} more")
    for text in (
        *(f"STALE DEVIATION: {sentence}" for sentence in report.stale),
        *(f"absent on both sides: {group}: {words}" for group, words in report.absent.items()),
        *(f"note: {note}" for note in report.notes),
    ):
        console.print(escape(text), highlight=False)
