"""Options of the process executor, validated on construction."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ...errors import ConfigurationError
from ...network.network_list import NetworkAccess
from ...options import accept
from ...options.option import option, same_as
from ...options.words import CORES, DISK, ENGINES, PROCESSES
from ...process.child_places import ChildEngine
from ...process.confinement_report import MEASURES
from ...process.restrictions.syscalls import NetworkScope
from ...sandboxes.resource_limits import parse_size, size_or_none
from ..call_options import Arguments
from ..guests.guest_options import GuestOptions, network_of

__all__ = ["ProcessArguments", "ProcessOptions"]

_NETWORKS = network_of(
    ("none", "host"),
    ", the network of this machine; executor_type='docker' has networks of its own",
)
# Imports open files.
_LEAST_FILES = 32


def _measures(name: str, value: Any) -> tuple[str, ...]:
    """Return names of measures; refuse names that are none."""
    measures = accept.names(name, value)
    unknown = sorted(set(measures) - set(MEASURES))
    if unknown:
        raise ConfigurationError(
            f"{name}={unknown}: no such measure; known are: {', '.join(MEASURES)}"
        )
    return measures


def _open_files(name: str, value: Any) -> int:
    count = accept.count(name, value)
    if count < _LEAST_FILES:
        raise ConfigurationError(f"{name}={value}: imports need {_LEAST_FILES} or more")
    return count


@dataclass(frozen=True, kw_only=True)
class ProcessOptions(NetworkAccess, GuestOptions):
    """Options of one executor."""

    memory: int | str | None = same_as(
        GuestOptions, "memory", says="limit of address space, on top of what Python itself uses"
    )
    network: str = same_as(
        GuestOptions,
        "network",
        says='`"host"` keeps the network of this machine, and its files for names and public '
        "certificates, never private keys; no UNIX sockets",
        check=_NETWORKS,
        form='`"none"`, `"host"`',
    )
    cpu_seconds: float | None = option(
        None,
        "processor time of one call, after which the child is killed. `None`: twice "
        "`timeout_seconds` and `interrupt_grace_seconds` together, which only more than one thread "
        "can reach",
        accept.seconds_or_none,
        form="seconds",
        elsewhere=f"cpu_time max_cpu_time {CORES}",
    )
    file_size: int | str | None = option(
        "1g",
        "largest file the code may write",
        size_or_none,
        form="size; `None`: no limit",
        elsewhere=DISK,
    )
    open_files: int = option(
        256,
        "file descriptors at once; half of your hard limit (`ulimit -Hn`) at most",
        _open_files,
        form="descriptors",
    )
    max_threads: int = option(
        256,
        "threads at once; threads created at the same moment may exceed it, by at most their "
        "number",
        accept.count,
        form="threads",
        elsewhere=PROCESSES,
    )
    allow_missing: Sequence[str] = option(
        (),
        "measures to waive if the machine cannot provide them; any other missing measure is an "
        "error at the start",
        _measures,
        form="names of measures",
    )
    allow_unconfined: bool = option(
        False,
        "`True`: waive all measures; the process is separate and can be killed, but is not "
        "confined",
        accept.flag,
    )
    readable_paths: Sequence[str | os.PathLike[str]] = option(
        (), "files and folders the code may read besides libraries", accept.paths, form="paths"
    )

    @property
    def readable(self) -> tuple[str, ...]:
        """Absolute paths the code may read besides libraries."""
        return tuple(os.fspath(path) for path in self.readable_paths)

    @property
    def file_bytes(self) -> int | None:
        """Largest file in bytes; ``None`` for no limit."""
        return parse_size(self.file_size)

    @functools.cached_property
    def required(self) -> frozenset[str]:
        """Measures without which no child starts."""
        optional = set(self.allow_missing)
        optional |= {"network"} if self.has_network else set()
        optional |= {"memory"} if self.memory_bytes is None else set()
        return frozenset(
            () if self.allow_unconfined else (name for name in MEASURES if name not in optional)
        )

    @property
    def run_cpu_seconds(self) -> float | None:
        """Processor time of one run; ``None`` for no limit."""
        if self.cpu_seconds is not None or self.timeout_seconds is None:
            return self.cpu_seconds
        # More than one thread can use more than the wall clock's time, but not without end.
        return 2 * (self.timeout_seconds + self.interrupt_grace_seconds)

    @property
    def has_network(self) -> bool:
        """Tell whether the code keeps the host's network."""
        return self.network == "host"

    @property
    def network_scope(self) -> NetworkScope:
        """Scope of the network that the kernel confines the code to."""
        if self.has_network:
            return "host"
        return "none" if self.allowed_hosts is None else "proxy"

    @property
    def network_remedy(self) -> str:
        """Advice that gives the code a network; empty if it has one."""
        if self.has_network:
            return ""
        return self.network_advice or "give the executor allowed_hosts= or network='host'"

    def check_together(self) -> None:
        """Refuse a list of hosts beside a whole network, or without what enforces it."""
        super().check_together()
        self.check_network(self.network)
        waived = {"network", "syscalls"}.intersection(self.allow_missing)
        if self.allowed_hosts is not None and (waived or self.allow_unconfined):
            raise ConfigurationError(
                "allowed_hosts= needs the measures 'network' and 'syscalls': pass neither "
                "allow_unconfined=True nor their names in allow_missing="
            )


def _engine(name: str, value: Any) -> ChildEngine | None:
    """Return an engine that can run confined children, or ``None``."""
    if value is None:
        return None
    if isinstance(value, type) or not isinstance(value, ChildEngine):
        raise ConfigurationError(
            f"{name}={value!r} runs no confined processes: pass RayEngine(sandbox='process'), or "
            "None for this machine"
        )
    return value


@dataclass(frozen=True)
class ProcessArguments(ProcessOptions, Arguments):
    """Arguments of ProcessExecutor's constructor."""

    _: KW_ONLY
    engine: ChildEngine | None = option(
        None,
        'whose nodes run the child, such as `RayEngine(sandbox="process")`; `None`: this machine',
        _engine,
        form="an engine",
        elsewhere=ENGINES,
    )

    def check_together(self) -> None:
        """Refuse a list of hosts on nodes, whose connections do not reach this machine's proxy.

        Only paths of this machine are looked for.
        """
        super().check_together()
        if self.engine is None:
            accept.existing("readable_paths", self.readable_paths)
        if self.allowed_hosts is not None and self.engine is not None:
            raise ConfigurationError(
                f"allowed_hosts= with engine={self.engine!r}: only children of this machine have a "
                "proxy; omit one of them"
            )
