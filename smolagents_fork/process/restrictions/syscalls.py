"""System calls that a confined child may make: data only.

All other calls are refused. Numbers are those of arch/x86/entry/syscalls/
syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "FIRST_COMMON",
    "MACHINES",
    "REFUSED_WITH",
    "REFUSED_WITHOUT_NETWORK",
    "Clause",
    "Condition",
    "Machine",
    "NetworkScope",
    "rules_for",
]


@dataclass(frozen=True)
class Machine:
    """One architecture.

    Attributes:
        audit: its number in ``seccomp_data.arch`` (include/uapi/linux/audit.h).
        numbers: name -> number of every call that the rules name.
    """

    audit: int
    numbers: dict[str, int]


@dataclass(frozen=True)
class Condition:
    """Test of one argument of a call.

    Attributes:
        argument: index of the argument, from 0.
        values: permitted values of the masked argument.
        mask: bits that are compared.
        high: whether the upper half of a 64-bit argument is compared.
    """

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    high: bool = False


@dataclass(frozen=True)
class Clause:
    """Conditions that must all be met for a verdict on a call.

    Attributes:
        conditions: the conditions.
        verdict: ``allow``; ``ask`` the parent, if it listens; ``pretend``: return 0 and do nothing.
    """

    conditions: tuple[Condition, ...]
    verdict: Literal["allow", "ask", "pretend"] = "allow"


#: From this number on, calls have the same number on all machines, and callers have a fallback.
FIRST_COMMON = 424
_COMMON = {
    "clone3": 435,
    "close_range": 436,
    "faccessat2": 439,
    "epoll_pwait2": 441,
    "futex_waitv": 449,
}
MACHINES: dict[str, Machine] = {
    "x86_64": Machine(0xC000003E, {
        "read": 0, "write": 1, "readv": 19, "writev": 20, "pread64": 17, "pwrite64": 18,
        "preadv": 295, "pwritev": 296, "preadv2": 327, "pwritev2": 328, "lseek": 8,
        "open": 2, "openat": 257, "creat": 85, "close": 3, "dup": 32, "dup2": 33,
        "dup3": 292, "pipe": 22, "pipe2": 293, "fcntl": 72, "ioctl": 16, "fsync": 74,
        "fdatasync": 75, "ftruncate": 77, "fallocate": 285, "fadvise64": 221,
        "copy_file_range": 326, "statx": 332, "stat": 4, "lstat": 6, "fstat": 5,
        "newfstatat": 262, "access": 21, "faccessat": 269, "readlink": 89,
        "readlinkat": 267, "getcwd": 79, "chdir": 80, "fchdir": 81, "getdents": 78,
        "getdents64": 217, "mkdir": 83, "mkdirat": 258, "rmdir": 84, "unlink": 87,
        "unlinkat": 263, "rename": 82, "renameat": 264, "renameat2": 316, "link": 86,
        "linkat": 265, "symlink": 88, "symlinkat": 266, "statfs": 137, "fstatfs": 138,
        "umask": 95, "mmap": 9, "munmap": 11, "mprotect": 10, "mremap": 25, "brk": 12,
        "madvise": 28, "msync": 26, "clone": 56, "futex": 202,
        "set_robust_list": 273, "rseq": 334, "set_tid_address": 218, "sched_yield": 24,
        "exit": 60, "exit_group": 231, "gettid": 186, "getpid": 39, "getppid": 110,
        "kill": 62, "tgkill": 234,
        "restart_syscall": 219, "rt_sigaction": 13, "rt_sigprocmask": 14,
        "rt_sigreturn": 15, "rt_sigpending": 127, "rt_sigtimedwait": 128,
        "rt_sigsuspend": 130, "sigaltstack": 131, "pause": 34, "nanosleep": 35,
        "clock_nanosleep": 230, "clock_gettime": 228, "clock_getres": 229,
        "gettimeofday": 96, "time": 201, "times": 100, "getrusage": 98, "alarm": 37,
        "setitimer": 38, "getitimer": 36, "timerfd_create": 283, "timerfd_settime": 286,
        "timerfd_gettime": 287, "eventfd": 284, "eventfd2": 290, "epoll_create": 213,
        "epoll_create1": 291, "epoll_ctl": 233, "epoll_wait": 232, "epoll_pwait": 281,
        "poll": 7, "ppoll": 271, "select": 23, "pselect6": 270, "wait4": 61,
        "waitid": 247, "getuid": 102, "geteuid": 107, "getgid": 104, "getegid": 108,
        "getgroups": 115, "getresuid": 118, "getresgid": 120, "getpgrp": 111,
        "getpgid": 121, "getsid": 124, "capget": 125, "uname": 63, "sysinfo": 99,
        "getrandom": 318, "getcpu": 309, "sched_getaffinity": 204,
        "sched_setaffinity": 203, "sched_getscheduler": 145, "sched_getparam": 143,
        "sched_getattr": 315,
        "sched_get_priority_max": 146,
        "sched_get_priority_min": 147, "getrlimit": 97, "prlimit64": 302,
        "setrlimit": 160, "prctl": 157, "arch_prctl": 158, "socketpair": 53, "sendto": 44,
        "recvfrom": 45, "sendmsg": 46, "recvmsg": 47, "shutdown": 48, "getsockname": 51,
        "getpeername": 52, "getsockopt": 55, "socket": 41, "connect": 42, "bind": 49,
        "listen": 50, "accept": 43, "accept4": 288, "setsockopt": 54, "sendmmsg": 307,
        "recvmmsg": 299, "getxattr": 191, "lgetxattr": 192, "fgetxattr": 193,
        "listxattr": 194, "llistxattr": 195, "flistxattr": 196, "flock": 73,
        **_COMMON,
    }),
    "aarch64": Machine(0xC00000B7, {
        "read": 63, "write": 64, "readv": 65, "writev": 66, "pread64": 67, "pwrite64": 68,
        "preadv": 69, "pwritev": 70, "preadv2": 286, "pwritev2": 287, "lseek": 62,
        "openat": 56, "close": 57, "dup": 23, "dup3": 24, "pipe2": 59, "fcntl": 25,
        "ioctl": 29, "fsync": 82, "fdatasync": 83, "ftruncate": 46, "fallocate": 47,
        "fadvise64": 223, "copy_file_range": 285, "statx": 291, "fstat": 80,
        "newfstatat": 79, "faccessat": 48, "readlinkat": 78, "getcwd": 17, "chdir": 49,
        "fchdir": 50, "getdents64": 61, "mkdirat": 34, "unlinkat": 35, "renameat": 38,
        "renameat2": 276, "linkat": 37, "symlinkat": 36, "statfs": 43, "fstatfs": 44,
        "umask": 166, "mmap": 222, "munmap": 215, "mprotect": 226, "mremap": 216,
        "brk": 214, "madvise": 233, "msync": 227, "clone": 220,
        "futex": 98, "set_robust_list": 99, "rseq": 293, "set_tid_address": 96,
        "sched_yield": 124, "exit": 93, "exit_group": 94, "gettid": 178, "getpid": 172,
        "getppid": 173, "kill": 129, "tgkill": 131,
        "restart_syscall": 128, "rt_sigaction": 134,
        "rt_sigprocmask": 135, "rt_sigreturn": 139, "rt_sigpending": 136,
        "rt_sigtimedwait": 137, "rt_sigsuspend": 133, "sigaltstack": 132,
        "nanosleep": 101, "clock_nanosleep": 115, "clock_gettime": 113,
        "clock_getres": 114, "gettimeofday": 169, "times": 153, "getrusage": 165,
        "setitimer": 103, "getitimer": 102, "timerfd_create": 85, "timerfd_settime": 86,
        "timerfd_gettime": 87, "eventfd2": 19, "epoll_create1": 20, "epoll_ctl": 21,
        "epoll_pwait": 22, "ppoll": 73, "pselect6": 72, "wait4": 260, "waitid": 95,
        "getuid": 174, "geteuid": 175, "getgid": 176, "getegid": 177, "getgroups": 158,
        "getresuid": 148, "getresgid": 150, "getpgid": 155, "getsid": 156, "capget": 90,
        "uname": 160, "sysinfo": 179, "getrandom": 278, "getcpu": 168,
        "sched_getaffinity": 123, "sched_setaffinity": 122, "sched_getscheduler": 120,
        "sched_getparam": 121, "sched_getattr": 275,
        "sched_get_priority_max": 125,
        "sched_get_priority_min": 126, "getrlimit": 163, "prlimit64": 261,
        "setrlimit": 164, "prctl": 167, "socketpair": 199, "sendto": 206, "recvfrom": 207,
        "sendmsg": 211, "recvmsg": 212, "shutdown": 210, "getsockname": 204,
        "getpeername": 205, "getsockopt": 209, "socket": 198, "connect": 203, "bind": 200,
        "listen": 201, "accept": 202, "accept4": 242, "setsockopt": 208, "sendmmsg": 269,
        "recvmmsg": 243, "getxattr": 8, "lgetxattr": 9, "fgetxattr": 10, "listxattr": 11,
        "llistxattr": 12, "flistxattr": 13, "flock": 32,
        **_COMMON,
    }),
}  # fmt: skip

# Calls that are refused with an error other than EPERM, for which callers have a fallback.
REFUSED_WITH = {
    # Landlock does not restrict reading extended attributes. shutil supports file systems without
    # them.
    **dict.fromkeys(
        ("getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr"),
        errno.EOPNOTSUPP,
    ),
    # A lock on a file that may only be read would keep other processes waiting.
    "flock": errno.ENOSYS,
    # C libraries fall back to clone, whose flags a filter can see.
    "clone3": errno.ENOSYS,
}
#: Refusals without a network, which a program is to read: libraries may quote nothing else.
REFUSED_WITHOUT_NETWORK = {
    **REFUSED_WITH,
    **dict.fromkeys(("socket", "bind"), errno.ENETUNREACH),
}
#: What a child may reach: nothing, the proxy in its own namespace, or the host's network.
NetworkScope: TypeAlias = Literal["none", "proxy", "host"]
# Refused without the host's network.
_NETWORK = ("connect", "bind", "listen", "accept", "accept4", "setsockopt", "sendmmsg", "recvmmsg")

# include/uapi/asm-generic/fcntl.h and include/uapi/linux/fcntl.h
_F_SETFL, _F_SETLK, _F_SETLKW = 4, 6, 7
_FCNTL = (
    0,  # F_DUPFD
    1,  # F_GETFD
    2,  # F_SETFD
    3,  # F_GETFL
    5,  # F_GETLK
    1030,  # F_DUPFD_CLOEXEC
    1032,  # F_GETPIPE_SZ
    1034,  # F_GET_SEALS
)
_O_WRONLY, _O_RDWR, _O_ACCMODE, _O_TRUNC, _O_ASYNC = 0o1, 0o2, 0o3, 0o1000, 0o20000
# Landlock before version 3 does not restrict truncation by open() without write access.
_OPEN_MODES = (0, _O_WRONLY, _O_RDWR, _O_WRONLY | _O_TRUNC, _O_RDWR | _O_TRUNC)
_IOCTL = (
    0x5401,  # TCGETS, isatty()
    0x802C542A,  # TCGETS2, isatty() of newer C libraries
    0x5413,  # TIOCGWINSZ
    0x541B,  # FIONREAD
    0x5421,  # FIONBIO
    0x5450,  # FIONCLEX
    0x5451,  # FIOCLEX
    0x40049409,  # FICLONE, between two open files
)
_PRCTL = (
    3,  # PR_GET_DUMPABLE
    15,  # PR_SET_NAME, of a thread
    16,  # PR_GET_NAME
    23,  # PR_CAPBSET_READ
    39,  # PR_GET_NO_NEW_PRIVS
    0x53564D41,  # PR_SET_VMA, names of memory
)
_MAP_HUGETLB = 0x40000
# Flags of pthread_create(): threads share memory, descriptors and signal handlers.
_THREAD = 0x00010F00  # CLONE_THREAD, _SIGHAND, _FILES, _FS, _VM
_THREAD_EXTRAS = 0x017C0000  # CLONE_SYSVSEM, _SETTLS, _PARENT_SETTID, _CHILD_..., _DETACHED
_CLOSE_RANGE_CLOEXEC = 4
_EPOLL_ADD, _EPOLL_DEL, _EPOLL_MOD = 1, 2, 3
_FADVISE_DONTNEED = 4  # evicts a file's pages, which other processes read too
# include/uapi/asm-generic/mman-common.h: advice about the child's own memory.
_MADVICE = (
    *range(5),  # MADV_NORMAL, _RANDOM, _SEQUENTIAL, _WILLNEED, _DONTNEED
    8,  # MADV_FREE
    10, 11,  # MADV_DONTFORK, _DOFORK
    14, 15,  # MADV_HUGEPAGE, _NOHUGEPAGE
    16, 17,  # MADV_DONTDUMP, _DODUMP
    18, 19,  # MADV_WIPEONFORK, _KEEPONFORK
    22, 23,  # MADV_POPULATE_READ, _POPULATE_WRITE
    24,  # MADV_DONTNEED_LOCKED
    102, 103,  # MADV_GUARD_INSTALL, _GUARD_REMOVE
)  # fmt: skip
# Advice about pages that other processes have too: it merges, evicts or replaces them.
_MADVICE_ABOUT_SHARED_PAGES = (
    12, 13,  # MADV_MERGEABLE, _UNMERGEABLE
    20, 21,  # MADV_COLD, _PAGEOUT
    25,  # MADV_COLLAPSE
)  # fmt: skip
# MSG_PEEK, _TRUNC, _DONTWAIT, _WAITALL, _NOSIGNAL, _MORE, _CMSG_CLOEXEC; not _OOB, nor _ZEROCOPY.
_MESSAGE_FLAGS = 0x2 | 0x20 | 0x40 | 0x100 | 0x4000 | 0x8000 | 0x40000000
_AF_UNIX, _AF_INET, _AF_INET6, _SOCK_STREAM, _IPPROTO_TCP = 1, 2, 10, 1, 6
_SOL_SOCKET = 1
# What clients set of a connection; not sizes, filters, devices, marks, nor the kernel's own TLS.
_SOCKET_OPTIONS = (
    2,  # SO_REUSEADDR
    9,  # SO_KEEPALIVE
    13,  # SO_LINGER
    20, 21, 66, 67,  # SO_RCVTIMEO, _SNDTIMEO, in two forms
)  # fmt: skip
_TCP_OPTIONS = (
    1,  # TCP_NODELAY
    3,  # TCP_CORK
    4, 5, 6,  # TCP_KEEPIDLE, _KEEPINTVL, _KEEPCNT
    12,  # TCP_QUICKACK
    18,  # TCP_USER_TIMEOUT
)  # fmt: skip
# Calls whose first argument is a process, which must be the caller.
_ON_A_PROCESS = (
    "kill", "tgkill", "prlimit64", "getpgid", "getsid", "sched_setaffinity",
    "sched_getparam", "sched_getscheduler", "sched_getattr",
)  # fmt: skip


def rules_for(own_pid: int, network: NetworkScope) -> dict[str, tuple[Clause, ...]]:
    """Return the calls that are allowed in some forms only, with these forms.

    A call without a form is refused with the error that
    :data:`REFUSED_WITH` or :data:`REFUSED_WITHOUT_NETWORK` names.

    Args:
        own_pid: the process that the rules are for.
        network: what the process may reach.
    """
    rules: dict[str, tuple[Clause, ...]] = dict.fromkeys(REFUSED_WITH, ())
    rules["mmap"] = _when(Condition(3, (0,), _MAP_HUGETLB))  # no limit counts huge pages
    rules["open"] = _when(Condition(1, _OPEN_MODES, _O_TRUNC | _O_ACCMODE))
    rules["openat"] = _when(Condition(2, _OPEN_MODES, _O_TRUNC | _O_ACCMODE))
    rules["fcntl"] = (
        Clause((Condition(1, _FCNTL),)),
        # Without O_ASYNC, whose signals (see F_SETOWN) reach any process of the user.
        Clause((Condition(1, (_F_SETFL,)), Condition(2, (0,), _O_ASYNC))),
        # A lock excludes other processes, but none works in the folder. Elsewhere it would block
        # them.
        Clause((Condition(1, (_F_SETLK, _F_SETLKW)),), verdict="pretend"),
    )
    rules["fadvise64"] = (
        Clause((Condition(3, (_FADVISE_DONTNEED,)),), verdict="pretend"),
        Clause(()),
    )
    rules["madvise"] = (
        Clause((Condition(2, _MADVICE),)),
        Clause((Condition(2, _MADVICE_ABOUT_SHARED_PAGES),), verdict="pretend"),
    )
    rules["ioctl"] = _when(Condition(1, _IOCTL))
    rules["prctl"] = _when(Condition(0, _PRCTL))
    rules["clone"] = (
        Clause((Condition(0, (_THREAD,), 0xFFFFFFFF & ~_THREAD_EXTRAS),), verdict="ask"),
    )
    # The kernel counts these for all processes of the user.
    rules["pipe"] = rules["pipe2"] = (Clause((), verdict="ask"),)
    rules["epoll_ctl"] = (
        Clause((Condition(1, (_EPOLL_ADD,)),), verdict="ask"),
        Clause((Condition(1, (_EPOLL_DEL, _EPOLL_MOD)),)),
    )
    for name in _ON_A_PROCESS:
        rules[name] = _when(Condition(0, (0, own_pid)))
    # A thread with a separate table of descriptors would have a separate limit on them.
    rules["close_range"] = _when(Condition(2, (0, _CLOSE_RANGE_CLOEXEC)))
    rules["fallocate"] = _when(Condition(1, (0,)))  # the other modes ignore the size limit
    flags = Condition(3, (0,), 0xFFFFFFFF & ~_MESSAGE_FLAGS)
    rules["sendto"] = rules["recvfrom"] = _when(flags)
    flags_third = Condition(2, (0,), 0xFFFFFFFF & ~_MESSAGE_FLAGS)
    rules["sendmsg"] = rules["recvmsg"] = _when(flags_third)
    # A pair of datagram sockets can be connected to others later.
    rules["socketpair"] = _when(Condition(0, (_AF_UNIX,)), Condition(1, (_SOCK_STREAM,), 0xF))
    if network == "host":
        # Not AF_UNIX, which connects to services of this machine.
        rules["socket"] = _when(Condition(0, (_AF_INET, _AF_INET6)))
    else:
        rules["socket"] = ()
        rules["sendto"] = _when(flags, Condition(4, (0,)), Condition(4, (0,), high=True))
        rules.update(dict.fromkeys(_NETWORK, ()))
    if network == "proxy":
        rules["socket"] = _when(
            Condition(0, (_AF_INET, _AF_INET6)),
            Condition(1, (_SOCK_STREAM,), 0xF),
            Condition(2, (0, _IPPROTO_TCP)),
        )
        rules["setsockopt"] = (
            Clause((Condition(1, (_SOL_SOCKET,)), Condition(2, _SOCKET_OPTIONS))),
            Clause((Condition(1, (_IPPROTO_TCP,)), Condition(2, _TCP_OPTIONS))),
        )
        # Which address is in memory, that the filter cannot see: the namespace has only one.
        del rules["connect"]
    return rules


def _when(*conditions: Condition) -> tuple[Clause, ...]:
    return (Clause(conditions),)
