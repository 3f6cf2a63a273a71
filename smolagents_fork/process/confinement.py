"""What a child gives up before it runs anything, and the account of it.

Each measure is tried by itself; what could not be had is told to the host with the reason, and the
host decides whether that is an error (``require=``).
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

from . import landlock, seccomp
from .measures import Bounds, Report

__all__ = ["confine", "cpu_limit", "die_with_parent"]

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
_CAPABILITY_VERSION_3 = 0x20080522


def confine(bounds: Bounds) -> Report:
    """Confine this process for good; single-threaded, and before anything untrusted runs."""
    report = Report()
    linux = sys.platform == "linux"

    def take(measure: str, action: Callable[[], str], linux_only: bool = False) -> None:
        if linux_only and not linux:
            report.missing[measure] = f"only on Linux, this is {sys.platform}"
            return
        try:
            report.in_force[measure] = action()
        except (OSError, ValueError, AttributeError) as error:
            report.missing[measure] = str(error)

    take("session", _own_session)
    take("memory", lambda: _memory_limit(bounds.memory_bytes))
    take("cpu", lambda: "counted from each call's start, RLIMIT_CPU")
    take("files", lambda: _file_limits(bounds.file_bytes, bounds.open_files))
    take("no_new_privileges", lambda: _prctl(_PR_SET_NO_NEW_PRIVS, 1), linux_only=True)
    if bounds.network:
        report.missing["network"] = "asked for by network=True"
    else:
        take("network", _no_network, linux_only=True)
    take("capabilities", _no_capabilities, linux_only=True)
    take("filesystem", lambda: _file_rules(bounds), linux_only=True)
    take("syscalls", _fewer_syscalls, linux_only=True)
    version = landlock.abi_version() if "filesystem" in report.in_force else 0
    if "syscalls" in report.in_force or version >= 6:
        report.in_force["signals"] = "to itself only"
    else:
        report.missing["signals"] = "needs seccomp, or Landlock version 6"
    if "network" in report.missing and not bounds.network and "syscalls" in report.in_force:
        report.in_force["network"] = "no sockets, seccomp"
        del report.missing["network"]
    return report


def cpu_limit(seconds: float) -> None:
    """Let the process use ``seconds`` of processor time from here; SIGXCPU ends it after that."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime + seconds) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def die_with_parent() -> None:
    """On Linux, be killed when the parent dies, however it dies."""
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _own_session() -> str:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    return "own session, no core dumps"


def _memory_limit(limit: int | None) -> str:
    if limit is None:
        raise ValueError("memory=None asked for no limit")
    if sys.platform != "linux":
        raise ValueError(f"{sys.platform} does not enforce RLIMIT_AS")
    with open("/proc/self/statm", encoding="ascii") as status:
        now = int(status.read().split()[0]) * resource.getpagesize()
    # Libraries are mapped already: the limit is for what comes on top of them.
    resource.setrlimit(resource.RLIMIT_AS, (now + limit, now + limit))
    return f"{limit} bytes beyond the interpreter's own, RLIMIT_AS"


def _file_limits(size: int | None, count: int) -> str:
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
    if size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an OSError then, instead of the end
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return f"{count} descriptors, {'any' if size is None else size} bytes a file"


def _no_network() -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) == 0:
        return "own network namespace, without interfaces"
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"no network namespace: {os.strerror(code)}")
    # Keep the numbers, so that file permissions mean what they meant.
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    return "own network and user namespace, without interfaces"


def _file_rules(bounds: Bounds) -> str:
    devices = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full")
    version = landlock.restrict(bounds.readable, bounds.listable, (bounds.folder, *devices))
    return f"writes in its folder only, reads of libraries only; Landlock {version}"


def _no_capabilities() -> str:
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:
        last = int(file.read())
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(last + 1):
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)  # refused without CAP_SETPCAP, and needless
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if libc.capset(ctypes.byref(header), ctypes.byref(nothing)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return "none"


def _fewer_syscalls() -> str:
    seccomp.install()
    return "no sockets, no new processes, no tracing; seccomp"


def _prctl(option: int, value: int) -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments: list[Any] = [ctypes.c_ulong(n) for n in (value, 0, 0, 0)]
    if libc.prctl(option, *arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return "set"
