"""Landlock: kernel restrictions on files, TCP ports and signals, by three system calls.

Source: include/uapi/linux/landlock.h and Documentation/userspace-api/landlock.rst of Linux. The
three calls have the same numbers on every architecture.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from .libc import system_call

__all__ = ["SCOPED_SIGNALS", "Ruleset", "abi_version"]

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
# Errors of a path for which no rule is made.
_NOT_THERE = (FileNotFoundError, PermissionError, NotADirectoryError)
# Device and number of a file; ``None`` if there was none.
_Identity: TypeAlias = "tuple[int, int] | None"


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


class _NetPort(ctypes.Structure):
    _fields_ = (("allowed_access", ctypes.c_uint64), ("port", ctypes.c_uint64))


def abi_version() -> int:
    """Return the kernel's version of the interface; 0 without Landlock."""
    try:
        return max(0, system_call(_CREATE_RULESET, None, 0, _VERSION_FLAG))
    except (OSError, AttributeError):
        return 0


class Ruleset:
    """Access rights, to which a process can restrict itself later.

    From version 4, TCP ports can be neither bound nor connected to, but for those given.
    From version 6, signals to other processes and connections to abstract sockets are refused.

    Args:
        readable: files and folders that may be read, including everything below.
        listable: folders whose names may be listed, without reading the files.
        newest: newest version of the interface to use.
        ports: TCP ports that may be connected to; ``None``: all may be, and bound.

    Raises:
        OSError: the kernel refused.
    """

    def __init__(
        self,
        readable: Sequence[str],
        listable: Sequence[str],
        *,
        newest: int | None = None,
        ports: Sequence[int] | None = (),
    ) -> None:
        #: The version in use.
        self.version = abi_version() if newest is None else min(abi_version(), newest)
        if not self.version:
            raise OSError("the kernel has no Landlock")
        self._handled = (1 << _FS_BITS[min(self.version, 5)]) - 1
        ruleset = _RulesetAttributes(
            self._handled,
            3 if self.version >= 4 and ports is not None else 0,
            3 if self.version >= 6 else 0,
        )
        # An older kernel expects a shorter structure.
        size = 8 if self.version < 4 else 16 if self.version < 6 else 24
        #: Descriptor of the rules.
        self.descriptor = system_call(_CREATE_RULESET, ctypes.byref(ruleset), size, 0)
        self._files: list[tuple[str, _Identity]] = []
        try:
            self._allow(readable, _READ)
            self._allow(listable, _READ_DIR)
            if self.version >= 4:
                self._allow_ports(ports or ())
        except BaseException:
            os.close(self.descriptor)
            raise

    def is_current(self) -> bool:
        """Return whether a new one with the same arguments would have the same rights.

        A rule is about a file, not about its name: a file that was replaced meanwhile is another.
        """
        return all(_identity(path) == identity for path, identity in self._files)

    def restrict(self, readable: Iterable[str], writable: Iterable[str]) -> None:
        """Confine this thread, and threads and processes it starts, irrevocably.

        Requires ``no_new_privs``.

        Args:
            readable: further files and folders that may be read.
            writable: files and folders that may be read and changed.

        Raises:
            OSError: the kernel refused.
        """
        change = self._handled & ~(_EXECUTE | _MAKE_DEVICES | _MAKE_SOCKET | _IOCTL_DEV)
        self._allow(readable, _READ)
        self._allow(writable, change)
        system_call(_RESTRICT_SELF, self.descriptor, 0)

    def close(self) -> None:
        """Close the descriptor; what was restricted stays so."""
        os.close(self.descriptor)

    def _allow_ports(self, ports: Iterable[int]) -> None:
        for port in ports:
            rule = ctypes.byref(_NetPort(_CONNECT_TCP, port))
            system_call(_ADD_RULE, self.descriptor, _RULE_NET_PORT, rule, 0)

    def _allow(self, paths: Iterable[str], access: int) -> None:
        for path in paths:
            self._files.append((path, self._allow_one(path, access & self._handled)))

    def _allow_one(self, path: str, access: int) -> _Identity:
        """Add a rule; return the identity of the file that it is about."""
        try:
            descriptor = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
        except _NOT_THERE:
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISDIR(status.st_mode):
                access &= _FOR_FILES
            rule = _PathBeneath(access, descriptor)
            if access:
                system_call(_ADD_RULE, self.descriptor, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
        finally:
            os.close(descriptor)
        return status.st_dev, status.st_ino


def _identity(path: str) -> _Identity:
    try:
        status = os.stat(path)
    except _NOT_THERE:
        return None
    return status.st_dev, status.st_ino
