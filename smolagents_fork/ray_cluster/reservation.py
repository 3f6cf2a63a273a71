"""Reservation of a supervisor: what Ray sets aside on a node for its sandboxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import ConfigurationError

__all__ = ["Reservation", "shown_node"]


def shown_node(address: str, node: str) -> str:
    """Return a node for messages.

    Args:
        address: of the node.
        node: its id, of which the begin tells nodes from each other.
    """
    return f"{address} ({node[:8]})"


@dataclass(frozen=True)
class Reservation:
    """Resources of one supervisor.

    Attributes:
        kind: of its sandboxes, such as ``process``.
        slots: sandboxes at once.
        cpus: cores for each.
        memory: bytes for each; 0: none is set aside.
        lease_seconds: time without a heartbeat after which it closes its sandboxes and ends.
        node: id of the node that it has to be on; empty for any.
    """

    kind: str
    slots: int
    cpus: float
    memory: int
    lease_seconds: float
    node: str = ""

    @property
    def whole_cpus(self) -> float:
        """Cores for all slots."""
        return self.slots * self.cpus

    @property
    def whole_memory(self) -> int:
        """Bytes for all slots."""
        return self.slots * self.memory

    def __str__(self) -> str:
        memory = f" and {self.whole_memory / (1 << 30):.1f} GiB" if self.memory else ""
        return f"{self.whole_cpus:g} CPUs{memory} (slots_per_node={self.slots})"

    def as_data(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(vars(self))

    @classmethod
    def from_data(cls, data: Any) -> Reservation:
        """Rebuild a reservation from the output of :meth:`as_data`.

        Raises:
            ConfigurationError: it is not one.
        """
        try:
            return cls(**data)
        except TypeError as error:
            raise ConfigurationError(f"not a reservation: {error}") from error
