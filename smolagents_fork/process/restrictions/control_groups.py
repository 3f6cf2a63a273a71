"""Folders of the control groups that this process is in."""

from __future__ import annotations

import os

__all__ = ["control_group_folders"]

_CONTROL_GROUPS = "/sys/fs/cgroup"


def control_group_folders() -> list[str]:
    """Return the folders of this process's control groups, and of the topmost."""
    folders = {_CONTROL_GROUPS: None}
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in (controllers, *controllers.split(",")):
            top = os.path.join(_CONTROL_GROUPS, name)
            own = os.path.normpath(top + path)  # outside of a namespace it begins with "/.."
            folders.update(dict.fromkeys((top, own) if own.startswith(top) else (top,)))
    return list(folders)
