"""The system call filter, run instruction by instruction for machines this one is not."""

from __future__ import annotations

import errno
import struct

import pytest

from smolagents_fork.process import seccomp

ALLOW, EPERM, ENOSYS, KILL = "allow", "EPERM", "ENOSYS", "kill"
PID = 4242


def verdict(machine: str, number: int, first: int = 0, architecture: int | None = None) -> str:
    """What the filter says to a call, by classic BPF's rules (net/core/filter.c)."""
    code = seccomp.program(machine, PID)
    instructions = list(struct.iter_unpack("HBBI", code))
    assert len(instructions) <= 4096  # BPF_MAXINSNS
    audit = seccomp._MACHINES[machine][0] if architecture is None else architecture
    data = struct.pack("=iIQ6Q", number, audit, 0, first & (1 << 64) - 1, 0, 0, 0, 0, 0)
    position = accumulator = 0
    while True:
        operation, if_true, if_false, value = instructions[position]
        position += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif operation == 0x06:
            return {
                0x7FFF0000: ALLOW,
                0x00050000 | errno.EPERM: EPERM,
                0x00050000 | errno.ENOSYS: ENOSYS,
                0x80000000: KILL,
            }[value]
        else:
            test = {
                0x15: accumulator == value,
                0x45: bool(accumulator & value),
                0x35: accumulator >= value,
            }[operation]
            position += if_true if test else if_false


MACHINES = sorted(seccomp._MACHINES)


@pytest.mark.parametrize("machine", MACHINES)
def test_ordinary_calls_are_allowed(machine: str):
    refused = {*seccomp._MACHINES[machine][1].values(), *seccomp._COMMON.values(), 435}
    for number in set(range(500)) - refused:
        assert verdict(machine, number) == ALLOW, number


@pytest.mark.parametrize("machine", MACHINES)
def test_listed_calls_are_refused(machine: str):
    for name, number in {**seccomp._MACHINES[machine][1], **seccomp._COMMON}.items():
        if name not in ("clone", "prctl", *seccomp._ON_A_PROCESS):
            assert verdict(machine, number) == EPERM, name


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_are_allowed_and_processes_are_not(machine: str):
    clone = seccomp._MACHINES[machine][1]["clone"]
    assert verdict(machine, clone, 0x3D0F00) == ALLOW  # as pthread_create calls it
    assert verdict(machine, clone, 0x1200011) == EPERM  # as fork calls it
    assert verdict(machine, 435) == ENOSYS  # clone3: the C library falls back to clone


@pytest.mark.parametrize("machine", MACHINES)
def test_the_signal_at_the_parents_death_stays(machine: str):
    prctl = seccomp._MACHINES[machine][1]["prctl"]
    assert verdict(machine, prctl, 1) == EPERM  # PR_SET_PDEATHSIG
    assert verdict(machine, prctl, 2) == ALLOW
    assert verdict(machine, prctl, 15) == ALLOW  # PR_SET_NAME, which threads use


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", seccomp._ON_A_PROCESS)
def test_signals_reach_oneself_only(machine: str, name: str):
    number = seccomp._MACHINES[machine][1][name]
    assert verdict(machine, number, PID) == ALLOW
    assert verdict(machine, number, 0) == ALLOW
    for other in (1, PID + 1, -1, -PID):
        assert verdict(machine, number, other) == EPERM


def test_another_architectures_calls_end_the_process():
    assert verdict("x86_64", 0, architecture=0x40000003) == KILL


def test_calls_by_their_x32_numbers_are_refused():
    assert verdict("x86_64", 0x40000000 | 41) == EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_no_number_has_two_names(machine: str):
    numbers = [*seccomp._MACHINES[machine][1].values(), *seccomp._COMMON.values(), 435]
    assert len(numbers) == len(set(numbers))
