"""Writes a report: JUnit, JSON, and a table in the terminal."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tools.regression.causes import UNEXPLAINED
from tools.regression.comparison import Comparison, Kind, Report

__all__ = ["show", "write"]

# Tests listed one by one in each section; the JSON report has all.
SHOWN_AT_MOST = 50

# Characters that XML 1.0 cannot hold (section 2.2).
_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


def _clean(text: str) -> str:
    return _NOT_XML.sub("?", text)


def _verdict(case: ElementTree.Element, found: Comparison) -> None:
    sides = f"{found.pristine.status} on pristine, {found.fork.status} on the fork"
    if found.kind is Kind.UNDECLARED:
        failure = ElementTree.SubElement(case, "failure", message=f"undeclared difference: {sides}")
        failure.text = _clean(f"{found.fork.message}\n{found.fork.text}")
    elif found.kind in (Kind.SKIPPED_BOTH, Kind.DECLARED):
        message = _clean(f"{found.kind.value}: {found.reason}")
        ElementTree.SubElement(case, "skipped", message=message)
    elif found.kind is Kind.FAILED_BOTH:
        cause = found.cause.name if found.cause else UNEXPLAINED
        ElementTree.SubElement(case, "skipped", message=f"{found.kind.value}: {cause}")
    elif found.kind in (Kind.FLAKY, Kind.GAINED):
        output = ElementTree.SubElement(case, "system-out")
        output.text = f"{found.kind.value}: {sides}"


def write(report: Report, folder: Path) -> None:
    """Write ``regression.xml`` and ``regression.json`` into a folder, making it if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    suite = ElementTree.Element("testsuite", name=f"upstream {report.release}")
    for found in report.comparisons:
        classname, _, name = found.test.rpartition("::")
        seconds = f"{found.fork.seconds:.3f}"
        case = ElementTree.SubElement(
            suite, "testcase", classname=_clean(classname), name=_clean(name), time=seconds
        )
        _verdict(case, found)
    for sentence in report.stale:
        case = ElementTree.SubElement(
            suite, "testcase", classname="deviations", name=_clean(sentence.split(": declared")[0])
        )
        ElementTree.SubElement(case, "failure", message=_clean(f"stale deviation: {sentence}"))
    for attribute, tag in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite)))
    suite.set("errors", "0")
    tree = ElementTree.ElementTree(suite)
    ElementTree.indent(tree)
    tree.write(folder / "regression.xml", encoding="utf-8", xml_declaration=True)
    text = json.dumps(report.as_dict(), indent=2, ensure_ascii=False)
    (folder / "regression.json").write_text(text + "\n", "utf-8")


def _counts(report: Report) -> Table:
    table = Table(
        title=f"upstream {report.release}'s tests: pristine beside {report.fork_version}",
        title_justify="left",
    )
    table.add_column("")
    table.add_column("tests", justify="right")
    table.add_row("collected", str(len(report.comparisons)))
    table.add_row("ran on pristine", str(report.ran))
    for kind in Kind:
        count = len(report.of(kind))
        bad = kind is Kind.UNDECLARED and count
        table.add_row(kind.value, str(count), style="bold red" if bad else None)
    stale = len(report.stale)
    table.add_row("stale declarations", str(stale), style="bold red" if stale else None)
    return table


def _causes(report: Report) -> Table:
    table = Table(title="failed on both, by cause", title_justify="left")
    table.add_column("cause")
    table.add_column("tests", justify="right")
    table.add_column("rule that matched", overflow="fold")
    for cause, count in report.causes.most_common():
        style = "bold yellow" if cause.name == UNEXPLAINED else None
        table.add_row(cause.name, str(count), escape(cause.rule or "none"), style=style)
    return table


def _skips(report: Report) -> Table:
    table = Table(title="skipped on both, by reason", title_justify="left")
    table.add_column("reason", overflow="fold")
    table.add_column("tests", justify="right")
    reasons: dict[str, int] = {}
    for found in report.of(Kind.SKIPPED_BOTH):
        reasons[found.reason] = reasons.get(found.reason, 0) + 1
    for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
        table.add_row(escape(reason), str(count))
    return table


def _line(found: Comparison) -> str:
    words = " ".join(found.fork.message.split())
    said = f": {words[:200]}" if words and found.fork.status != "passed" else ""
    again = "".join(f", again {one.status}/{two.status}" for one, two in found.again)
    return f"{found.test}\n    {found.pristine.status}/{found.fork.status}{again}{said}"


def show(report: Report, console: Console) -> None:
    """Print the report; each pair of outcomes is pristine's first, then the fork's."""
    console.print(_counts(report))
    if report.causes:
        console.print(_causes(report))
    if report.of(Kind.SKIPPED_BOTH):
        console.print(_skips(report))
    hidden = [found for found in report.of(Kind.FAILED_BOTH) if found.fork_cause]
    sections = (
        ("UNDECLARED DIFFERENCES", "bold red", report.of(Kind.UNDECLARED)),
        ("UNEXPLAINED failures on both sides", "bold yellow", report.unexplained),
        ("fails on both, for another cause on the fork", "bold yellow", hidden),
        ("flaky: did not differ each time it ran", "yellow", report.of(Kind.FLAKY)),
        ("passes on the fork only", "green", report.of(Kind.GAINED)),
        ("declared differences", "cyan", report.of(Kind.DECLARED)),
    )
    for title, style, members in sections:
        if members:
            console.print(f"{title} ({len(members)})", style=style)
            for found in members[:SHOWN_AT_MOST]:
                reason = f"\n    {found.reason}" if found.kind is Kind.DECLARED else ""
                console.print(f"  {escape(_line(found) + reason)}", highlight=False)
            if len(members) > SHOWN_AT_MOST:
                console.print(f"  and {len(members) - SHOWN_AT_MOST} more, in regression.json")
    for sentence in report.stale:
        console.print(f"STALE DEVIATION: {escape(sentence)}", style="bold red")
    for group, words in report.absent.items():
        console.print(f"absent on both sides: {group}: {escape(words)}", style="yellow")
    for note in report.notes:
        console.print(f"note: {escape(note)}", highlight=False)
    took = ", ".join(f"{name} {value:.0f} s" for name, value in report.seconds.items())
    console.print(f"took: {took}", highlight=False)
