"""Confinement of a child before it runs any code, and the report of it.

Each measure is tried separately. A missing measure is reported to the host with the reason, and the
host decides whether that is an error (``allow_missing=``). A shortage that passes is not a missing
measure: the start fails.
"""

from __future__ import annotations

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

from ..system.descriptor_passing import send_descriptors
from ..system.proxy_environment import PROXY_PORT
from ..system.shortages import is_shortage
from .confinement_report import Bounds, Report
from .restrictions import landlock, seccomp
from .restrictions.call_supervisor import give_listener
from .restrictions.capabilities import drop_capabilities
from .restrictions.libc import c_call, libc
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
# Measures that other systems than Linux have.
_EVERYWHERE = ("session", "files")


class Confinement:
    """Irrevocable confinement of this process, while it is single-threaded.

    Args:
        layout: of all children of the fork server.
        bounds: the limits.
    """

    def __init__(self, layout: Layout, bounds: Bounds) -> None:
        self._layout = layout
        self._bounds = bounds
        self._report = Report()
        self._namespace = ""

    def take_all(self, parent: socket.socket, host: socket.socket) -> Report:
        """Take all measures, before untrusted code runs; return what is in force.

        Args:
            parent: connection on which the listener is sent that lets the parent limit threads.
            host: connection on which the host gets the listener for its proxy, if it asked for one.
        """
        proxy_error = ""
        if self._is_linux:
            lower_shared_limits()
            if self._layout.network != "host":
                # Without a proxy a second barrier behind the filter, which refuses every socket.
                # First, since the files it writes are not this process's own without core dumps.
                self._namespace = self._enter_namespace()
            if self._layout.network == "proxy":
                proxy_error = self._listen(host)
        self._take("session", _own_session)
        self._take("no_new_privileges", lambda: _prctl(_PR_SET_NO_NEW_PRIVS, 1))
        self._take("capabilities", drop_capabilities)
        self._take("memory", self._limit_memory)
        self._take("cpu", lambda: "counted from each call's start, by the host")
        self._take("filesystem", self._restrict_files)
        is_supervised = False

        def filter_calls() -> str:
            nonlocal is_supervised
            is_supervised = self._filter_calls(parent)
            return "only the system calls that a calculation needs, seccomp"

        self._take("syscalls", filter_calls)
        # After the listener was handed over: the kernel compares this limit with all descriptors
        # that the user's processes have in flight.
        self._take("files", self._limit_files)
        self._take("processes", lambda: self._check_processes(is_supervised))
        if "processes" in self._report.in_force:
            os.system = _refuse_shell
        self._take("network", lambda: self._check_network(proxy_error))
        self._take("signals", self._check_signals)
        return self._report

    @property
    def _is_linux(self) -> bool:
        return self._layout.kernel.platform == "linux"

    @property
    def _is_filtered(self) -> bool:
        return "syscalls" in self._report.in_force

    def _take(self, measure: str, action: Callable[[], str]) -> None:
        """Take a measure, and report it."""
        if not self._is_linux and measure not in _EVERYWHERE:
            self._report.missing[measure] = f"only on Linux, this is {self._layout.kernel.platform}"
            return
        try:
            self._report.in_force[measure] = action()
        except (OSError, ValueError, AttributeError) as error:
            if is_shortage(error):
                raise
            self._report.missing[measure] = str(error)

    def _enter_namespace(self) -> str:
        """Enter a new network namespace; return its description, empty if not available."""
        if not self._layout.kernel.namespaces:
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

    def _listen(self, host: socket.socket) -> str:
        """Enable loopback in the own network namespace, and listen there for the host's proxy.

        Returns:
            Why that is not possible; empty if the host has the listener.
        """
        if not self._namespace:
            return "needs a network namespace of its own, which this user may not make"
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
            try:
                # Before the capabilities are dropped.
                fcntl.ioctl(listener, _SIOCSIFFLAGS, _INTERFACE.pack(b"lo", _IFF_UP))
                listener.bind(("127.0.0.1", PROXY_PORT))
                listener.listen(_BACKLOG)
            except OSError as error:
                if is_shortage(error):
                    raise
                return f"no listener in the own network namespace: {error}"
            send_descriptors(host, b"L", [listener.fileno()])
        return ""

    def _limit_memory(self) -> str:
        limit = self._bounds.memory_bytes
        if limit is None:
            raise OSError("memory=None: no limit was requested")
        with open("/proc/self/statm", "rb") as status:
            now = int(status.read().split()[0]) * resource.getpagesize()
        # Libraries are mapped already: the limit is for additional memory.
        limit = lower_limit(resource.RLIMIT_AS, now + limit) - now
        return f"{limit} bytes beyond Python's own, RLIMIT_AS"

    def _restrict_files(self) -> str:
        layout, bounds = self._layout, self._bounds
        version = landlock.restrict(
            (*layout.readable, *bounds.readable),
            layout.listable,
            (bounds.work_folder, bounds.temporary_folder, *_DEVICES),
            newest=layout.kernel.landlock,
            ports={"none": (), "proxy": (PROXY_PORT,), "host": None}[layout.network],
        )
        if "/" not in {*bounds.readable, *layout.readable, *layout.listable}:
            _check_refusal("to list /", lambda: os.close(os.open("/", os.O_RDONLY)))
        return f"writes in its folder only, reads of libraries only; Landlock {version}"

    def _filter_calls(self, parent: socket.socket) -> bool:
        """Install the filter; return whether the parent enforces the limit on threads."""
        kernel = self._layout.kernel
        if not kernel.seccomp:
            raise OSError("the kernel has no system call filters")
        listener = seccomp.install(self._layout.network, listener=kernel.listener)
        if listener is not None:
            give_listener(parent, listener)
        _check_refusal("to set a priority", lambda: os.nice(0))
        return listener is not None

    def _limit_files(self) -> str:
        # Below the host's: children can have as many in flight, and one message more.
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        most = max(_FEWEST_FILES, min(hard // 2, hard - _FILES_OF_A_MESSAGE))
        count = lower_limit(resource.RLIMIT_NOFILE, min(self._bounds.open_files, most))
        size = self._bounds.file_bytes
        if size is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # raises OSError instead of killing
            size = lower_limit(resource.RLIMIT_FSIZE, size)
        return f"{count} descriptors, {'any' if size is None else size} bytes a file"

    def _need_filter(self) -> None:
        if not self._is_filtered:
            raise OSError("needs the system call filter")

    def _check_processes(self, is_supervised: bool) -> str:
        self._need_filter()
        _check_refusal("to fork", _fork)
        if not is_supervised:
            raise OSError("no new process, but no limit on threads: no seccomp listener")
        return f"no new process, no program, at most {self._bounds.threads} threads; seccomp"

    def _check_network(self, proxy_error: str) -> str:
        network, refusal = self._layout.network, REFUSED_WITHOUT_NETWORK["socket"]
        if network == "host":
            raise OSError("network='host': the host's network was requested")
        if proxy_error:
            raise OSError(proxy_error)
        if network == "none" and self._namespace and not self._is_filtered:
            raise OSError(f"{self._namespace}, but UNIX sockets work; needs the system call filter")
        self._need_filter()
        if network == "none":
            _check_refusal("to open a socket", lambda: socket.socket().close(), refusal)
            return "; ".join(filter(None, ("no sockets, seccomp", self._namespace)))
        datagrams = (socket.AF_INET, socket.SOCK_DGRAM)
        _check_refusal(
            "to open a datagram socket", lambda: socket.socket(*datagrams).close(), refusal
        )
        _check_refusal("to bind a port", _bind, refusal)
        return f"the proxy's port {PROXY_PORT} only; seccomp; {self._namespace} but loopback"

    def _check_signals(self) -> str:
        version = int(self._report.in_force.get("filesystem", "0").split()[-1])
        if not self._is_filtered and version < landlock.SCOPED_SIGNALS:
            raise OSError(f"needs the system call filter, or Landlock {landlock.SCOPED_SIGNALS}")
        _check_refusal("to signal another process", lambda: os.kill(os.getppid(), 0))
        return f"to itself only; {'seccomp' if self._is_filtered else f'Landlock {version}'}"


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


def _bind() -> None:
    with socket.socket() as connection:
        connection.bind(("127.0.0.1", 0))


def _refuse_shell(*_arguments: object, **_keywords: object) -> Any:
    """Raise the kernel's refusal; C's ``system()`` would return the status of a missing shell."""
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def _check_refusal(what: str, action: Callable[[], object], refusal: int = errno.EPERM) -> None:
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
    c_call("prctl", option, value, 0, 0, 0)
    return "set"
