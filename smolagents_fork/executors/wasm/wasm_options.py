"""The options of the Wasm executor, checked where they are given."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ...deadline import check_seconds
from ...errors import ConfigurationError
from ..guests.guest_options import GuestOptions

__all__ = ["LEAST_MEMORY", "MOST_MEMORY", "WasmOptions"]

#: What a small program needs, and what the address space of 32-bit WebAssembly leaves, in bytes.
LEAST_MEMORY, MOST_MEMORY = 16 << 20, (4 << 30) - (32 << 20) - (64 << 10)


@dataclass
class WasmOptions(GuestOptions):
    """See :class:`WasmExecutor` for what each means."""

    memory: int | str | None = "512m"
    setup_timeout_seconds: float = 600.0
    deno: str | None = None
    pyodide_dir: str | os.PathLike[str] | None = None
    packages_dir: str | os.PathLike[str] | None = None
    cache_dir: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seconds("setup_timeout_seconds", self.setup_timeout_seconds, optional=False)
        if self.memory_bytes is not None and self.memory_bytes < LEAST_MEMORY:
            raise ConfigurationError(f"memory={self.memory!r}: Python needs 16m or more to work")
        if self.memory_bytes is not None and self.memory_bytes > MOST_MEMORY:
            raise ConfigurationError(
                f"memory={self.memory!r}: WebAssembly has 4 GiB at most; give less, or None"
            )
        for name in ("deno", "pyodide_dir", "packages_dir", "cache_dir"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, (str, os.PathLike)) or not value):
                raise ConfigurationError(f"{name}={value!r}: give a path, or None")
