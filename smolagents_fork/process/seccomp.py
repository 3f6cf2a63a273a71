"""A seccomp filter that takes system calls away which no calculation needs.

A deny list, written as a classic BPF program: an allow list would break with every new C library.
Refused calls fail with EPERM, so a program gets an exception. Source: include/uapi/linux/seccomp.h,
filter.h and audit.h of Linux; call numbers from its tables.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

__all__ = ["install", "program", "supported"]

_SET_SECCOMP, _MODE_FILTER = 22, 2
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_CLONE_THREAD = 0x00010000
_SET_PDEATHSIG = 1

# machine -> (audit architecture, name -> number)
_MACHINES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (0xC000003E, {
        "socket": 41, "clone": 56, "fork": 57, "vfork": 58, "execve": 59, "kill": 62,
        "ptrace": 101, "syslog": 103, "rt_sigqueueinfo": 129, "personality": 135,
        "pivot_root": 155, "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164,
        "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169,
        "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175,
        "delete_module": 176, "quotactl": 179, "tkill": 200, "clock_settime": 227, "tgkill": 234,
        "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
        "perf_event_open": 298, "rt_tgsigqueueinfo": 297, "prlimit64": 302,
        "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
        "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "execveat": 322,
        "userfaultfd": 323,
        "prctl": 157,
        # Memory and queues that outlive the process, or that no limit counts.
        "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66,
        "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "semtimedop": 220, "mq_open": 240,
        "mq_unlink": 241, "memfd_create": 319,
        # The place of other processes of the same user in the queue for a processor.
        "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144,
        "sched_setaffinity": 203, "ioprio_set": 251, "migrate_pages": 256, "move_pages": 279,
        "sched_setattr": 314,
    }),
    "aarch64": (0xC00000B7, {
        "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "quotactl": 60, "acct": 89,
        "personality": 92, "unshare": 97, "kexec_load": 104, "init_module": 105,
        "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117, "kill": 129,
        "tkill": 130, "tgkill": 131, "rt_sigqueueinfo": 138, "reboot": 142, "sethostname": 161,
        "setdomainname": 162, "settimeofday": 170, "adjtimex": 171, "socket": 198, "add_key": 217,
        "request_key": 218, "keyctl": 219, "clone": 220, "execve": 221, "swapon": 224,
        "swapoff": 225, "rt_tgsigqueueinfo": 240, "perf_event_open": 241, "prlimit64": 261,
        "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270,
        "process_vm_writev": 271, "finit_module": 273, "bpf": 280, "execveat": 281,
        "userfaultfd": 282, "kexec_file_load": 294,
        "prctl": 167, "shmget": 194, "shmctl": 195, "shmat": 196, "semget": 190, "semctl": 191,
        "semtimedop": 192, "semop": 193, "msgget": 186, "msgctl": 187, "msgrcv": 188,
        "msgsnd": 189, "mq_open": 180, "mq_unlink": 181, "memfd_create": 279,
        "setpriority": 140, "sched_setparam": 118, "sched_setscheduler": 119,
        "sched_setaffinity": 122, "ioprio_set": 30, "migrate_pages": 238, "move_pages": 239,
        "sched_setattr": 274,
    }),
}  # fmt: skip
# Newer calls have one number everywhere.
_COMMON = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "process_madvise": 440,
    "mount_setattr": 442, "memfd_secret": 447, "process_mrelease": 448,
}  # fmt: skip
_CLONE3 = 435
# Calls whose first argument is a process: allowed on oneself.
_ON_A_PROCESS = (
    "kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64", "sched_setparam",
    "sched_setscheduler", "sched_setaffinity", "migrate_pages", "move_pages", "sched_setattr",
)  # fmt: skip
_X32_BIT = 0x40000000


def supported() -> bool:
    """Whether there is a table for this machine."""
    return sys.platform == "linux" and platform.machine() in _MACHINES


def program(machine: str, own_pid: int) -> bytes:
    """The filter's instructions for ``machine`` and a process with ``own_pid``."""
    architecture, table = _MACHINES[machine]
    refuse = _statement(_RETURN, _ERRNO | errno.EPERM)
    out = [
        _statement(_LOAD, _ARCHITECTURE),
        _jump(_EQUAL, architecture, 1, 0),
        _statement(_RETURN, _KILL),
        _statement(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        # The x32 calls are the same kernel by other numbers.
        out += [_jump(_AT_LEAST, _X32_BIT, 0, 1), refuse]
    # C libraries fall back to clone, whose flags a filter can see.
    out += [_jump(_EQUAL, _CLONE3, 0, 1), _statement(_RETURN, _ERRNO | errno.ENOSYS)]
    for name, number in {**table, **_COMMON}.items():
        if name == "clone":
            checks = [_statement(_LOAD, _FIRST_ARGUMENT), _jump(_ANY_BIT, _CLONE_THREAD, 1, 0)]
        elif name == "prctl":
            # It could outlive its parent.
            checks = [_statement(_LOAD, _FIRST_ARGUMENT), _jump(_EQUAL, _SET_PDEATHSIG, 0, 1)]
        elif name in _ON_A_PROCESS:
            checks = [
                _statement(_LOAD, _FIRST_ARGUMENT),
                _jump(_EQUAL, own_pid, 2, 0),
                _jump(_EQUAL, 0, 1, 0),
            ]
        else:
            checks = []
        # Allowed forms jump over the refusal, to the return that ends this call's block.
        tail = [refuse, _statement(_RETURN, _ALLOW)] if checks else [refuse]
        block = checks + tail
        out += [_jump(_EQUAL, number, 0, len(block)), *block]
    out.append(_statement(_RETURN, _ALLOW))
    return b"".join(out)


def install() -> None:
    """Put this process under the filter, for good. Needs ``no_new_privs``.

    Raises:
        OSError: no table for this machine, or the kernel refused.
    """
    if not supported():
        raise OSError(f"no table of system calls for {platform.machine()}")
    code = program(platform.machine(), os.getpid())
    buffer = ctypes.create_string_buffer(code, len(code))
    count = len(code) // 8
    # struct sock_fprog: a short, padding, a pointer
    description = struct.pack("H6xQ", count, ctypes.addressof(buffer))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_SET_SECCOMP, _MODE_FILTER, ctypes.c_char_p(description), 0, 0) != 0:
        code_number = ctypes.get_errno()
        raise OSError(code_number, os.strerror(code_number))


def _statement(code: int, value: int) -> bytes:
    return struct.pack("HBBI", code, 0, 0, value)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
