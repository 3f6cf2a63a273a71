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
        "chmod": 90, "fchmodat": 268, "fchmodat2": 452, "chown": 92, "fchownat": 260,
        "utimensat": 280, "setxattr": 188, "lsetxattr": 189, "removexattr": 197, "truncate": 76,
        "shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240, "memfd_create": 319,
        "add_key": 248, "tgkill": 234, "rt_sigqueueinfo": 129, "pidfd_open": 434,
        "pidfd_send_signal": 424, "ptrace": 101, "process_vm_readv": 310, "perf_event_open": 298,
        "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "inotify_init1": 294,
        "inotify_add_watch": 254, "fanotify_init": 300, "mount": 165, "unshare": 272, "setns": 308,
        "chroot": 161, "ioprio_set": 251, "sched_setscheduler": 144, "prlimit64": 302,
        "move_pages": 279, "kcmp": 312, "name_to_handle_at": 303, "open_by_handle_at": 304,
        "process_madvise": 440, "pidfd_getfd": 438, "clone": 56, "fork": 57, "vfork": 58,
        "execveat": 322, "syslog": 103, "setpriority": 141, "landlock_create_ruleset": 444,
    },
    "aarch64": {
        "fchmodat": 53, "fchmodat2": 452, "fchownat": 54, "utimensat": 88, "setxattr": 5,
        "lsetxattr": 6, "removexattr": 14, "truncate": 45, "shmget": 194, "semget": 190,
        "msgget": 186, "mq_open": 180, "memfd_create": 279, "add_key": 217, "tgkill": 131,
        "rt_sigqueueinfo": 138, "pidfd_open": 434, "pidfd_send_signal": 424, "ptrace": 117,
        "process_vm_readv": 270, "perf_event_open": 241, "bpf": 280, "userfaultfd": 282,
        "io_uring_setup": 425, "inotify_init1": 26, "inotify_add_watch": 27, "fanotify_init": 262,
        "mount": 40, "unshare": 97, "setns": 268, "chroot": 51, "ioprio_set": 30,
        "sched_setscheduler": 119, "prlimit64": 261, "move_pages": 239, "kcmp": 272,
        "name_to_handle_at": 264, "open_by_handle_at": 265, "process_madvise": 440,
        "pidfd_getfd": 438, "clone": 220, "execveat": 281, "syslog": 116, "setpriority": 140,
    },
}  # fmt: skip
_AT_FDCWD = -100
_libc = ctypes.CDLL(None, use_errno=True)
_numbers = _SYSCALLS.get(platform.machine(), {})
_attempts: list[Callable[[dict[str, Any]], Any]] = []


