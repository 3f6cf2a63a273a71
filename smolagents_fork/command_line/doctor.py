"""Command ``doctor``: which executors run here, and why others do not."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..executors import registry
from ..executors.administration import CHECKS
from ..system.checks import (
    FAILED,
    OK,
    SKIPPED,
    WARNING,
    Check,
    CheckResult,
    Finding,
    fail,
    ok,
    run_checks,
)
from ..terminal import TerminalConsole
from .inventories import find_cluster
from .outcome import DONE, NOT_DONE, CommandOutcome, UsageError

__all__ = ["ASKED", "doctor"]

#: Executors that are asked for when none is named: the others need an account or a cluster.
ASKED = ("local", "process", "docker", "wasm")
_STYLES = {OK: "green", WARNING: "yellow", FAILED: "red", SKIPPED: "dim"}


def _package(name: str) -> Finding:
    try:
        return ok(f"{name} {importlib.metadata.version(name)}")
    except importlib.metadata.PackageNotFoundError:
        return fail(f"the package {name} is not installed", f"pip install 'smolagents[{name}]'")


def _kubeconfig() -> Finding:
    if cluster := find_cluster():
        return ok(cluster)
    named = os.environ.get("KUBECONFIG", "")
    where = f"KUBECONFIG={named}" if named else "~/.kube/config"
    return fail(f"{where} cannot be read", "set KUBECONFIG to the file of your cluster")


# Checks of what executors on clusters need on this machine.
_CLUSTERS: Mapping[str, Sequence[Check]] = {
    "kubernetes": (
        Check("package", lambda: _package("kubernetes")),
        Check("kubeconfig", _kubeconfig),
    ),
    "ray": (Check("package", lambda: _package("ray")),),
}


@dataclass(frozen=True)
class ExecutorReport:
    """Report about one executor.

    Attributes:
        executor: its name.
        results: of its checks.
    """

    executor: str
    results: Sequence[CheckResult]

    @property
    def runs(self) -> bool:
        """Tell whether no check has failed."""
        return all(result.finding.state != FAILED for result in self.results)


def doctor(arguments: argparse.Namespace) -> CommandOutcome:
    """Check which executors run on this machine."""
    known = list(dict.fromkeys([*registry.available_names(), *_CLUSTERS]))
    if unknown := [name for name in arguments.executors if name not in known]:
        raise UsageError(f"unknown executor {unknown[0]!r}: known are {', '.join(known)}")
    names = list(dict.fromkeys(arguments.executors or ASKED))
    with contextlib.ExitStack() as stack:
        if sys.stderr.isatty():
            stack.enter_context(
                TerminalConsole(stderr=True).status(f"checking {', '.join(names)} ...")
            )
        pool = stack.enter_context(ThreadPoolExecutor(len(names)))
        reports = list(
            pool.map(lambda name: ExecutorReport(name, run_checks(_checks(name))), names)
        )
    others = [name for name in known if name not in names]

    def show(console: Console) -> None:
        for report in reports:
            _show(console, report)
        if others:
            text = f"not checked, because not named: {', '.join(others)}"
            console.print(text, style="dim", soft_wrap=True)

    data = {
        "executors": [
            {
                "executor": report.executor,
                "runs": report.runs,
                "checks": [
                    {
                        "check": result.check,
                        "state": result.finding.state,
                        "found": result.finding.text,
                        "todo": result.finding.todo,
                        "seconds": round(result.seconds, 3),
                    }
                    for result in report.results
                ],
            }
            for report in reports
        ],
        "not_checked": others,
    }
    return CommandOutcome(data, show, DONE if all(report.runs for report in reports) else NOT_DONE)


def _checks(name: str) -> Sequence[Check]:
    own = CHECKS[name]() if name in CHECKS else ()
    if name in registry.BUILT_IN:
        return own
    plug_in = () if name in registry.ENGINES else (Check("executor", lambda: _plug_in(name)),)
    return (*plug_in, *_CLUSTERS.get(name, ()), *own)


def _plug_in(name: str) -> Finding:
    factory = registry.plug_in(name)
    return ok(f"{getattr(factory, '__module__', '')}.{getattr(factory, '__qualname__', factory)}")


def _show(console: Console, report: ExecutorReport) -> None:
    verdict = "runs" if report.runs else "does not run"
    console.print(
        Text.assemble((report.executor, "bold"), ": ", (verdict, "green" if report.runs else "red"))
    )
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for result in report.results:
        finding = result.finding
        text = Text(finding.text)
        if finding.todo:
            text.append(f"\n-> {finding.todo}", style="bold")
        grid.add_row(Text(finding.state, style=_STYLES[finding.state]), result.check, text)
    console.print(Padding(grid, (0, 0, 1, 2)))
