"""Sizes and numbers of limits, refused before the engine is asked when they cannot be meant."""

from __future__ import annotations

from ..errors import ConfigurationError
from .provisioner import Limits

__all__ = ["check_limits", "check_size", "parse_size"]


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
        check_size(name, size)
    for name, number in (("cpus", limits.cpus), ("pids_limit", limits.pids)):
        if number is not None and (isinstance(number, bool) or not 0 < number < 1_000_000):
            raise ConfigurationError(f"{name}={number!r}: give a number above 0")


def check_size(name: str, size: int | str | None) -> None:
    """Refuse what is no size; ``None`` is none.

    Raises:
        ConfigurationError: neither a number of bytes nor text with a unit.
    """
    if size is not None and parse_size(size) is None:
        raise ConfigurationError(
            f"{name}={size!r}: give bytes as a number, or text such as '512m' or '2g'"
        )


def parse_size(size: int | str) -> int | None:
    """Bytes for a number or for text with a unit (b, k, m, g); ``None`` when it is neither."""
    if isinstance(size, bool):
        return None
    if isinstance(size, int):
        return size if size > 0 else None
    text = size.strip().lower().removesuffix("b")
    factor = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(text[-1:], 1)
    number = text[:-1] if factor > 1 else text
    return int(float(number) * factor) if number.replace(".", "", 1).isdigit() else None
