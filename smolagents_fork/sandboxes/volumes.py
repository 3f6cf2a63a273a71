"""Folders of the engine's machine in a container, in docker-py's two forms, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ConfigurationError

__all__ = ["check_volumes", "volume_entries"]


# The engine's modes: access, SELinux labels, propagation, copying, consistency.
_MODES = frozenset(
    [
        *("ro", "rw", "z", "Z", "nocopy", "consistent", "cached", "delegated", "default"),
        *("shared", "rshared", "slave", "rslave", "private", "rprivate"),
    ]
)


def check_volumes(volumes: Any) -> None:
    """Refuse volumes that docker-py cannot use.

    Raises:
        ConfigurationError: not a mapping of paths to ``{"bind": ..., "mode": ...}``, and not a list
            of ``"source:target:mode"``.
    """
    for source, target, mode in volume_entries(volumes):
        if set(mode.split(",")) - _MODES:
            raise ConfigurationError(f"volumes: {source!r} with mode {mode!r}: give 'ro' or 'rw'")
        if not target.startswith("/"):
            raise ConfigurationError(
                f"volumes: {source!r} at {target!r} of the container: give an absolute path"
            )


def volume_entries(volumes: Any) -> list[tuple[str, str, str]]:
    """Return source, target and mode of each folder.

    Args:
        volumes: Volumes in one of docker-py's two forms.

    Raises:
        ConfigurationError: it is in neither.
    """
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


def _refused(value: Any) -> ConfigurationError:
    return ConfigurationError(
        f"volumes={value!r}: give {{'/data': {{'bind': '/data', 'mode': 'ro'}}}} or "
        "['/data:/data:ro']; the path of the engine's machine comes first"
    )
