"""Folders of the engine's machine in a container: docker-py's two forms, checked.

The engine makes a folder, as root and without a word, for a path it does not find when it is asked
for a volume, so that a mistyped path is an empty folder. Asked for a bind mount, it says that there
is none. So plain folders are asked for as bind mounts, and the rest is passed on: named volumes,
and what only the older form has a word for (``z``, ``Z``, propagation).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ConfigurationError

__all__ = ["check_volumes", "volume_arguments"]


# The engine's own words beside ro and rw: SELinux labels, propagation, copying, consistency.
_MODES = frozenset(
    [
        *("ro", "rw", "z", "Z", "nocopy", "consistent", "cached", "delegated", "default"),
        *("shared", "rshared", "slave", "rslave", "private", "rprivate"),
    ]
)


def check_volumes(volumes: Any) -> None:
    """Refuse what docker-py could make nothing of.

    Raises:
        ConfigurationError: not a mapping of paths to ``{"bind": ..., "mode": ...}``, and not a list
            of ``"source:target:mode"``.
    """
    for source, target, mode in _entries(volumes):
        if set(mode.split(",")) - _MODES:
            raise ConfigurationError(f"volumes: {source!r} with mode {mode!r}: give 'ro' or 'rw'")
        if not target.startswith("/"):
            raise ConfigurationError(
                f"volumes: {source!r} at {target!r} of the container: give an absolute path"
            )


def volume_arguments(volumes: Any) -> dict[str, Any]:
    """docker-py's arguments for ``volumes``.

    Args:
        volumes: as :func:`check_volumes` has let them pass.
    """
    from docker.types import Mount

    mounts, others = [], []
    for source, target, mode in _entries(volumes):
        if source.startswith("/") and mode in ("ro", "rw"):
            mounts.append(Mount(target, source, type="bind", read_only=mode == "ro"))
        else:
            others.append(f"{source}:{target}:{mode}")
    arguments: dict[str, Any] = {}
    if mounts:
        arguments["mounts"] = mounts
    if others:
        arguments["volumes"] = others
    return arguments


def _entries(volumes: Any) -> list[tuple[str, str, str]]:
    """Source, target and mode of each."""
    if volumes is None:
        return []
    if isinstance(volumes, Mapping):
        return [_of_mapping(source, value) for source, value in volumes.items()]
    if isinstance(volumes, (list, tuple)):
        return [_of_text(text) for text in volumes]
    raise _refused(volumes)


def _of_mapping(source: Any, value: Any) -> tuple[str, str, str]:
    if isinstance(value, Mapping) and isinstance(source, str) and source:
        target, mode = value.get("bind"), value.get("mode", "rw")
        if (
            isinstance(target, str)
            and isinstance(mode, str)
            and not value.keys() - {"bind", "mode"}
        ):
            return source, target, mode
    raise _refused({source: value})


def _of_text(text: Any) -> tuple[str, str, str]:
    parts = text.split(":") if isinstance(text, str) else []
    if len(parts) not in (2, 3) or not all(parts):
        raise _refused([text])
    return parts[0], parts[1], parts[2] if len(parts) == 3 else "rw"


def _refused(what: Any) -> ConfigurationError:
    return ConfigurationError(
        f"volumes={what!r}: give {{'/data': {{'bind': '/data', 'mode': 'ro'}}}} or "
        "['/data:/data:ro']; the path of the engine's machine comes first"
    )
