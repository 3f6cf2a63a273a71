"""Resource limits of a sandbox, with defaults that fit together, validated early."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import ConfigurationError

__all__ = ["Limits", "check_limits", "check_size", "fitting_sizes", "parse_size"]

# Smallest share of a core; engines round less to 0, which means all cores.
_LEAST_CPUS = 0.01
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt]?)(?:i?b)?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
# Smallest number of bytes without a unit; who writes memory=512 means mebibytes.
_LEAST_WITHOUT_UNIT = 1 << 20
# Defaults. Files in the work folder and in /tmp are kept in memory, so the sizes that are not given
# follow those that are. Files get at most these parts of a given memory; the memory has at least
# this size beside given files.
_MEMORY, _WORKDIR_SIZE, _TMP_SIZE = "2g", "512m", "128m"
_WORKDIR_PART, _TMP_PART = 4, 16
_LEAST_BESIDE_FILES = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Resource limits of a sandbox.

    Attributes:
        memory: text such as ``"2g"``, or whole bytes; ``None`` for no limit. Swap is not
            added to it. Files in the work folder and in /tmp count.
        cpus: processor cores, fractions allowed; ``None`` for no limit.
        pids: processes and threads; ``None`` for no limit.
        workdir_size: size of the work folder, as above.
        tmp_size: the same for /tmp.
    """

    memory: int | str | None = _MEMORY
    cpus: float | None = 1.0
    pids: int | None = 256
    workdir_size: int | str = _WORKDIR_SIZE
    tmp_size: int | str = _TMP_SIZE


def fitting_sizes(given: Mapping[str, int | str | None]) -> dict[str, int | str | None]:
    """Complete ``memory``, ``workdir_size`` and ``tmp_size`` so that those not given fit the given.

    Args:
        given: those of the three that the user has set.

    Returns:
        all three; those given are not changed, even if they are wrong.
    """
    if "memory" not in given:
        sizes: dict[str, int | str | None]
        sizes = {"workdir_size": _WORKDIR_SIZE, "tmp_size": _TMP_SIZE, **given}
        files = sum(parse_size(size) or 0 for size in sizes.values() if size is not None)
        return {"memory": _larger(_MEMORY, files + _LEAST_BESIDE_FILES), **sizes}
    memory = None if given["memory"] is None else parse_size(given["memory"])
    sizes = {"workdir_size": _WORKDIR_SIZE, "tmp_size": _TMP_SIZE}
    if memory is not None:
        sizes["workdir_size"] = _smaller(_WORKDIR_SIZE, memory // _WORKDIR_PART)
        sizes["tmp_size"] = _smaller(_TMP_SIZE, memory // _TMP_PART)
    return {**sizes, **given}


def _larger(text: str, size: int) -> int | str:
    return text if size <= (parse_size(text) or 0) else size


def _smaller(text: str, size: int) -> int | str:
    return text if size >= (parse_size(text) or 0) else max(_LEAST_WITHOUT_UNIT, size)


def check_limits(limits: Limits) -> None:
    """Refuse limits that cannot work.

    Raises:
        ConfigurationError: an invalid size or number, or files as large as the memory.
    """
    for name, size in (
        ("memory", limits.memory),
        ("workdir_size", limits.workdir_size),
        ("tmp_size", limits.tmp_size),
    ):
        # None and 0 would mean no limit to tmpfs.
        check_size(name, size, optional=name == "memory")
    cpus, pids = limits.cpus, limits.pids
    if cpus is not None and not (_is_number(cpus) and _LEAST_CPUS <= cpus < 1_000_000):
        raise ConfigurationError(
            f"cpus={cpus!r}: give a number of cores, at least {_LEAST_CPUS}, or None for no limit"
        )
    is_whole = isinstance(pids, int) and not isinstance(pids, bool)
    if pids is not None and not (is_whole and 0 < pids < 1_000_000):
        raise ConfigurationError(
            f"pids_limit={pids!r}: give a whole number above 0, or None for no limit"
        )
    memory = parse_size(limits.memory) if limits.memory is not None else None
    files = (parse_size(limits.workdir_size) or 0) + (parse_size(limits.tmp_size) or 0)
    if memory is not None and files >= memory:
        raise ConfigurationError(
            f"workdir_size={limits.workdir_size!r} and tmp_size={limits.tmp_size!r} are kept in "
            f"memory and leave nothing of memory={limits.memory!r}: lower them or raise it"
        )


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value)


def check_size(name: str, size: object, *, optional: bool = True) -> None:
    """Reject invalid sizes; ``None`` means unlimited where that is allowed.

    Args:
        name: of the parameter.
        size: its argument: text with a unit, or a whole number of bytes.
        optional: whether ``None`` is allowed.

    Raises:
        ConfigurationError: neither, or a number so small that its unit was forgotten.
    """
    if size is None and optional:
        return
    or_none = ", or None for no limit" if optional else ""
    parsed = parse_size(size)
    if parsed is None:
        raise ConfigurationError(
            f"{name}={size!r}: give text with a unit, such as '512m' or '1.5g', or a whole number "
            f"of bytes{or_none}"
        )
    bare = str(size).strip()
    if parsed < _LEAST_WITHOUT_UNIT and bare[-1].isdigit():
        raise ConfigurationError(
            f"{name}={size!r}: so few bytes are a forgotten unit; give text such as '{bare}m' for "
            f"mebibytes, or '{bare}b' if bytes are meant{or_none}"
        )


def parse_size(size: object) -> int | None:
    """Return the bytes of a whole number, or of text with a unit as in "512m", "2 GB" or "1.5GiB".

    Units are powers of 1024. ``None`` when it is neither, or less than a byte.
    """
    if isinstance(size, str):
        found = _SIZE.fullmatch(size.strip())
        if found is None:
            return None
        size = int(float(found[1]) * _FACTORS[found[2].lower()])
    if isinstance(size, bool) or not isinstance(size, int):
        return None
    return size if size >= 1 else None
