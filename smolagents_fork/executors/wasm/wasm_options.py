"""The options of the Wasm executor, checked where they are given."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar, TypedDict

from ...deadline import check_seconds
from ...errors import ConfigurationError
from ...hints import installed_import_advice
from ..guests.guest_options import GuestKeywords, GuestOptions

__all__ = ["LEAST_MEMORY", "MOST_MEMORY", "SetupKeywords", "WasmKeywords", "WasmOptions"]

#: What a small program needs, and what the address space of 32-bit WebAssembly leaves, in bytes.
LEAST_MEMORY, MOST_MEMORY = 16 << 20, (4 << 30) - (32 << 20) - (64 << 10)


class SetupKeywords(TypedDict, total=False):
    """Keywords of WasmExecutor.setup()."""

    setup_timeout_seconds: float
    deno: str | os.PathLike[str] | None
    pyodide_dir: str | os.PathLike[str] | None
    packages_dir: str | os.PathLike[str] | None
    cache_dir: str | os.PathLike[str] | None


class WasmKeywords(GuestKeywords, SetupKeywords, total=False):
    """Keywords of the constructors of WasmExecutor and WasmPool."""


@dataclass
class WasmOptions(GuestOptions):
    """See :class:`WasmExecutor` for what each means."""

    other_networks: ClassVar[str] = (
        ", WebAssembly has no sockets; use executor_type='docker' with network='bridge'"
    )

    startup_timeout_seconds: float = 60.0
    memory: int | str | None = "512m"
    setup_timeout_seconds: float = 600.0
    deno: str | os.PathLike[str] | None = None
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

    @property
    def network_remedy(self) -> str:
        """Advice that gives the code a network."""
        return "use executor_type='docker' with network='bridge'"

    def module_advice(self, name: str) -> str:
        """Return advice about a module that the code misses, whose wheel would be fetched.

        Args:
            name: of the module or the package.
        """
        return installed_import_advice(name)