def attempt(function: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """Register an attempt, which raises if it is refused; its return value is shown."""
    _attempts.append(function)
    return function


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
    for one in _attempts:
        if only and one.__name__ not in only:
            continue
        try:
            shown = one(host)
        except BaseException:
            continue
        reached.append(f"{one.__name__} {shown!r:.60}")
    return reached


def _files(host: dict[str, Any]) -> tuple[bytes, bytes]:
    return os.fsencode(host["tree"]), os.fsencode(host["secret_file"])


# -- secrets of the host --


@attempt
def read_secret_file(host: dict[str, Any]) -> Any:
    with open(host["secret_file"]) as file:
        return file.read()


@attempt
def list_names(host: dict[str, Any]) -> Any:
    return os.listdir(host["tree"])


@attempt
def read_environment_of_host(host: dict[str, Any]) -> Any:
    with open(f"/proc/{host['pid']}/environ", "rb") as file:
        return file.read()


@attempt
def read_environment_of_parent(host: dict[str, Any]) -> Any:
    with open(f"/proc/{os.getppid()}/environ", "rb") as file:
        return file.read()


@attempt
def read_memory_of_host(host: dict[str, Any]) -> Any:
    with open(f"/proc/{host['pid']}/mem", "rb") as file:
        return file.fileno()


@attempt
def read_memory_by_system_call(host: dict[str, Any]) -> Any:
    buffer = ctypes.create_string_buffer(8)
    ours = struct.pack("QQ", ctypes.addressof(buffer), 8)
    theirs = struct.pack("QQ", host["address"], 8)
    call("process_vm_readv", host["pid"], ours, 1, theirs, 1, 0)
    return buffer.raw


@attempt
def list_descriptors_of_host(host: dict[str, Any]) -> Any:
    return os.listdir(f"/proc/{host['pid']}/fd")


@attempt
def trace_victim(host: dict[str, Any]) -> Any:
    return call("ptrace", 16, host["victim"], 0, 0)  # PTRACE_ATTACH


@attempt
def compare_with_host(host: dict[str, Any]) -> Any:
    return call("kcmp", host["pid"], os.getpid(), 1, 0, 0)


@attempt
def take_descriptor_of_host(host: dict[str, Any]) -> Any:
    return call("pidfd_getfd", call("pidfd_open", host["pid"], 0), 0, 0)


@attempt
def watch_names(host: dict[str, Any]) -> Any:
    return call("inotify_add_watch", call("inotify_init1", 0), _files(host)[0], 0xFFF)


@attempt
def watch_file_system(host: dict[str, Any]) -> Any:
    return call("fanotify_init", 0, 0)


@attempt
def open_by_handle(host: dict[str, Any]) -> Any:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call("name_to_handle_at", _AT_FDCWD, _files(host)[1], handle, ctypes.byref(mount), 0)
    root = os.open(os.getcwd(), os.O_RDONLY)
    return os.read(call("open_by_handle_at", root, handle, os.O_RDONLY), 100)


@attempt
def read_log_of_kernel(host: dict[str, Any]) -> Any:
    return call("syslog", 10, 0, 0)


# -- files and their attributes --


@attempt
def write_file(host: dict[str, Any]) -> Any:
    with open(host["file"], "a") as file:
        file.write("x")


@attempt
def truncate_file(host: dict[str, Any]) -> Any:
    return call("truncate", os.fsencode(host["file"]), 0)


@attempt
def create_file(host: dict[str, Any]) -> Any:
    return os.open(os.path.join(host["tree"], host["marker"]), os.O_CREAT | os.O_WRONLY)


def _create_in(folder: str) -> Callable[[dict[str, Any]], Any]:
    def create(host: dict[str, Any]) -> Any:
        return os.open(os.path.join(folder, host["marker"]), os.O_CREAT | os.O_WRONLY)

    create.__name__ = f"create_in_{folder}"
    return create


for _folder in ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", os.path.expanduser("~")):
    attempt(_create_in(_folder))


@attempt
def make_folder(host: dict[str, Any]) -> Any:
    return os.mkdir(os.path.join(host["tree"], host["marker"] + "-folder"))


@attempt
def link_out(host: dict[str, Any]) -> Any:
    return os.link(host["file"], "hostile-link")


@attempt
def link_in(host: dict[str, Any]) -> Any:
    with open("hostile-file", "w"):
        pass
    return os.link("hostile-file", os.path.join(host["tree"], host["marker"] + "-link"))


@attempt
def symlink_in(host: dict[str, Any]) -> Any:
    return os.symlink("/", os.path.join(host["tree"], host["marker"] + "-symlink"))


@attempt
def read_through_symlink(host: dict[str, Any]) -> Any:
    with contextlib.suppress(FileExistsError):
        os.symlink(host["secret_file"], "hostile-symlink")
    with open("hostile-symlink") as file:
        return file.read()


@attempt
def rename_file(host: dict[str, Any]) -> Any:
    return os.rename(host["file"], host["file"] + "-renamed")


@attempt
def move_file_here(host: dict[str, Any]) -> Any:
    return os.rename(host["file"], "hostile-moved")


@attempt
def remove_file(host: dict[str, Any]) -> Any:
    return os.unlink(host["file"])


@attempt
def remove_folder(host: dict[str, Any]) -> Any:
    return os.rmdir(os.path.join(host["tree"], "folder"))


@attempt
def chmod_file(host: dict[str, Any]) -> Any:
    return os.chmod(host["secret_file"], 0o777)


@attempt
def chmod_by_descriptor(host: dict[str, Any]) -> Any:
    number = os.open(host["secret_file"], os.O_PATH)
    return os.chmod(f"/proc/self/fd/{number}", 0o777)


@attempt
def chmod_relative(host: dict[str, Any]) -> Any:
    return call("fchmodat", _AT_FDCWD, _files(host)[1], 0o755)


@attempt
def chmod_newest(host: dict[str, Any]) -> Any:
    return call("fchmodat2", _AT_FDCWD, _files(host)[1], 0o711, 0)


@attempt
def chmod_readable_library(host: dict[str, Any]) -> Any:
    # Readable by the child, so it is opened there; set to its own mode, so that a hole is harmless.
    number = os.open(os.__file__, os.O_RDONLY)
    return os.fchmod(number, os.fstat(number).st_mode & 0o7777)


@attempt
def chown_file(host: dict[str, Any]) -> Any:
    return os.chown(host["secret_file"], os.getuid(), os.getgid())


@attempt
def chown_relative(host: dict[str, Any]) -> Any:
    return call("fchownat", _AT_FDCWD, _files(host)[1], os.getuid(), os.getgid(), 0)


@attempt
def set_times(host: dict[str, Any]) -> Any:
    return os.utime(host["secret_file"], (1, 1))


@attempt
def set_times_relative(host: dict[str, Any]) -> Any:
    return call("utimensat", _AT_FDCWD, _files(host)[1], struct.pack("qqqq", 1, 0, 1, 0), 0)


@attempt
def set_attribute(host: dict[str, Any]) -> Any:
    return call("setxattr", _files(host)[1], b"user.hostile", b"x", 1, 0)


@attempt
def set_attribute_of_link(host: dict[str, Any]) -> Any:
    return call("lsetxattr", _files(host)[1], b"user.hostile2", b"x", 1, 0)


@attempt
def remove_attribute(host: dict[str, Any]) -> Any:
    return call("removexattr", _files(host)[1], b"user.note")


# -- other processes --


@attempt
def signal_victim(host: dict[str, Any]) -> Any:
    return os.kill(host["victim"], signal.SIGTERM)


@attempt
def signal_host(host: dict[str, Any]) -> Any:
    return os.kill(host["pid"], 0)


@attempt
def signal_parent(host: dict[str, Any]) -> Any:
    return os.kill(os.getppid(), 0)


@attempt
def signal_everybody(host: dict[str, Any]) -> Any:
    return os.kill(-1, 0)


@attempt
def signal_group(host: dict[str, Any]) -> Any:
    return os.kill(-host["victim"], signal.SIGTERM)


@attempt
def signal_thread_of_victim(host: dict[str, Any]) -> Any:
    return call("tgkill", host["victim"], host["victim"], int(signal.SIGTERM))


@attempt
def signal_by_descriptor(host: dict[str, Any]) -> Any:
    number = call("pidfd_open", host["victim"], 0)
    return call("pidfd_send_signal", number, int(signal.SIGTERM), 0, 0)


@attempt
def queue_signal(host: dict[str, Any]) -> Any:
    return call("rt_sigqueueinfo", host["victim"], int(signal.SIGTERM), bytes(128))


@attempt
def signal_by_owner_of_pipe(host: dict[str, Any]) -> Any:
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, host["victim"])
    fcntl.fcntl(reader, 10, signal.SIGTERM)  # F_SETSIG
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    return os.write(writer, b"x")


