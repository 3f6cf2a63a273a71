"""A seccomp filter that allows only the system calls that a calculation needs.

The filter is an allow list, written as a classic BPF program. A refused call fails with EPERM, so a
program gets a ``PermissionError``. Calls newer than those listed fail with ENOSYS, after which C
libraries use the older ones. Source: include/uapi/linux/seccomp.h and filter.h of Linux.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct
import sys
from collections.abc import Sequence
from typing import get_args

from ...system.shortages import is_shortage
from .libc import system_call
from .syscalls import (
    FIRST_COMMON,
    MACHINES,
    REFUSED_WITH,
    REFUSED_WITHOUT_NETWORK,
    Clause,
    Condition,
    NetworkScope,
    rules_for,
)

__all__ = ["has_table", "install", "program", "warm_up"]

_SECCOMP = {"x86_64": 317, "aarch64": 277}  # the system call's number
_SET_MODE_FILTER, _NEW_LISTENER = 1, 1 << 3
_ALLOW, _ERRNO, _KILL, _ASK = 0x7FFF0000, 0x00050000, 0x80000000, 0x7FC00000
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _AT_LEAST = 0x15, 0x35
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ANY_PID = 0x7B5D3F19  # above any process number, and not otherwise used in the instructions
_VERDICTS = {"allow": _ALLOW, "ask": _ASK, "pretend": _ERRNO}


def has_table() -> bool:
    """Return whether this machine has a table of system calls."""
    return sys.platform == "linux" and platform.machine() in MACHINES


def program(
    machine: str, own_pid: int, network: NetworkScope = "none", *, listened: bool = True
) -> bytes:
    """Build the filter's instructions.

    Args:
        machine: a key of :data:`MACHINES`.
        own_pid: the confined process, the only one it may signal.
        network: what the process may reach.
        listened: whether the parent is asked about threads; otherwise threads are allowed.
    """
    numbers = MACHINES[machine].numbers
    refusals = REFUSED_WITH if network == "host" else REFUSED_WITHOUT_NETWORK
    rules = {name: rule for name, rule in rules_for(own_pid, network).items() if name in numbers}
    out = [
        _statement(_LOAD, _ARCHITECTURE),
        _jump(_EQUAL, MACHINES[machine].audit, 1, 0),
        _statement(_RETURN, _KILL),
        _statement(_LOAD, _NUMBER),
    ]
    # First those with conditions: the kernel keeps the verdicts on calls that are always allowed.
    for name, clauses in rules.items():
        block = _form(clauses, refusals.get(name, errno.EPERM), listened)
        out += [_jump(_EQUAL, numbers[name], 0, len(block)), *block]
    for name, number in numbers.items():
        if name not in rules:
            out += [_jump(_EQUAL, number, 0, 1), _statement(_RETURN, _ALLOW)]
    out += [
        _jump(_AT_LEAST, FIRST_COMMON, 0, 1),
        _make_refusal(errno.ENOSYS),
        _make_refusal(errno.EPERM),
    ]
    return b"".join(out)


def install(network: NetworkScope = "none", *, listener: bool = True) -> int | None:
    """Install the filter in this process, irrevocably. Requires ``no_new_privs``.

    Args:
        network: what the process may reach.
        listener: whether the parent is asked about threads.

    Returns:
        The descriptor on which the parent answers. ``None`` if the kernel does not provide one, for
        example because an outer filter already has a listener.

    Raises:
        OSError: this machine has no table, or the kernel refused.
    """
    if not has_table():
        raise OSError(f"no table of system calls for {platform.machine()}")
    if listener:
        try:
            return _load(_for_this_process(network, True), _NEW_LISTENER)
        except OSError as error:
            if is_shortage(error):
                raise
    _load(_for_this_process(network, False), 0)
    return None


def warm_up() -> None:
    """Build the filters once, so that forked children reuse them."""
    if has_table():
        for network in get_args(NetworkScope):
            _for_this_process(network, True)


def _for_this_process(network: NetworkScope, listened: bool) -> bytes:
    code = _for_any_process(network, listened)
    return code.replace(_ANY_PID.to_bytes(4, sys.byteorder), os.getpid().to_bytes(4, sys.byteorder))


@functools.lru_cache
def _for_any_process(network: NetworkScope, listened: bool) -> bytes:
    return program(platform.machine(), _ANY_PID, network, listened=listened)


def _load(code: bytes, flags: int) -> int:
    buffer = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: a short, padding, a pointer
    description = struct.pack("H6xQ", len(code) // 8, ctypes.addressof(buffer))
    number = _SECCOMP[platform.machine()]
    try:
        return system_call(number, _SET_MODE_FILTER, flags, ctypes.c_char_p(description))
    except OSError as error:
        raise OSError(error.errno, f"no system call filter: {error.strerror}") from None


def _form(clauses: Sequence[Clause], error: int, listened: bool) -> list[bytes]:
    """Return the instructions for one call: the first matching clause decides, else ``error``."""
    out: list[bytes] = []
    for clause in clauses:
        asking = listened or clause.verdict != "ask"
        verdict = _VERDICTS[clause.verdict] if asking else _ALLOW
        tests = [_test(condition) for condition in clause.conditions]
        remaining = sum(len(test) + 1 for test in tests) + 1
        for test in tests:
            remaining -= len(test) + 1
            # The last instruction falls through to the jump over the rest of the clause.
            out += [*test, _jump(_AT_LEAST, 0, remaining, remaining)]
        out.append(_statement(_RETURN, verdict))
    return [*out, _make_refusal(error)]


def _test(condition: Condition) -> list[bytes]:
    """Return instructions that skip the next instruction if the condition is met."""
    word = _ARGUMENTS + 8 * condition.argument + 4 * condition.high
    out = [_statement(_LOAD, word)]
    if condition.mask != 0xFFFFFFFF:
        out.append(_statement(_AND, condition.mask))
    values = condition.values
    return out + [
        _jump(_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)
    ]


def _make_refusal(error: int) -> bytes:
    return _statement(_RETURN, _ERRNO | error)


def _statement(code: int, value: int) -> bytes:
    return struct.pack("HBBI", code, 0, 0, value)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
