"""The system call filter, emulated for other machines instruction by instruction."""

from __future__ import annotations

import errno
import os
import re
import struct
from pathlib import Path
from typing import get_args

import pytest

from smolagents_fork.process.restrictions import seccomp
from smolagents_fork.process.restrictions.syscalls import (
    FIRST_COMMON,
    MACHINES,
    REFUSED_WITH,
    NetworkScope,
    rules_for,
)

ALLOW, ASK, KILL = "allow", "ask", "kill"
EPERM, ENOSYS, EOPNOTSUPP, PRETEND = "EPERM", "ENOSYS", "EOPNOTSUPP", "pretend"
ENETUNREACH = "ENETUNREACH"
VERDICTS = {
    0x7FFF0000: ALLOW,
    0x7FC00000: ASK,
    0x00050000: PRETEND,
    0x00050000 | errno.EPERM: EPERM,
    0x00050000 | errno.ENETUNREACH: ENETUNREACH,
    0x00050000 | errno.ENOSYS: ENOSYS,
    0x00050000 | errno.EOPNOTSUPP: EOPNOTSUPP,
    0x80000000: KILL,
}
PID = 4242
NAMES = sorted(MACHINES)


def verdict(
    machine: str, call: str | int, *arguments: int, architecture: int | None = None,
    network: NetworkScope = "none", listened: bool = True,
) -> str:  # fmt: skip
    """Return the filter's verdict on a call, by the rules of classic BPF (net/core/filter.c)."""
    code = seccomp.program(machine, PID, network, listened=listened)
    instructions = list(struct.iter_unpack("HBBI", code))
    assert len(instructions) <= 4096  # BPF_MAXINSNS
    audit = MACHINES[machine].audit if architecture is None else architecture
    number = MACHINES[machine].numbers[call] if isinstance(call, str) else call
    given = [one & (1 << 64) - 1 for one in arguments] + [0] * (6 - len(arguments))
    data = struct.pack("=iIQ6Q", number, audit, 0, *given)
    position = accumulator = 0
    while True:
        operation, if_true, if_false, value = instructions[position]
        position += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif operation == 0x54:
            accumulator &= value
        elif operation == 0x06:
            return VERDICTS[value]
        elif operation == 0x05:
            position += value
        else:
            test = {
                0x15: accumulator == value,
                0x25: accumulator > value,
                0x35: accumulator >= value,
            }[operation]
            position += if_true if test else if_false


@pytest.mark.parametrize("machine", NAMES)
def test_only_listed_calls_are_allowed(machine: str):
    numbers = MACHINES[machine].numbers
    rules = rules_for(PID, "none")
    plain = {number for name, number in numbers.items() if name not in rules}
    ruled = {numbers[name] for name in rules if name in numbers}
    for number in set(range(1000)) - ruled:
        refused = EPERM if number < FIRST_COMMON else ENOSYS
        assert verdict(machine, number) == (ALLOW if number in plain else refused), number


@pytest.mark.parametrize("machine", NAMES)
def test_refusals_with_a_fallback(machine: str):
    for name, error in REFUSED_WITH.items():
        assert verdict(machine, name) == errno.errorcode[error].replace("ENOTSUP", EOPNOTSUPP), name


