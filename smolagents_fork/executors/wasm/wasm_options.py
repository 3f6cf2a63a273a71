"""The options of the Wasm executor, checked where they are given."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ...errors import ConfigurationError
from ...options import accept
from ...options.option import Options, option, same_as
from ...sandboxes.resource_limits import parse_size, size_or_none
from ...text.hints import installed_import_advice
from ..guests.guest_options import GuestOptions, network_of

__all__ = ["LEAST_MEMORY", "MOST_MEMORY", "SetupOptions", "WasmOptions"]

#: What a small program needs, and what the address space of 32-bit WebAssembly leaves, in bytes.
LEAST_MEMORY, MOST_MEMORY = 24 << 20, (4 << 30) - (32 << 20) - (64 << 10)


def _memory(name: str, value: Any) -> Any:
    size = parse_size(size_or_none(name, value))
    if size is not None and size < LEAST_MEMORY:
        raise ConfigurationError(f"{name}={value!r}: Python needs 24m or more to work")
    if size is not None and size > MOST_MEMORY:
        raise ConfigurationError(
            f"{name}={value!r}: WebAssembly has 4 GiB at most; pass less, or None"
        )
    return value


@dataclass(frozen=True, kw_only=True)
class SetupOptions(Options):
    """Options of what guests are started from."""

    setup_timeout_seconds: float = option(
        600.0,
        "for Pyodide's files, the snapshot and the packages, each",
        accept.seconds,
        form="seconds",
    )
    deno: str | os.PathLike[str] | None = option(
        None, "another Deno program than the package's", accept.path_or_none, form="path"
    )
    pyodide_dir: str | os.PathLike[str] | None = option(
        None,
        "folder with Pyodide's files, in the place of those from npm",
        accept.path_or_none,
        form="path",
    )
    packages_dir: str | os.PathLike[str] | None = option(
        None,
        "folder with wheels of Pyodide's own packages",
        accept.existing_path_or_none,
        form="path",
    )
    cache_dir: str | os.PathLike[str] | None = option(
        None,
        "another folder than your cache. Who can write there decides what runs in guests",
        accept.path_or_none,
        form="path",
    )


@dataclass(frozen=True, kw_only=True)
class WasmOptions(GuestOptions, SetupOptions):
    """Options of one executor, or of a pool's guests."""

    startup_timeout_seconds: float = same_as(GuestOptions, "startup_timeout_seconds", default=60.0)
    memory: int | str | None = same_as(
        GuestOptions,
        "memory",
        default="512m",
        says="memory limit of the code, on top of Python's own 32 MiB; at most about 3.9 GiB. "
        "`None`: the engine's own limits",
        check=_memory,
    )
    network: str = same_as(
        GuestOptions,
        "network",
        says="WebAssembly has no sockets, so this is the only value; `docker` has networks",
        check=network_of(
            ("none",),
            ", WebAssembly has no sockets; use executor_type='docker' with network='bridge'",
        ),
        form='`"none"`',
    )

    @property
    def network_remedy(self) -> str:
        """Advice that gives the code a network."""
        return "use executor_type='docker' with network='bridge'"

    def module_advice(self, name: str) -> str:
        """Return advice about a module that the code misses, whose wheel would be fetched."""
        return installed_import_advice(name)