@attempt
def signal_by_owner_of_thread(host: dict[str, Any]) -> Any:
    reader, writer = os.pipe()
    fcntl.fcntl(reader, 15, struct.pack("ii", 1, host["victim"]))  # F_SETOWN_EX, F_OWNER_PID
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    return os.write(writer, b"x")


@attempt
def signal_by_owner_in_ioctl(host: dict[str, Any]) -> Any:
    ours, theirs = socket.socketpair()
    fcntl.ioctl(ours, 0x8901, struct.pack("i", host["victim"]))  # FIOSETOWN
    fcntl.ioctl(ours, 0x5452, struct.pack("i", 1))  # FIOASYNC
    return theirs.send(b"x")


@attempt
def limit_victim(host: dict[str, Any]) -> Any:
    return call("prlimit64", host["victim"], resource.RLIMIT_NOFILE, struct.pack("QQ", 9, 9), 0)


@attempt
def slow_down_victim(host: dict[str, Any]) -> Any:
    return os.setpriority(os.PRIO_PROCESS, host["victim"], 19)


@attempt
def slow_down_user(host: dict[str, Any]) -> Any:
    return call("setpriority", os.PRIO_PROCESS, host["victim"], 19)


@attempt
def move_victim(host: dict[str, Any]) -> Any:
    return os.sched_setaffinity(host["victim"], {0})


@attempt
def reschedule_victim(host: dict[str, Any]) -> Any:
    return call("sched_setscheduler", host["victim"], 5, struct.pack("i", 0))  # SCHED_IDLE


@attempt
def order_victim(host: dict[str, Any]) -> Any:
    return call("ioprio_set", 1, host["victim"], 3 << 13)


@attempt
def move_pages_of_victim(host: dict[str, Any]) -> Any:
    return call("move_pages", host["victim"], 0, 0, 0, 0, 0)


@attempt
def outlive_parent(host: dict[str, Any]) -> Any:
    return _checked(_libc.prctl(1, 0, 0, 0, 0))  # PR_SET_PDEATHSIG


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