ON_A_PROCESS = ("kill", "tgkill", "prlimit64", "sched_setaffinity", "getpgid", "getsid")
#: Advice that evicts or merges pages. MADV_REMOVE makes holes, MADV_HWPOISON and _SOFT_OFFLINE take
#: pages away; others are new.
WITHOUT_EFFECT = {12, 13, 20, 21, 25}
REFUSED_ADVICE = {5, 6, 7, 9, *range(26, 102), *range(104, 110)}
#: Flags of files that are opened for writing, and others that would truncate.
WRITTEN = (0, 0o1, 0o2, 0o1001, 0o1002, 0o1101, 0o2000102)
TRUNCATED = (0o1000, 0o3, 0o1003, 0o2001000)
#: Call, verdict -> arguments.
RULES: dict[tuple[str, str], list[tuple[int, ...]]] = {
    ("clone", ASK): [(0x3D0F00,), (0x7D0F00,)],  # pthread_create of glibc and of musl
    ("clone", EPERM): [
        (0x1200011,),  # fork
        (0x4111,),  # vfork
        (0x3D0F00 & ~0x400,),  # a table of descriptors of its own
        (0x3D0F00 & ~0x100,),  # memory of its own
        (0x3D0F00 | 0x10000000,),  # a user namespace
        (0x3D0F00 | 0x40000000,),
        (0x3D0F00 | 0x1000,),  # a descriptor of it
        (0x3D0F00 | 17,),  # a signal at its end
    ],
    ("clone3", ENOSYS): [()],  # the C library falls back to clone
    # The kernel ignores the upper half of the number, too.
    **{(call, ALLOW): [(PID,), (0,), (PID | 1 << 32,)] for call in ON_A_PROCESS},
    **{(call, EPERM): [(1,), (PID + 1,), (-1,), (-PID,)] for call in ON_A_PROCESS},
    ("fcntl", ALLOW): [
        # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC
        *[(3, command, 2**63) for command in (0, 1, 2, 3, 1030)],
        (3, 4, 0o4000),  # F_SETFL, O_NONBLOCK
    ],
    ("fcntl", PRETEND): [(3, 6), (3, 7)],
    ("fcntl", EPERM): [
        (3, 4, 0o24000),  # with O_ASYNC
        # F_SETOWN, _SETSIG, _SETOWN_EX, _SETLEASE, _NOTIFY, _SETPIPE_SZ, _ADD_SEALS, _OFD_SETLK
        *[(3, command) for command in (8, 10, 15, 1024, 1026, 1031, 1033, 37)],
    ],
    ("fadvise64", ALLOW): [(3, 0, 0, advice) for advice in (0, 1, 2, 3, 5)],
    ("fadvise64", PRETEND): [(3, 0, 0, 4)],
    ("madvise", PRETEND): [(4096, 4096, advice) for advice in WITHOUT_EFFECT],
    ("madvise", EPERM): [(4096, 4096, advice) for advice in REFUSED_ADVICE],
    ("madvise", ALLOW): [
        (4096, 4096, advice) for advice in set(range(110)) - WITHOUT_EFFECT - REFUSED_ADVICE
    ],
    # What the kernel counts per user is asked about.
    ("pipe2", ASK): [(4096, 0)],
    ("epoll_ctl", ASK): [(3, 1)],
    ("epoll_ctl", ALLOW): [(3, 2), (3, 3)],
    ("epoll_ctl", EPERM): [(3, 4)],
    ("ioctl", ALLOW): [(0, n) for n in (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)],
    # FIOASYNC, FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCSPGRP, TIOCSCTTY, TIOCLINUX
    ("ioctl", EPERM): [(0, n) for n in (0x5452, 0x8901, 0x8902, 0x5412, 0x5410, 0x540E, 0x541C)],
    # Only files opened for writing are truncated.
    ("openat", ALLOW): [(0, 0, flags) for flags in WRITTEN],
    ("openat", EPERM): [(0, 0, flags) for flags in TRUNCATED],
    ("open", ALLOW): [(0, flags) for flags in WRITTEN],
    ("open", EPERM): [(0, flags) for flags in TRUNCATED],
    # Descriptors and space have one limit.
    ("close_range", ALLOW): [(3, 9, 0), (3, 9, 4)],
    ("close_range", EPERM): [(3, 9, 2), (3, 9, 6)],
    ("fallocate", ALLOW): [(3, 0)],
    ("fallocate", EPERM): [(3, 1), (3, 3)],
    ("mmap", ALLOW): [(0, 4096, 3, 0x22, -1, 0)],
    ("mmap", EPERM): [(0, 4096, 3, 0x40022, -1, 0)],  # large pages
    ("prctl", ALLOW): [(15,)],  # PR_SET_NAME
    # PR_SET_PDEATHSIG, _DUMPABLE, _SECCOMP, _CHILD_SUBREAPER, _MM, _PTRACER, _SYSCALL_USER_DISPATCH
    ("prctl", EPERM): [(option,) for option in (1, 4, 22, 36, 35, 0x59616D61, 59)],
}


@pytest.mark.parametrize("machine", NAMES)
@pytest.mark.parametrize(("call", "expected"), RULES)
def test_rule_of_a_call(machine: str, call: str, expected: str):
    if call == "open" and call not in MACHINES[machine].numbers:
        pytest.skip("this machine has openat only")
    for arguments in RULES[call, expected]:
        assert verdict(machine, call, *arguments) == expected, [hex(one) for one in arguments]


@pytest.mark.parametrize("machine", NAMES)
def test_threads_are_allowed_where_nobody_listens(machine: str):
    for (flags,) in RULES["clone", ASK]:
        assert verdict(machine, "clone", flags, listened=False) == ALLOW


@pytest.mark.parametrize("machine", NAMES)
@pytest.mark.parametrize("network", get_args(NetworkScope))
def test_messages_are_never_out_of_band(machine: str, network: NetworkScope):
    for name, place in (("sendto", 3), ("recvfrom", 3), ("sendmsg", 2), ("recvmsg", 2)):
        for flags, wanted in ((0, ALLOW), (0x4040, ALLOW), (0x40000000, ALLOW), (1, EPERM)):
            given = [0] * place + [flags]
            assert verdict(machine, name, *given, network=network) == wanted, name


@pytest.mark.parametrize("machine", NAMES)
def test_only_pairs_of_streams_are_sockets(machine: str):
    assert verdict(machine, "socketpair", 1, 0o2000001) == ALLOW  # AF_UNIX, SOCK_CLOEXEC | STREAM
    for domain, kind in ((1, 2), (1, 5), (1, 3), (2, 1), (16, 3), (30, 1)):
        assert verdict(machine, "socketpair", domain, kind) == EPERM
    assert verdict(machine, "sendto", 3, 4096, 1, 0, 0, 0) == ALLOW
    for address in (4096, 1 << 32):
        assert verdict(machine, "sendto", 3, 4096, 1, 0, address, 16) == EPERM
    assert verdict(machine, "socket", 2, 1) == verdict(machine, "bind", 3) == ENETUNREACH
    for name in ("connect", "listen", "accept4", "setsockopt", "sendmmsg"):
        assert verdict(machine, name, 2, 1) == EPERM


