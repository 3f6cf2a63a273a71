"""The part of a cluster that sandboxes belong to, besides the process that started them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..errors import ConfigurationError

__all__ = ["ClusterOwner"]

_MOST_CHARACTERS = 200


@dataclass(frozen=True)
class ClusterOwner:
    """A supervisor on a node of a cluster.

    A process id means nothing outside its machine and its PID namespace. These names identify the
    owner from wherever the node's engine can be reached.

    Args:
        cluster: identifies the cluster for as long as it exists.
        node: Node of the cluster.
        supervisor: identifies one life of a supervisor; one that is started again has another.

    Raises:
        ConfigurationError: a name is empty, too long, or has characters that cannot be printed.
    """

    cluster: str
    node: str
    supervisor: str

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if (
                not isinstance(value, str)
                or not 0 < len(value) <= _MOST_CHARACTERS
                or not value.isprintable()
            ):
                raise ConfigurationError(
                    f"ClusterOwner: {one.name}={value!r}: give 1 to {_MOST_CHARACTERS} printable "
                    "characters"
                )

    def __str__(self) -> str:
        return f"supervisor {self.supervisor} on node {self.node} of cluster {self.cluster}"
