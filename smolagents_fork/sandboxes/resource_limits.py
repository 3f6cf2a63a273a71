"""Resource limits of a sandbox, with defaults that fit together, validated early."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ConfigurationError
from ..options.option import Options, option
from ..options.words import CORES, DISK, PROCESSES

__all__ = ["Limits", "fitting_sizes", "parse_size", "size", "size_or_none"]

# Smallest share of a core; engines round less to 0, which means all cores.
_LEAST_CPUS = 0.01
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt]?)(?:i?b)?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
# Smallest number of bytes without a unit; who writes memory=512 means mebibytes.
_LEAST_WITHOUT_UNIT = 1 << 20
# Largest number of bytes. Engines and the kernel count in 64 bits, and sizes are added up.
_MOST = 1 << 60
# Defaults. Files in the work folder and in /tmp are kept in memory, so the sizes that are not given
# follow those that are. Files get at most these parts of a given memory; the memory has at least
# this size beside given files.
_MEMORY, _WORKDIR_SIZE, _TMP_SIZE = "2g", "512m", "128m"
_WORKDIR_PART, _TMP_PART = 4, 16
_LEAST_BESIDE_FILES = 1 << 30


def size(name: str, value: Any, *, optional: bool = False) -> Any:
    """Return a size; ``None`` means unlimited where that is allowed.

    Args:
        value: Text with a unit, or a whole number of bytes.
        optional: whether ``None`` is allowed.

    Raises:
        ConfigurationError: neither, a number so small that its unit was forgotten, or one that is
            larger than any machine.
    """
    if value is None and optional:
        return None
    or_none = ", or None for no limit" if optional else ""
    parsed = parse_size(value)
    if parsed is None:
        raise ConfigurationError(
            f"{name}={value!r}: pass text with a unit, such as '512m' or '1.5g', or a whole number "
            f"of bytes{or_none}"
        )
    if parsed > _MOST:
        raise ConfigurationError(f"{name}={value!r}: pass at most '{_MOST >> 40}t'{or_none}")
    bare = str(value).strip()
    if parsed < _LEAST_WITHOUT_UNIT and bare[-1].isdigit():
        raise ConfigurationError(
            f"{name}={value!r}: the unit seems to be missing; pass text such as '{bare}m' for "
            f"mebibytes, or '{bare}b' if bytes are meant{or_none}"
        )
    return value


def size_or_none(name: str, value: Any) -> Any:
    """Return a size, or ``None`` for no limit; see :func:`size`."""
    return size(name, value, optional=True)


def _cores(name: str, value: Any) -> Any:
    if value is not None and not (_is_number(value) and _LEAST_CPUS <= value < 1_000_000):
        raise ConfigurationError(
            f"{name}={value!r}: pass a number of cores, at least {_LEAST_CPUS}, or None for no "
            "limit"
        )
    return value


def _processes(name: str, value: Any) -> Any:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (is_whole and 0 < value < 1_000_000):
        raise ConfigurationError(
            f"{name}={value!r}: pass a whole number above 0, or None for no limit"
        )
    return value


@dataclass(frozen=True)
class Limits(Options):
    """Resource limits of a sandbox. Files in the work folder and in /tmp count as memory."""

    memory: int | str | None = option(
        _MEMORY,
        "memory limit of the sandbox, without swap; files in the work folder and in `/tmp` count. "
        "Past it the host's kernel kills a process, and the error says so. If it is not given, it "
        "is at least 1 GiB more than `workdir_size` and `tmp_size` together",
        size_or_none,
        form="size; `None`: no limit",
        elsewhere="max_memory max_memory_mb mem mem_limit mem_mb memory_bytes memory_limit "
        "memory_limit_mb memory_mb ram",
    )
    cpus: float | None = option(
        1.0,
        "limit of processor cores",
        _cores,
        form="cores; `None`: no limit",
        elsewhere=CORES,
    )
    pids_limit: int | None = option(
        256,
        "maximum number of processes and threads at once, which stops a fork bomb",
        _processes,
        form="processes and threads; `None`: no limit",
        elsewhere=PROCESSES,
    )
    workdir_size: int | str = option(
        _WORKDIR_SIZE,
        "size limit of the work folder, which is kept in memory; writing to a full folder is an "
        "error of the program. If it is not given, it is at most a quarter of `memory`",
        size,
        form="size",
        elsewhere=DISK,
    )
    tmp_size: int | str = option(
        _TMP_SIZE,
        "size limit of `/tmp`, which is kept in memory, too. If it is not given, it is at most a "
        "sixteenth of `memory`",
        size,
        form="size",
        elsewhere="shm_size tmpfs tmpfs_size",
    )

    def check_together(self) -> None:
        """Refuse folders as large as the memory that they are kept in."""
        super().check_together()
        memory = parse_size(self.memory)
        files = (parse_size(self.workdir_size) or 0) + (parse_size(self.tmp_size) or 0)
        if memory is not None and files >= memory:
            raise ConfigurationError(
                f"workdir_size={self.workdir_size!r} and tmp_size={self.tmp_size!r} are kept in "
                f"memory and leave nothing of memory={self.memory!r}: lower them or raise it"
            )

    @classmethod
    def complete(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments, with sizes that fit them."""
        sizes = ("memory", "workdir_size", "tmp_size")
        fitting = fitting_sizes({name: arguments[name] for name in sizes if name in arguments})
        return super().complete({**arguments, **fitting})


def fitting_sizes(sizes_set: Mapping[str, int | str | None]) -> dict[str, int | str | None]:
    """Complete ``memory``, ``workdir_size`` and ``tmp_size`` so that those not given fit the given.

    Args:
        sizes_set: those of the three that the user has set.

    Returns:
        all three; those given are not changed, even if they are wrong.
    """
    if "memory" not in sizes_set:
        sizes: dict[str, int | str | None]
        sizes = {"workdir_size": _WORKDIR_SIZE, "tmp_size": _TMP_SIZE, **sizes_set}
        files = sum(parse_size(size) or 0 for size in sizes.values())
        return {"memory": _larger(_MEMORY, files + _LEAST_BESIDE_FILES), **sizes}
    memory = parse_size(sizes_set["memory"])
    sizes = {"workdir_size": _WORKDIR_SIZE, "tmp_size": _TMP_SIZE}
    if memory is not None:
        sizes["workdir_size"] = _smaller(_WORKDIR_SIZE, memory // _WORKDIR_PART)
        sizes["tmp_size"] = _smaller(_TMP_SIZE, memory // _TMP_PART)
    return {**sizes, **sizes_set}


def _larger(text: str, size: int) -> int | str:
    return text if size <= (parse_size(text) or 0) else size


def _smaller(text: str, size: int) -> int | str:
    return text if size >= (parse_size(text) or 0) else max(_LEAST_WITHOUT_UNIT, size)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value)


def parse_size(size: object) -> int | None:
    """Return the bytes of a whole number, or of text with a unit as in "512m", "2 GB" or "1.5GiB".

    Units are powers of 1024. ``None`` when it is neither, less than a byte, or ``None``: no limit.
    """
    if isinstance(size, str):
        match = _SIZE.fullmatch(size.strip())
        if match is None:
            return None
        size = int(min(float(match[1]) * _FACTORS[match[2].lower()], 2 * _MOST))
    if isinstance(size, bool) or not isinstance(size, int):
        return None
    return size if size >= 1 else None
