"""Confinement of a child before it runs any code, and the report of it.

Each measure is tried separately. A missing measure is reported to the host with the reason, and the
host decides whether that is an error (``allow_missing=``). A shortage that passes is not a missing
measure: the start fails.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

from ..system.proxy_environment import PROXY_PORT
from ..system.shortages import is_shortage
from .confinement_report import Bounds, Kernel, Report
from .restrictions import landlock, seccomp
from .restrictions.call_supervisor import give_listener
from .restrictions.capabilities import drop_capabilities
from .restrictions.descriptor_passing import send_descriptors
from .restrictions.libc import libc
from .restrictions.syscalls import REFUSED_WITHOUT_NETWORK
from .restrictions.user_counts import lower_limit, lower_shared_limits
from .sandbox_paths import Layout

__all__ = ["Confinement", "die_with_parent"]

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_FEWEST_FILES, _FILES_OF_A_MESSAGE = 32, 253
# Devices that programs may write to.
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full")
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
# include/uapi/linux/sockios.h and if.h
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_INTERFACE = struct.Struct("16sH14x")  # struct ifreq: name, flags
# Connections that wait for the proxy.
_BACKLOG = 64


class Confinement:
    """Irrevocable confinement of this process, while it is single-threaded.

    The constructor makes the network of the child, whose listener the host waits for; the other
    measures follow in :meth:`complete`.

    Args:
        layout: of all children of the fork server.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._kernel = layout.kernel
        self._linux = layout.kernel.platform == "linux"
        self._report = Report()
        if self._linux:
            lower_shared_limits()
        # Without a proxy a second barrier behind the filter, which refuses every socket. First,
        # since the files it writes are not this process's own without core dumps.
        own_network = self._linux and layout.network != "host"
        self._namespace = _network_namespace(self._kernel) if own_network else ""
        self._listener: socket.socket | None = None
        self._listener_error = "needs a network namespace of its own, which this user may not make"
        if layout.network == "proxy" and self._namespace:
            self._open_listener()

    def send_listener(self, connection: socket.socket) -> None:
        """Send the host the listener for its proxy, if it asked for one, and close it here.

        Args:
            connection: to the host, on which nothing was sent yet.
        """
        if self._layout.network != "proxy":
            return
        if self._listener is None:
            connection.send(b"N")  # the report says why
            return
        with self._listener as listener:
            send_descriptors(connection, b"L", [listener.fileno()])

    def complete(self, bounds: Bounds, parent: socket.socket) -> Report:
        """Take all other measures, before untrusted code runs; return what is in force.

        Args:
            bounds: the limits.
            parent: connection on which the listener is sent that lets the parent limit threads.
        """
        report, take = self._report, self._take
        take("session", _own_session, linux_only=False)
        take("no_new_privileges", lambda: _prctl(_PR_SET_NO_NEW_PRIVS, 1))
        take("capabilities", _no_capabilities)
        if bounds.memory_bytes is None:
            report.missing["memory"] = "memory=None: no limit was requested"
        else:
            take("memory", lambda: _memory_limit(bounds.memory_bytes))
        take("cpu", lambda: "counted from each call's start, by the host")
        take("filesystem", lambda: self._file_rules(bounds))
        listened = False

        def system_call_filter() -> str:
            nonlocal listened
            listened = _filter(self._layout, parent)
            return "only the system calls that a calculation needs, seccomp"

        take("syscalls", system_call_filter)
        # After the listener was handed over: the kernel compares this limit with all descriptors
        # that the user's processes have in flight.
        take("files", lambda: _file_limits(bounds.file_bytes, bounds.open_files), linux_only=False)
        take("processes", lambda: _no_processes(report, bounds.threads, listened))
        if self._layout.network == "host":
            report.missing["network"] = "network='host': the host's network was requested"
        elif self._layout.network == "proxy":
            take("network", lambda: self._proxy_only(report))
        else:
            take("network", lambda: _no_network(report, self._namespace))
        take("signals", lambda: _no_signals(report))
        return report

    def _open_listener(self) -> None:
        """Enable loopback in the own network namespace, and listen there for the host's proxy."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            # Before the capabilities are dropped.
            fcntl.ioctl(listener, _SIOCSIFFLAGS, _INTERFACE.pack(b"lo", _IFF_UP))
            listener.bind(("127.0.0.1", PROXY_PORT))
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            if is_shortage(error):
                raise
            self._listener_error = f"no listener in the own network namespace: {error}"
        else:
            self._listener = listener

    def _proxy_only(self, report: Report) -> str:
        if self._listener is None:
            raise OSError(self._listener_error)
        _need_filter(report)
        refusal = REFUSED_WITHOUT_NETWORK["socket"]
        _see_refused(
            "to open a datagram socket",
            lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
            refusal,
        )
        _see_refused("to bind a port", _bind)
        return f"the proxy's port {PROXY_PORT} only; seccomp; {self._namespace} but loopback"

    def _take(self, measure: str, action: Callable[[], str], linux_only: bool = True) -> None:
        """Take a measure, and report it."""
        if linux_only and not self._linux:
            self._report.missing[measure] = f"only on Linux, this is {self._kernel.platform}"
            return
        try:
            self._report.in_force[measure] = action()
        except (OSError, ValueError, AttributeError) as error:
            if is_shortage(error):
                raise
            self._report.missing[measure] = str(error)

    def _file_rules(self, bounds: Bounds) -> str:
        layout = self._layout
        version = landlock.restrict(
            (*layout.readable, *bounds.readable),
            layout.listable,
            (bounds.work_folder, bounds.temporary_folder, *_DEVICES),
            newest=self._kernel.landlock,
            ports={"none": (), "proxy": (PROXY_PORT,), "host": None}[layout.network],
        )
        if "/" not in {*bounds.readable, *layout.readable, *layout.listable}:
            _see_refused("to list /", lambda: os.close(os.open("/", os.O_RDONLY)))
        return f"writes in its folder only, reads of libraries only; Landlock {version}"


def die_with_parent(parent: int) -> None:
    """On Linux, have the kernel kill this process when its parent dies.

    Args:
        parent: its process id. It has one thread, and the kernel watches a thread.
    """
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _own_session() -> str:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # The limit does not apply to core dumps that are written to a pipe.
        _prctl(_PR_SET_DUMPABLE, 0)
    os.umask(0o077)
    return "own session, no core dumps"


def _memory_limit(limit: int | None) -> str:
    assert limit is not None
    with open("/proc/self/statm", "rb") as status:
        now = int(status.read().split()[0]) * resource.getpagesize()
    # Libraries are mapped already: the limit is for additional memory.
    limit = lower_limit(resource.RLIMIT_AS, now + limit) - now
    return f"{limit} bytes beyond Python's own, RLIMIT_AS"


def _file_limits(size: int | None, count: int) -> str:
    # Below the host's: children can have as many in flight, and one message more.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = max(_FEWEST_FILES, min(hard // 2, hard - _FILES_OF_A_MESSAGE))
    count = lower_limit(resource.RLIMIT_NOFILE, min(count, most))
    if size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # raises OSError instead of killing
        size = lower_limit(resource.RLIMIT_FSIZE, size)
    return f"{count} descriptors, {'any' if size is None else size} bytes a file"


def _network_namespace(kernel: Kernel) -> str:
    """Enter a new network namespace; return its description, empty if not available."""
    if not kernel.namespaces:
        return ""
    if libc().unshare(_CLONE_NEWNET) == 0:
        return "own network namespace without interfaces"
    uid, gid = os.getuid(), os.getgid()
    if libc().unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return ""
    # Map the ids to themselves, so that file permissions keep their meaning.
    for name, text in (
        ("setgroups", b"deny"),
        ("uid_map", b"%d %d 1" % (uid, uid)),
        ("gid_map", b"%d %d 1" % (gid, gid)),
    ):
        with open(f"/proc/self/{name}", "wb") as file:
            file.write(text)
    return "own network and user namespace without interfaces"


def _no_capabilities() -> str:
    drop_capabilities()
    return "none"


def _filter(layout: Layout, parent: socket.socket) -> bool:
    """Install the filter; return whether the parent enforces the limit on threads."""
    if not layout.kernel.seccomp:
        raise OSError("the kernel has no system call filters")
    listener = seccomp.install(layout.network, listener=layout.kernel.listener)
    if listener is not None:
        give_listener(parent, listener)
    _see_refused("to set a priority", lambda: os.nice(0))
    return listener is not None


def _no_processes(report: Report, threads: int, listened: bool) -> str:
    _need_filter(report)
    _see_refused("to fork", _fork)
    if not listened:
        raise OSError("no new process, but no limit on threads: no seccomp listener")
    return f"no new process, no program, at most {threads} threads; seccomp"


def _no_network(report: Report, namespace: str) -> str:
    if "syscalls" not in report.in_force and namespace:
        raise OSError(f"{namespace}, but UNIX sockets work; needs the system call filter")
    _need_filter(report)
    refusal = REFUSED_WITHOUT_NETWORK["socket"]
    _see_refused("to open a socket", lambda: socket.socket().close(), refusal)
    return "; ".join(filter(None, ("no sockets, seccomp", namespace)))


def _bind() -> None:
    with socket.socket() as connection:
        connection.bind(("127.0.0.1", 0))


def _no_signals(report: Report) -> str:
    version = int(report.in_force.get("filesystem", "0").split()[-1])
    if "syscalls" not in report.in_force and version < landlock.SCOPED_SIGNALS:
        raise OSError(f"needs the system call filter, or Landlock {landlock.SCOPED_SIGNALS}")
    _see_refused("to signal another process", lambda: os.kill(os.getppid(), 0))
    filtered = "syscalls" in report.in_force
    return f"to itself only; {'seccomp' if filtered else f'Landlock {version}'}"


def _need_filter(report: Report) -> None:
    if "syscalls" not in report.in_force:
        raise OSError("needs the system call filter")


def _see_refused(what: str, action: Callable[[], object], refusal: int = errno.EPERM) -> None:
    """Check that the kernel refuses ``action``; some emulated kernels accept rules and ignore them.

    Args:
        what: describes the action.
        action: what the rules forbid.
        refusal: error number of the refusal, beside those of ``PermissionError``.

    Raises:
        OSError: it was not refused.
    """
    try:
        action()
    except OSError as error:
        if isinstance(error, PermissionError) or error.errno == refusal:
            return
        raise
    raise OSError(f"the rules were accepted, but {what} is not refused")


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _prctl(option: int, value: int) -> str:
    arguments: list[Any] = [ctypes.c_ulong(n) for n in (value, 0, 0, 0)]
    if libc().prctl(option, *arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return "set"
