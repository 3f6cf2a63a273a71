"""Administration of the process executor: the measures of the kernel."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence

from ...process.confinement_report import MeasureTable
from ...process.restrictions import landlock
from ...system.checks import Check, Finding, failed, ok, warning
from ..administration import Administration, run_check
from .process_executor import ProcessExecutor

__all__ = ["ProcessAdministration"]

_START_SECONDS = 60.0
_ELSEWHERE = "use executor_type='docker' or 'wasm'"


class ProcessAdministration(Administration):
    """Administration of the process executor."""

    def checks(self) -> Sequence[Check]:
        measures = _Measures()
        return (
            Check("system", _system),
            Check("confined child", measures.child, _START_SECONDS, needs="system"),
            Check("Landlock", measures.landlock, needs="confined child"),
            Check("seccomp", measures.seccomp, needs="confined child"),
            Check("user namespaces", measures.namespaces, needs="confined child"),
            run_check(ProcessExecutor, needs="confined child"),
        )


def _system() -> Finding:
    if sys.platform == "linux":
        return ok("Linux")
    return failed(f"{sys.platform}: only Linux's kernel confines a process", _ELSEWHERE)


class _Measures:
    """Measures in force in a child that is started for the checks."""

    @functools.cached_property
    def _table(self) -> MeasureTable:
        return ProcessExecutor.measures()

    def child(self) -> Finding:
        missing = [row for row in self._table if not row.in_force]
        if not missing:
            return ok(f"starts, with all {len(self._table.rows)} measures in force")
        names = [row.measure for row in missing]
        return warning(
            f"starts, without: {'; '.join(f'{row.measure} ({row.missing})' for row in missing)}",
            f"{_ELSEWHERE}, or do without: allow_missing={tuple(names)!r}",
        )

    def landlock(self) -> Finding:
        row, version = self._table["filesystem"], landlock.abi_version()
        if row.in_force:
            return ok(f"version {version}")
        return failed(
            row.missing,
            "a kernel since 5.13 has it: add landlock to lsm= on its command line; in a "
            f"container, allow its three system calls (seccomp=). Or {_ELSEWHERE}",
        )

    def seccomp(self) -> Finding:
        row = self._table["syscalls"]
        if row.in_force:
            return ok(row.held_by)
        return failed(row.missing, f"needs Linux on x86_64 or aarch64. Or {_ELSEWHERE}")

    def namespaces(self) -> Finding:
        if "namespace" in self._table["network"].held_by:
            return ok("a child gets a network of its own, without interfaces")
        return warning(
            "this user may not create any: sockets are refused by seccomp alone",
            "a second barrier only: set kernel.unprivileged_userns_clone=1, or "
            "kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu",
        )