@pytest.mark.parametrize("machine", NAMES)
def test_the_hosts_network_is_that_of_ip(machine: str):
    for name in ("connect", "bind", "listen", "accept4", "setsockopt", "sendto"):
        assert verdict(machine, name, 3, 4096, 16, 0, 4096, 16, network="host") == ALLOW
    for domain in (2, 10):
        assert verdict(machine, "socket", domain, 1, network="host") == ALLOW
    for domain in (1, 16, 17, 38, 40):  # AF_UNIX, _NETLINK, _PACKET, _ALG, _VSOCK
        assert verdict(machine, "socket", domain, 1, network="host") == EPERM
    assert verdict(machine, "socketpair", 1, 2, network="host") == EPERM


@pytest.mark.parametrize("machine", NAMES)
def test_proxy_is_reached_by_streams_of_tcp_only(machine: str):
    for domain in (2, 10):
        for kind in (1, 0o2000001, 0o4001):  # SOCK_STREAM, with SOCK_CLOEXEC, with SOCK_NONBLOCK
            for protocol in (0, 6):
                found = verdict(machine, "socket", domain, kind, protocol, network="proxy")
                assert found == ALLOW
    for refused in (
        (2, 2, 0), (2, 2, 17), (2, 3, 1), (2, 1, 132), (2, 1, 262),  # UDP, raw, SCTP, MPTCP
        (1, 1, 0), (16, 3, 0), (17, 3, 3), (38, 5, 0), (40, 1, 0), (43, 1, 0),
    ):  # fmt: skip
        assert verdict(machine, "socket", *refused, network="proxy") == ENETUNREACH
    assert verdict(machine, "connect", 3, 4096, 16, network="proxy") == ALLOW
    assert verdict(machine, "bind", 3, 4096, 16, network="proxy") == ENETUNREACH
    for name in ("listen", "accept", "accept4", "sendmmsg", "recvmmsg"):
        assert verdict(machine, name, 3, 4096, 16, network="proxy") == EPERM
    # MSG_FASTOPEN and an address connect without connect().
    assert verdict(machine, "sendto", 3, 4096, 1, 0x20000000, 0, 0, network="proxy") == EPERM
    assert verdict(machine, "sendto", 3, 4096, 1, 0, 4096, 16, network="proxy") == EPERM


@pytest.mark.parametrize("machine", NAMES)
def test_options_of_connections_to_the_proxy_are_listed(machine: str):
    for level, name in ((6, 1), (1, 9), (6, 4), (6, 12)):
        assert verdict(machine, "setsockopt", 3, level, name, network="proxy") == ALLOW
    # SO_SNDBUF, _ATTACH_FILTER, _ATTACH_BPF, _BINDTODEVICE, _MARK; TCP_ULP, _REPAIR, _FASTOPEN
    options = [(1, name) for name in (7, 26, 50, 25, 36)] + [(6, name) for name in (31, 19, 30)]
    for level, name in (*options, (0, 1)):
        assert verdict(machine, "setsockopt", 3, level, name, network="proxy") == EPERM


def test_another_architectures_calls_end_the_process():
    assert verdict("x86_64", 0, architecture=0x40000003) == KILL


def test_calls_by_their_x32_numbers_are_refused():
    assert verdict("x86_64", 0x40000000 | 41) == ENOSYS
    assert verdict("x86_64", 0x40000000) == ENOSYS


@pytest.mark.parametrize("machine", NAMES)
def test_no_number_has_two_names(machine: str):
    numbers = list(MACHINES[machine].numbers.values())
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("machine", NAMES)
def test_rules_are_of_listed_calls(machine: str):
    every = set().union(*(set(one.numbers) for one in MACHINES.values()))
    assert set(rules_for(PID, "none")) <= every


@pytest.mark.parametrize(
    ("machine", "header"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        ("aarch64", "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_numbers_are_those_of_the_kernels_headers(machine: str, header: str):
    if not Path(header).is_file():
        pytest.skip(f"no {header} here")
    text = Path(header).read_text(encoding="utf-8")
    known = dict(re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", text))
    known.setdefault("newfstatat", known.get("fstatat", ""))
    for name, number in MACHINES[machine].numbers.items():
        if name in known:
            assert int(known[name]) == number, name
    assert len(known.keys() & MACHINES[machine].numbers.keys()) > 100


@pytest.mark.skipif(not seccomp.has_table(), reason="no filter for this machine")
@pytest.mark.parametrize("network", get_args(NetworkScope))
@pytest.mark.parametrize("listened", [False, True])
def test_prebuilt_filter_is_the_one_for_this_process(network: NetworkScope, listened: bool):
    wanted = seccomp.program(os.uname().machine, os.getpid(), network, listened=listened)
    assert seccomp._for_this_process(network, listened) == wanted
