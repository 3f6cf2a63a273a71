"""Attacks of a program in the child process without restrictions by Python.

Each attempt attacks one resource of the host as directly as possible, mostly by the system call
itself. An attempt that does not raise has reached something outside the process, and its name is
returned. The host also checks the effects: see ``host_watch.py``.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import platform
import resource
import signal
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

_SYSCALLS: dict[str, dict[str, int]] = {
    "x86_64": {
        "fchmodat": 268, "fchmodat2": 452, "fchownat": 260, "setxattr": 188, "lsetxattr": 189,
        "removexattr": 197, "truncate": 76, "shmget": 29, "semget": 64, "msgget": 68,
        "mq_open": 240, "memfd_create": 319, "add_key": 248, "tgkill": 234, "rt_sigqueueinfo": 129,
        "pidfd_open": 434, "pidfd_send_signal": 424, "ptrace": 101, "process_vm_readv": 310,
        "perf_event_open": 298, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425,
        "inotify_init1": 294, "inotify_add_watch": 254, "fanotify_init": 300, "mount": 165,
        "unshare": 272, "chroot": 161, "ioprio_set": 251, "sched_setscheduler": 144,
        "prlimit64": 302, "move_pages": 279, "kcmp": 312, "name_to_handle_at": 303,
        "open_by_handle_at": 304, "pidfd_getfd": 438, "clone": 56, "syslog": 103,
    },
    "aarch64": {
        "fchmodat": 53, "fchmodat2": 452, "fchownat": 54, "setxattr": 5, "lsetxattr": 6,
        "removexattr": 14, "truncate": 45, "shmget": 194, "semget": 190, "msgget": 186,
        "mq_open": 180, "memfd_create": 279, "add_key": 217, "tgkill": 131, "rt_sigqueueinfo": 138,
        "pidfd_open": 434, "pidfd_send_signal": 424, "ptrace": 117, "process_vm_readv": 270,
        "perf_event_open": 241, "bpf": 280, "userfaultfd": 282, "io_uring_setup": 425,
        "inotify_init1": 26, "inotify_add_watch": 27, "fanotify_init": 262, "mount": 40,
        "unshare": 97, "chroot": 51, "ioprio_set": 30, "sched_setscheduler": 119, "prlimit64": 261,
        "move_pages": 239, "kcmp": 272, "name_to_handle_at": 264, "open_by_handle_at": 265,
        "pidfd_getfd": 438, "clone": 220, "syslog": 116,
    },
}  # fmt: skip
_AT_FDCWD = -100
_libc = ctypes.CDLL(None, use_errno=True)
_numbers = _SYSCALLS.get(platform.machine(), {})
#: Printed by a program that has reached its canary, when it has made every attempt.
ASSAULT_MADE = "[assault made]"
#: Printed for an attempt that was not refused; its name follows.
REACHED = "[reached:"
#: Folders that anyone, or this user, may write to.
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", os.path.expanduser("~"))

Attempt = Callable[[dict[str, Any]], Any]


def call(name: str, *arguments: Any) -> int:
    """Make a system call; raises if it is refused."""
    if name not in _numbers:
        raise OSError(38, "no such call here")
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result: int = _libc.syscall(ctypes.c_long(_numbers[name]), *converted)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def made(host: dict[str, Any], only: Sequence[str] = ()) -> list[str]:
    """Make all attempts, or those in ``only``; return the names of those not refused."""
    reached = []
    for name, attempt in ATTEMPTS.items():
        if only and name not in only:
            continue
        try:
            shown = attempt(host)
        except BaseException:
            continue
        reached.append(f"{name} {shown!r:.60}")
    return reached


def _files(host: dict[str, Any]) -> tuple[bytes, bytes]:
    return os.fsencode(host["tree"]), os.fsencode(host["secret_file"])


def _create_in(folder: str) -> Attempt:
    return lambda host: os.open(os.path.join(folder, host["marker"]), os.O_CREAT | os.O_WRONLY)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def read_memory_of_host(host: dict[str, Any]) -> Any:
    with open(f"/proc/{host['pid']}/mem", "rb") as file:
        return file.fileno()


def read_memory_by_system_call(host: dict[str, Any]) -> Any:
    buffer = ctypes.create_string_buffer(8)
    ours = struct.pack("QQ", ctypes.addressof(buffer), 8)
    theirs = struct.pack("QQ", host["address"], 8)
    call("process_vm_readv", host["pid"], ours, 1, theirs, 1, 0)
    return buffer.raw


def open_by_handle(host: dict[str, Any]) -> Any:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call("name_to_handle_at", _AT_FDCWD, _files(host)[1], handle, ctypes.byref(mount), 0)
    root = os.open(os.getcwd(), os.O_RDONLY)
    return os.read(call("open_by_handle_at", root, handle, os.O_RDONLY), 100)


def write_file(host: dict[str, Any]) -> Any:
    with open(host["file"], "a") as file:
        file.write("x")


def link_in(host: dict[str, Any]) -> Any:
    with open("hostile-file", "w"):
        pass
    return os.link("hostile-file", os.path.join(host["tree"], host["marker"] + "-link"))


def read_through_symlink(host: dict[str, Any]) -> Any:
    with contextlib.suppress(FileExistsError):
        os.symlink(host["secret_file"], "hostile-symlink")
    return _read("hostile-symlink")


def chmod_by_descriptor(host: dict[str, Any]) -> Any:
    number = os.open(host["secret_file"], os.O_PATH)
    return os.chmod(f"/proc/self/fd/{number}", 0o777)


def chmod_readable_library(host: dict[str, Any]) -> Any:
    # Readable by the child, so it is opened there; set to its own mode, so that a hole is harmless.
    number = os.open(os.__file__, os.O_RDONLY)
    return os.fchmod(number, os.fstat(number).st_mode & 0o7777)


def signal_by_descriptor(host: dict[str, Any]) -> Any:
    number = call("pidfd_open", host["victim"], 0)
    return call("pidfd_send_signal", number, int(signal.SIGTERM), 0, 0)


def signal_by_owner_of_pipe(host: dict[str, Any]) -> Any:
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, host["victim"])
    fcntl.fcntl(reader, 10, signal.SIGTERM)  # F_SETSIG
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    return os.write(writer, b"x")


def signal_by_owner_of_thread(host: dict[str, Any]) -> Any:
    reader, writer = os.pipe()
    fcntl.fcntl(reader, 15, struct.pack("ii", 1, host["victim"]))  # F_SETOWN_EX, F_OWNER_PID
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    return os.write(writer, b"x")


def signal_by_owner_in_ioctl(host: dict[str, Any]) -> Any:
    ours, theirs = socket.socketpair()
    fcntl.ioctl(ours, 0x8901, struct.pack("i", host["victim"]))  # FIOSETOWN
    fcntl.ioctl(ours, 0x5452, struct.pack("i", 1))  # FIOASYNC
    return theirs.send(b"x")


def fork_process(host: dict[str, Any]) -> Any:
    pid = os.fork()
    if pid == 0:
        signal.pause()
    return pid


def fork_by_number(host: dict[str, Any]) -> Any:
    pid = call("clone", int(signal.SIGCHLD), 0, 0, 0, 0)
    if pid == 0:
        signal.pause()
    return pid


def connect_to_host(host: dict[str, Any]) -> Any:
    with socket.socket() as one:
        one.settimeout(0.1)
        return one.connect(("127.0.0.1", host["port"]))


def connect_to_socket_file(host: dict[str, Any]) -> Any:
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect(host["socket"])


def connect_to_abstract_name(host: dict[str, Any]) -> Any:
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect("\0" + host["marker"])


def send_from_pair(host: dict[str, Any]) -> Any:
    ours, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return ours.sendto(b"x", "\0" + host["marker"] + "-datagram")


def listen(host: dict[str, Any]) -> Any:
    with socket.socket() as one:
        one.bind(("0.0.0.0", 0))
        return one.listen()


def grow_log(host: dict[str, Any]) -> Any:
    """Extend the file of the output log, through any descriptor that is still open."""
    for number in range(64):
        with contextlib.suppress(OSError):
            if "memfd" in os.readlink(f"/proc/self/fd/{number}"):
                return os.ftruncate(number, 1 << 30)
    raise OSError("no descriptor")


def grow_log_by_map(host: dict[str, Any]) -> Any:
    for name in os.listdir("/proc/self/map_files"):
        with contextlib.suppress(OSError):
            if "memfd" in os.readlink(f"/proc/self/map_files/{name}"):
                number = os.open(f"/proc/self/map_files/{name}", os.O_RDWR)
                return os.ftruncate(number, 1 << 30)
    raise OSError("no map")


def type_on_terminal(host: dict[str, Any]) -> Any:
    number = os.open("/dev/tty", os.O_RDWR)
    return fcntl.ioctl(number, 0x5412, b"x")  # TIOCSTI


def raise_limits(host: dict[str, Any]) -> Any:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY:
        raise OSError("there is none")
    return resource.setrlimit(resource.RLIMIT_AS, (hard + (1 << 30),) * 2)


#: Name -> attempt, in order; it raises if it is refused, and its return value is shown.
ATTEMPTS: dict[str, Attempt] = {
    # -- secrets of the host --
    "read_secret_file": lambda host: _read(host["secret_file"]),
    "list_names": lambda host: os.listdir(host["tree"]),
    "read_environment_of_host": lambda host: _read(f"/proc/{host['pid']}/environ"),
    "read_environment_of_parent": lambda host: _read(f"/proc/{os.getppid()}/environ"),
    "read_memory_of_host": read_memory_of_host,
    "read_memory_by_system_call": read_memory_by_system_call,
    "list_descriptors_of_host": lambda host: os.listdir(f"/proc/{host['pid']}/fd"),
    "trace_victim": lambda host: call("ptrace", 16, host["victim"], 0, 0),  # PTRACE_ATTACH
    "compare_with_host": lambda host: call("kcmp", host["pid"], os.getpid(), 1, 0, 0),
    "take_descriptor_of_host": lambda host: call(
        "pidfd_getfd", call("pidfd_open", host["pid"], 0), 0, 0
    ),
    "watch_names": lambda host: call(
        "inotify_add_watch", call("inotify_init1", 0), _files(host)[0], 0xFFF
    ),
    "watch_file_system": lambda host: call("fanotify_init", 0, 0),
    "open_by_handle": open_by_handle,
    "read_log_of_kernel": lambda host: call("syslog", 10, 0, 0),
    # -- files and their attributes --
    "write_file": write_file,
    "truncate_file": lambda host: call("truncate", os.fsencode(host["file"]), 0),
    "create_file": lambda host: _create_in(host["tree"])(host),
    **{f"create_in_{folder}": _create_in(folder) for folder in SHARED_FOLDERS},
    "make_folder": lambda host: os.mkdir(os.path.join(host["tree"], host["marker"] + "-folder")),
    "link_out": lambda host: os.link(host["file"], "hostile-link"),
    "link_in": link_in,
    "symlink_in": lambda host: os.symlink(
        "/", os.path.join(host["tree"], host["marker"] + "-symlink")
    ),
    "read_through_symlink": read_through_symlink,
    "rename_file": lambda host: os.rename(host["file"], host["file"] + "-renamed"),
    "move_file_here": lambda host: os.rename(host["file"], "hostile-moved"),
    "remove_file": lambda host: os.unlink(host["file"]),
    "remove_folder": lambda host: os.rmdir(os.path.join(host["tree"], "folder")),
    "chmod_file": lambda host: os.chmod(host["secret_file"], 0o777),
    "chmod_by_descriptor": chmod_by_descriptor,
    "chmod_relative": lambda host: call("fchmodat", _AT_FDCWD, _files(host)[1], 0o755),
    "chmod_newest": lambda host: call("fchmodat2", _AT_FDCWD, _files(host)[1], 0o711, 0),
    "chmod_readable_library": chmod_readable_library,
    "chown_file": lambda host: os.chown(host["secret_file"], os.getuid(), os.getgid()),
    "chown_relative": lambda host: call(
        "fchownat", _AT_FDCWD, _files(host)[1], os.getuid(), os.getgid(), 0
    ),
    "set_times": lambda host: os.utime(host["secret_file"], (1, 1)),
    "set_attribute": lambda host: call("setxattr", _files(host)[1], b"user.hostile", b"x", 1, 0),
    "set_attribute_of_link": lambda host: call(
        "lsetxattr", _files(host)[1], b"user.hostile2", b"x", 1, 0
    ),
    "remove_attribute": lambda host: call("removexattr", _files(host)[1], b"user.note"),
    # -- other processes --
    "signal_victim": lambda host: os.kill(host["victim"], signal.SIGTERM),
    "signal_host": lambda host: os.kill(host["pid"], 0),
    "signal_parent": lambda host: os.kill(os.getppid(), 0),
    "signal_everybody": lambda host: os.kill(-1, 0),
    "signal_group": lambda host: os.kill(-host["victim"], signal.SIGTERM),
    "signal_thread_of_victim": lambda host: call(
        "tgkill", host["victim"], host["victim"], int(signal.SIGTERM)
    ),
    "signal_by_descriptor": signal_by_descriptor,
    "queue_signal": lambda host: call(
        "rt_sigqueueinfo", host["victim"], int(signal.SIGTERM), bytes(128)
    ),
    "signal_by_owner_of_pipe": signal_by_owner_of_pipe,
    "signal_by_owner_of_thread": signal_by_owner_of_thread,
    "signal_by_owner_in_ioctl": signal_by_owner_in_ioctl,
    "limit_victim": lambda host: call(
        "prlimit64", host["victim"], resource.RLIMIT_NOFILE, struct.pack("QQ", 9, 9), 0
    ),
    "slow_down_victim": lambda host: os.setpriority(os.PRIO_PROCESS, host["victim"], 19),
    "move_victim": lambda host: os.sched_setaffinity(host["victim"], {0}),
    "reschedule_victim": lambda host: call(
        "sched_setscheduler", host["victim"], 5, struct.pack("i", 0)
    ),  # SCHED_IDLE
    "order_victim": lambda host: call("ioprio_set", 1, host["victim"], 3 << 13),
    "move_pages_of_victim": lambda host: call("move_pages", host["victim"], 0, 0, 0, 0, 0),
    "outlive_parent": lambda host: _checked(_libc.prctl(1, 0, 0, 0, 0)),  # PR_SET_PDEATHSIG
    # -- new processes --
    "fork_process": fork_process,
    "fork_by_number": fork_by_number,
    "spawn_process": lambda host: os.posix_spawn("/bin/sh", ["sh", "-c", "exec sleep 60"], {}),
    "load_into_kernel": lambda host: call("bpf", 0, bytes(128), 128),
    "listen_to_kernel": lambda host: call(
        "perf_event_open", struct.pack("IIQ", 1, 112, 0) + bytes(96), 0, -1, -1, 0
    ),
    "ring": lambda host: call("io_uring_setup", 1, ctypes.create_string_buffer(256)),
    "fault_handler": lambda host: call("userfaultfd", 0),
    # -- the network --
    "connect_to_host": connect_to_host,
    "connect_to_socket_file": connect_to_socket_file,
    "connect_to_abstract_name": connect_to_abstract_name,
    "send_from_pair": send_from_pair,
    "listen": listen,
    # -- resources that outlive a process --
    "shared_memory": lambda host: call("shmget", host["key"], 4096, 0o1666),
    "semaphores": lambda host: call("semget", host["key"], 1, 0o1666),
    "message_queue": lambda host: call("msgget", host["key"], 0o1666),
    "named_queue": lambda host: call(
        "mq_open", host["marker"].encode(), os.O_CREAT | os.O_RDWR, 0o666, 0
    ),
    "memory_file": lambda host: call("memfd_create", b"hostile", 0),
    "keyring": lambda host: call("add_key", b"user", host["marker"].encode(), b"x", 1, -4),
    "grow_log": grow_log,
    "grow_log_by_map": grow_log_by_map,
    # -- the system --
    "mount": lambda host: call("mount", b"none", os.fsencode(host["tree"]), b"tmpfs", 0, 0),
    "own_namespaces": lambda host: call("unshare", 0x10000000 | 0x00020000),
    "change_root": lambda host: call("chroot", b"/"),
    "type_on_terminal": type_on_terminal,
    "raise_limits": raise_limits,
}


def leave_thread(ask: Callable[[], Any]) -> None:
    """Start a thread that sends requests to the host for as long as it can."""

    def ask_on() -> None:
        while True:
            with contextlib.suppress(BaseException):
                ask()

    with contextlib.suppress(BaseException):
        threading.Thread(target=ask_on, daemon=True).start()


def replace_process() -> None:
    """Replace this process by another program; returns if the kernel refuses."""
    with contextlib.suppress(BaseException):
        os.execv("/bin/sh", ["sh", "-c", "echo reached: execve >&2"])
