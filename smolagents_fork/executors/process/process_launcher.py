"""Starts the confined children of one process executor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ExecutorStartError, ProtocolError
from ...guest.frames import from_guest
from ...guest.guest_process import GuestProcess
from ...process.child_places import ChildPlace
from ...process.confinement_report import MEASURES
from ..guests.frame_guest import GuestLauncher
from .process_options import ProcessOptions

if TYPE_CHECKING:
    from ...network.host_proxy import SandboxProxy

__all__ = ["ProcessLauncher"]


class ProcessLauncher(GuestLauncher):
    """Starts children that share a folder, one after the other.

    Args:
        options: the executor's.
        imports: modules programs may import besides the built-in list.
        place: where the children run.
        proxy: serves their listeners; ``None``: they have none.
    """

    def __init__(
        self,
        options: ProcessOptions,
        imports: Sequence[str],
        place: ChildPlace,
        proxy: SandboxProxy | None,
    ) -> None:
        super().__init__(options, imports)
        self._required, self._waived = options.required, options.allow_missing
        self._proxy = proxy
        self.place = place
        #: The measures in force, and those that are missing.
        self.report: dict[str, dict[str, str]] = {"in_force": {}, "missing": {}}

    def start_process(self) -> GuestProcess:
        """Fork a child."""
        most = self._options.max_value_bytes
        return self.place.start(from_guest(most, most))

    def accept(self, report: Any) -> None:
        """Refuse a child without a measure that may not be missing."""
        self.report = checked_report(report)
        in_force = self.report["in_force"].keys()
        missing = [name for name in MEASURES if name in self._required - in_force]
        if missing:
            reasons = self.report["missing"]
            lines = "; ".join(f"{name} ({reasons.get(name, 'no reason')})" for name in missing)
            raise ExecutorStartError(
                f"this machine cannot confine the code: {lines}. Use "
                "executor_type='docker', or do without: "
                f"allow_missing={(*sorted(self._waived), *missing)!r}"
            )

    def close(self) -> None:
        """Remove the folder and end the proxy. Idempotent."""
        if self._proxy is not None:
            self._proxy.close()
        self.place.remove()


def checked_report(data: Any) -> dict[str, dict[str, str]]:
    """Check a READY frame and return the measures in force and those missing."""
    if type(data) is not dict or data.keys() != {"in_force", "missing"}:
        raise ProtocolError("a READY frame has what is in force and what is missing")
    for part in data.values():
        if type(part) is not dict or not all(type(text) is str for text in part.values()):
            raise ProtocolError("a READY frame has words for every measure")
    return data