# -- new processes --


@attempt
def fork_process(host: dict[str, Any]) -> Any:
    pid = os.fork()
    if pid == 0:
        signal.pause()
    return pid


@attempt
def fork_by_number(host: dict[str, Any]) -> Any:
    pid = call("clone", int(signal.SIGCHLD), 0, 0, 0, 0)
    if pid == 0:
        signal.pause()
    return pid


@attempt
def spawn_process(host: dict[str, Any]) -> Any:
    return os.posix_spawn("/bin/sh", ["sh", "-c", "exec sleep 60"], {})


@attempt
def load_into_kernel(host: dict[str, Any]) -> Any:
    return call("bpf", 0, bytes(128), 128)


@attempt
def listen_to_kernel(host: dict[str, Any]) -> Any:
    return call("perf_event_open", struct.pack("IIQ", 1, 112, 0) + bytes(96), 0, -1, -1, 0)


@attempt
def ring(host: dict[str, Any]) -> Any:
    return call("io_uring_setup", 1, ctypes.create_string_buffer(256))


@attempt
def fault_handler(host: dict[str, Any]) -> Any:
    return call("userfaultfd", 0)


# -- the network --


@attempt
def connect_to_host(host: dict[str, Any]) -> Any:
    with socket.socket() as one:
        one.settimeout(0.1)
        return one.connect(("127.0.0.1", host["port"]))


@attempt
def connect_to_socket_file(host: dict[str, Any]) -> Any:
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect(host["socket"])


@attempt
def connect_to_abstract_name(host: dict[str, Any]) -> Any:
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect("\0" + host["marker"])


@attempt
def send_from_pair(host: dict[str, Any]) -> Any:
    ours, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return ours.sendto(b"x", "\0" + host["marker"] + "-datagram")


@attempt
def listen(host: dict[str, Any]) -> Any:
    with socket.socket() as one:
        one.bind(("0.0.0.0", 0))
        return one.listen()


# -- resources that outlive a process --


@attempt
def shared_memory(host: dict[str, Any]) -> Any:
    return call("shmget", host["key"], 4096, 0o1666)


@attempt
def semaphores(host: dict[str, Any]) -> Any:
    return call("semget", host["key"], 1, 0o1666)


@attempt
def message_queue(host: dict[str, Any]) -> Any:
    return call("msgget", host["key"], 0o1666)


@attempt
def named_queue(host: dict[str, Any]) -> Any:
    return call("mq_open", host["marker"].encode(), os.O_CREAT | os.O_RDWR, 0o666, 0)


@attempt
def memory_file(host: dict[str, Any]) -> Any:
    return call("memfd_create", b"hostile", 0)


@attempt
def keyring(host: dict[str, Any]) -> Any:
    return call("add_key", b"user", host["marker"].encode(), b"x", 1, -4)


@attempt
def grow_log(host: dict[str, Any]) -> Any:
    """Extend the file of the output log, through any descriptor that is still open."""
    for number in range(64):
        with contextlib.suppress(OSError):
            if "memfd" in os.readlink(f"/proc/self/fd/{number}"):
                return os.ftruncate(number, 1 << 30)
    raise OSError("no descriptor")


@attempt
def grow_log_by_map(host: dict[str, Any]) -> Any:
    for name in os.listdir("/proc/self/map_files"):
        with contextlib.suppress(OSError):
            if "memfd" in os.readlink(f"/proc/self/map_files/{name}"):
                number = os.open(f"/proc/self/map_files/{name}", os.O_RDWR)
                return os.ftruncate(number, 1 << 30)
    raise OSError("no map")


# -- the system --


@attempt
def mount(host: dict[str, Any]) -> Any:
    return call("mount", b"none", os.fsencode(host["tree"]), b"tmpfs", 0, 0)


@attempt
def own_namespaces(host: dict[str, Any]) -> Any:
    return call("unshare", 0x10000000 | 0x00020000)


@attempt
def change_root(host: dict[str, Any]) -> Any:
    return call("chroot", b"/")


@attempt
def type_on_terminal(host: dict[str, Any]) -> Any:
    number = os.open("/dev/tty", os.O_RDWR)
    return fcntl.ioctl(number, 0x5412, b"x")  # TIOCSTI


@attempt
def raise_limits(host: dict[str, Any]) -> Any:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY:
        raise OSError("there is none")
    return resource.setrlimit(resource.RLIMIT_AS, (hard + (1 << 30),) * 2)


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
