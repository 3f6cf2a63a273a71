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


@pytest.mark.parametrize("machine", NAMES)
def test_threads_are_asked_about_and_processes_are_refused(machine: str):
    for flags in (0x3D0F00, 0x7D0F00):  # pthread_create of glibc and of musl
        assert verdict(machine, "clone", flags) == ASK
        assert verdict(machine, "clone", flags, listened=False) == ALLOW
    for flags in (
        0x1200011,  # fork
        0x4111,  # vfork
        0x3D0F00 & ~0x400,  # a table of descriptors of its own
        0x3D0F00 & ~0x100,  # memory of its own
        0x3D0F00 | 0x10000000,  # a user namespace
        0x3D0F00 | 0x40000000,
        0x3D0F00 | 0x1000,  # a descriptor of it
        0x3D0F00 | 17,  # a signal at its end
    ):
        assert verdict(machine, "clone", flags) == EPERM, hex(flags)
    assert verdict(machine, "clone3") == ENOSYS  # the C library falls back to clone


@pytest.mark.parametrize("machine", NAMES)
@pytest.mark.parametrize(
    "name", ["kill", "tgkill", "prlimit64", "sched_setaffinity", "getpgid", "getsid"]
)
def test_calls_on_a_process_reach_oneself_only(machine: str, name: str):
    assert verdict(machine, name, PID) == ALLOW
    assert verdict(machine, name, 0) == ALLOW
    # The kernel ignores the upper half, too.
    assert verdict(machine, name, PID | 1 << 32) == ALLOW
    for other in (1, PID + 1, -1, -PID):
        assert verdict(machine, name, other) == EPERM


@pytest.mark.parametrize("machine", NAMES)
def test_fcntl_changes_no_owner_of_signals(machine: str):
    for command in (0, 1, 2, 3, 1030):  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC
        assert verdict(machine, "fcntl", 3, command, 2**63) == ALLOW
    assert verdict(machine, "fcntl", 3, 4, 0o4000) == ALLOW  # F_SETFL, O_NONBLOCK
    assert verdict(machine, "fcntl", 3, 4, 0o24000) == EPERM  # with O_ASYNC
    assert verdict(machine, "fcntl", 3, 6) == verdict(machine, "fcntl", 3, 7) == PRETEND
    # F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ, F_ADD_SEALS, F_OFD_SETLK
    for command in (8, 10, 15, 1024, 1026, 1031, 1033, 37):
        assert verdict(machine, "fcntl", 3, command) == EPERM


@pytest.mark.parametrize("machine", NAMES)
def test_advice_that_evicts_or_merges_pages_does_nothing(machine: str):
    assert [verdict(machine, "fadvise64", 3, 0, 0, advice) for advice in range(6)] == [
        ALLOW, ALLOW, ALLOW, ALLOW, PRETEND, ALLOW
    ]  # fmt: skip
    found = {advice: verdict(machine, "madvise", 4096, 4096, advice) for advice in range(110)}
    assert {n for n, text in found.items() if text == PRETEND} == {12, 13, 20, 21, 25}
    # MADV_REMOVE makes holes, MADV_HWPOISON and _SOFT_OFFLINE take pages away; others are new.
    refused = {5, 6, 7, 9, *range(26, 102), *range(104, 110)}
    assert {n for n, text in found.items() if text == EPERM} == refused


@pytest.mark.parametrize("machine", NAMES)
def test_what_the_kernel_counts_per_user_is_asked_about(machine: str):
    assert verdict(machine, "pipe2", 4096, 0) == ASK
    assert [verdict(machine, "epoll_ctl", 3, action) for action in (1, 2, 3)] == [ASK, ALLOW, ALLOW]
    assert verdict(machine, "epoll_ctl", 3, 4) == EPERM


@pytest.mark.parametrize("machine", NAMES)
def test_requests_of_ioctl_are_listed(machine: str):
    for request in (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451):
        assert verdict(machine, "ioctl", 0, request) == ALLOW
    # FIOASYNC, FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCSPGRP, TIOCSCTTY, TIOCLINUX
    for request in (0x5452, 0x8901, 0x8902, 0x5412, 0x5410, 0x540E, 0x541C):
        assert verdict(machine, "ioctl", 0, request) == EPERM


@pytest.mark.parametrize("machine", NAMES)
def test_only_files_opened_for_writing_are_truncated(machine: str):
    flags_of = {"openat": 2, "open": 1}
    for name in flags_of.keys() & MACHINES[machine].numbers.keys():
        before = [0] * flags_of[name]
        for flags in (0, 0o1, 0o2, 0o1001, 0o1002, 0o1101, 0o2000102):
            assert verdict(machine, name, *before, flags) == ALLOW, oct(flags)
        for flags in (0o1000, 0o3, 0o1003, 0o2001000):
            assert verdict(machine, name, *before, flags) == EPERM, oct(flags)


@pytest.mark.parametrize("machine", NAMES)
def test_descriptors_and_space_have_one_limit(machine: str):
    for flags, wanted in ((0, ALLOW), (4, ALLOW), (2, EPERM), (6, EPERM)):
        assert verdict(machine, "close_range", 3, 9, flags) == wanted
    for mode, wanted in ((0, ALLOW), (1, EPERM), (3, EPERM)):
        assert verdict(machine, "fallocate", 3, mode) == wanted


@pytest.mark.parametrize("machine", NAMES)
@pytest.mark.parametrize("network", get_args(NetworkScope))
def test_messages_are_never_out_of_band(machine: str, network: NetworkScope):
    for name, place in (("sendto", 3), ("recvfrom", 3), ("sendmsg", 2), ("recvmsg", 2)):
        for flags, wanted in ((0, ALLOW), (0x4040, ALLOW), (0x40000000, ALLOW), (1, EPERM)):
            given = [0] * place + [flags]
            assert verdict(machine, name, *given, network=network) == wanted, name


@pytest.mark.parametrize("machine", NAMES)
def test_large_pages_are_refused(machine: str):
    assert verdict(machine, "mmap", 0, 4096, 3, 0x22, -1, 0) == ALLOW
    assert verdict(machine, "mmap", 0, 4096, 3, 0x40022, -1, 0) == EPERM


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


@pytest.mark.parametrize("machine", NAMES)
def test_prctl_changes_the_name_of_a_thread_only(machine: str):
    assert verdict(machine, "prctl", 15) == ALLOW  # PR_SET_NAME
    # PR_SET_PDEATHSIG, _DUMPABLE, _SECCOMP, _CHILD_SUBREAPER, _MM, _PTRACER, _SYSCALL_USER_DISPATCH
    for option in (1, 4, 22, 36, 35, 0x59616D61, 59):
        assert verdict(machine, "prctl", option) == EPERM


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
