"""Rule for paths that patches and the lock may name."""

from __future__ import annotations

__all__ = ["is_plain_path"]


def is_plain_path(path: str) -> bool:
    """Tell whether a path is relative, POSIX, and stays below its folder on every system."""
    unsafe = path.startswith('"') or any(character in path for character in "\\:\0")
    return not unsafe and not {"", ".", ".."} & set(path.split("/"))
