"""Landlock: kernel restrictions on files, TCP ports and signals, by three system calls.

Source: include/uapi/linux/landlock.h and Documentation/userspace-api/landlock.rst of Linux. The
three calls have the same numbers on every architecture.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable

from .libc import system_call

__all__ = ["SCOPED_SIGNALS", "abi_version", "restrict"]

#: First version that confines signals to the process.
SCOPED_SIGNALS = 6

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH, _RULE_NET_PORT = 1, 2
_CONNECT_TCP = 2
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_MAKE_DEVICES = 1 << 6 | 1 << 11
_MAKE_SOCKET = 1 << 9
_READ = _READ_FILE | _READ_DIR
_FOR_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
# Number of file access rights in each version of the interface.
_FS_BITS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
# struct landlock_ruleset_attr: access to files, to the network, what is scoped
_RULESET = struct.Struct("=QQQ")
# struct landlock_path_beneath_attr, which is packed, and landlock_net_port_attr: access, object
_PATH_BENEATH, _NET_PORT = struct.Struct("=Qi"), struct.Struct("=QQ")
# Errors of a path for which no rule is made.
_NOT_THERE = (FileNotFoundError, PermissionError, NotADirectoryError)


def abi_version() -> int:
    """Return the kernel's version of the interface; 0 without Landlock."""
    try:
        return max(0, system_call(_CREATE_RULESET, None, 0, _VERSION_FLAG))
    except (OSError, AttributeError):
        return 0


def restrict(
    readable: Iterable[str],
    listable: Iterable[str],
    writable: Iterable[str],
    *,
    newest: int | None = None,
    ports: Iterable[int] | None = (),
) -> int:
    """Confine this thread, and threads and processes it starts, irrevocably.

    Requires ``no_new_privs``. From version 4, TCP ports can be neither bound nor connected to, but
    for those given. From version 6, signals to other processes and connections to abstract sockets
    are refused.

    Args:
        readable: files and folders that may be read, including everything below.
        listable: folders whose names may be listed, without reading the files.
        writable: files and folders that may be read and changed.
        newest: newest version of the interface to use.
        ports: TCP ports that may be connected to; ``None``: all may be, and bound.

    Returns:
        the version in use.

    Raises:
        OSError: the kernel refused.
    """
    version = abi_version() if newest is None else min(abi_version(), newest)
    if not version:
        raise OSError("the kernel has no Landlock")
    handled = (1 << _FS_BITS[min(version, 5)]) - 1
    ruleset = _RULESET.pack(
        handled, 3 if version >= 4 and ports is not None else 0, 3 if version >= 6 else 0
    )
    # An older kernel expects a shorter structure.
    size = 8 if version < 4 else 16 if version < 6 else 24
    descriptor = system_call(_CREATE_RULESET, ruleset, size, 0)
    try:
        change = handled & ~(_EXECUTE | _MAKE_DEVICES | _MAKE_SOCKET | _IOCTL_DEV)
        for paths, access in ((readable, _READ), (listable, _READ_DIR), (writable, change)):
            for path in paths:
                _allow(descriptor, path, access & handled)
        for port in (ports or ()) if version >= 4 else ():
            rule = _NET_PORT.pack(_CONNECT_TCP, port)
            system_call(_ADD_RULE, descriptor, _RULE_NET_PORT, rule, 0)
        system_call(_RESTRICT_SELF, descriptor, 0)
    finally:
        os.close(descriptor)
    return version


def _allow(ruleset: int, path: str, access: int) -> None:
    """Add a rule about a file or folder, if it is there."""
    try:
        descriptor = os.open(path, getattr(os, "O_PATH", 0))
    except _NOT_THERE:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= _FOR_FILES
        if access:
            rule = _PATH_BENEATH.pack(access, descriptor)
            system_call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)
