"""Sizes and numbers of limits, refused before the engine is asked when they cannot be meant."""

from __future__ import annotations

import math
import re

from ..errors import ConfigurationError
from .provisioner import Limits

__all__ = ["check_limits", "check_size", "parse_size"]

# The engine's own smallest share of a core; what is less is rounded to nothing, its word for "all".
_LEAST_CPUS = 0.01
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt]?)(?:i?b)?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def check_limits(limits: Limits) -> None:
    """Refuse limits that cannot be meant, before the engine is asked.

    Raises:
        ConfigurationError: a size or number that is none.
    """
    for name, size in (
        ("memory", limits.memory),
        ("workdir_size", limits.workdir_size),
        ("tmp_size", limits.tmp_size),
    ):
        # tmpfs has words of its own for "no limit", and they are None and 0.
        check_size(name, size, optional=name == "memory")
    cpus, pids = limits.cpus, limits.pids
    if cpus is not None and not (_is_number(cpus) and _LEAST_CPUS <= cpus < 1_000_000):
        raise ConfigurationError(
            f"cpus={cpus!r}: give a number of cores, at least {_LEAST_CPUS}, or None for no limit"
        )
    if pids is not None and not (_is_number(pids) and pids == int(pids) and 0 < pids < 1_000_000):
        raise ConfigurationError(
            f"pids_limit={pids!r}: give a whole number above 0, or None for no limit"
        )


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value)


def check_size(name: str, size: int | float | str | None, *, optional: bool = True) -> None:
    """Refuse what is no size; ``None`` is none where there may be no limit.

    Raises:
        ConfigurationError: neither a number of bytes nor text with a unit.
    """
    if (size is None and optional) or (size is not None and parse_size(size) is not None):
        return
    raise ConfigurationError(
        f"{name}={size!r}: give bytes as a number, or text such as '512m' or '2g'"
        + (", or None for no limit" if optional else "")
    )


def parse_size(size: int | float | str) -> int | None:
    """Bytes for a number, or for text with a unit as in "512m", "2 GB" or "1.5GiB", 1024 based.

    ``None`` when it is neither, or less than a byte.
    """
    if isinstance(size, str):
        found = _SIZE.fullmatch(size.strip())
        if found is None:
            return None
        size = float(found[1]) * _FACTORS[found[2].lower()]
    if not _is_number(size):
        return None
    return int(size) if size >= 1 else None
