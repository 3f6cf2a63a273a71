"""A machine without a measure: an error names the measure, the reason and the keyword."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from confined_attacks import masked, raw_executor

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import ExecutorStartError, ProgramFailedError
from smolagents_fork.process.confinement_report import MEASURES, Kernel

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's measures are Linux's")

FILTER = "needs the system call filter"
BEGIN = "this machine cannot confine the code: "
END = ". Use executor_type='docker', or do without: allow_missing="


@LINUX
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            Kernel(landlock=0),
            f"{BEGIN}filesystem (the kernel has no Landlock){END}('filesystem',)",
        ),
        (
            Kernel(seccomp=False, namespaces=False),
            f"{BEGIN}syscalls (the kernel has no system call filters); processes ({FILTER}); "
            f"network ({FILTER}){END}('syscalls', 'processes', 'network')",
        ),
        (
            Kernel(seccomp=False, landlock=5, namespaces=False),
            f"{BEGIN}syscalls (the kernel has no system call filters); processes ({FILTER}); "
            f"network ({FILTER}); signals (needs the system call filter, or Landlock 6){END}"
            "('syscalls', 'processes', 'network', 'signals')",
        ),
        (
            Kernel(listener=False),
            f"{BEGIN}processes (no new process, but no limit on threads: no seccomp listener){END}"
            "('processes',)",
        ),
    ],
    ids=["no Landlock", "no seccomp", "no seccomp, Landlock 5", "no listener"],
)
def test_missing_measure_is_an_error(kernel: Kernel, message: str):
    with pytest.raises(ExecutorStartError) as caught, masked(kernel):
        pass
    assert str(caught.value) == message
    # The suggested keyword works.
    named = eval(message.rpartition("allow_missing=")[2])
    with masked(kernel, allow_missing=named) as executor:
        assert executor.confinement["missing"].keys() == set(named)
        assert executor("6 * 7").output == 42


@LINUX
def test_message_keeps_measures_already_waived():
    with (
        pytest.raises(ExecutorStartError) as caught,
        masked(Kernel(seccomp=False, namespaces=False), allow_missing=["syscalls"]),
    ):
        pass
    assert str(caught.value).endswith("allow_missing=('syscalls', 'processes', 'network')")


@LINUX
def test_signals_of_a_machine_without_filters_are_refused_by_landlock():
    if ProcessExecutor.measures()["filesystem"].held_by[-1] < "6":
        pytest.skip("needs Landlock 6")
    neighbour = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    by_ownership = (
        "import fcntl, socket, signal\na, b = socket.socketpair()\n"
        f"fcntl.fcntl(a, 10, signal.SIGKILL)\nfcntl.fcntl(a, fcntl.F_SETOWN, {neighbour.pid})\n"
        "fcntl.fcntl(a, fcntl.F_SETFL, 0o20000)\nb.send(b'x')"
    )
    given_up = ["syscalls", "processes", "network"]
    kernel = Kernel(seccomp=False)
    try:
        with raw_executor(kernel, allow_missing=given_up) as executor:
            assert executor.confinement["in_force"]["signals"].startswith("to itself only; Landl")
            with pytest.raises(ProgramFailedError, match="PermissionError"):
                executor(f"import os, signal\nos.kill({neighbour.pid}, signal.SIGKILL)")
            executor(by_ownership)
        assert neighbour.poll() is None
        # Landlock refused it, and the attack is real.
        with raw_executor(
            Kernel(seccomp=False, landlock=5), allow_missing=[*given_up, "signals"]
        ) as executor:
            executor(by_ownership)
        assert neighbour.wait(30) == -signal.SIGKILL
    finally:
        neighbour.kill()
        neighbour.wait()
        assert neighbour.stdin is not None
        neighbour.stdin.close()


@LINUX
def test_attacks_succeed_if_the_measure_is_waived(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    with raw_executor(Kernel(landlock=0), allow_missing=["filesystem"]) as executor:
        assert executor(f"open({str(secret)!r}).read()").output == "x"
    with raw_executor(
        Kernel(seccomp=False), allow_missing=["syscalls", "processes", "network"]
    ) as executor:
        assert executor(f"import os\nos.chmod({str(secret)!r}, 0o777)").output is None
        assert secret.stat().st_mode & 0o777 == 0o777
        assert executor("import socket\nsocket.socket().close()").output is None


WINDOWS = "ProcessExecutor needs fork(), which Windows does not have: use executor_type='docker'"


@pytest.mark.parametrize(
    ("platform", "options", "message"),
    [
        (
            "darwin",
            {},
            "ProcessExecutor confines code with the Linux kernel, but this is darwin: use "
            "executor_type='docker'; allow_unconfined=True gives only a separate process that can "
            "be killed",
        ),
        ("win32", {}, WINDOWS),
        ("win32", {"allow_unconfined": True}, WINDOWS),
    ],
)
def test_other_systems_are_refused_with_the_alternatives(platform, options, message):
    kernel = Kernel(platform=platform)
    with pytest.raises(ExecutorStartError) as caught, masked(kernel, **options):
        pass
    assert str(caught.value) == message


def test_macos_without_confinement_runs_code():
    with masked(Kernel(platform="darwin"), allow_unconfined=True) as executor:
        missing = executor.confinement["missing"]
        assert missing["filesystem"] == "only on Linux, this is darwin"
        assert set(MEASURES) - missing.keys() == {"session", "files"}
        assert executor("6 * 7").output == 42


@LINUX
def test_table_of_this_machine():
    table = ProcessExecutor.measures()
    assert [row.measure for row in table] == list(MEASURES)
    for row in table:
        assert row.in_force == bool(row.held_by) == (not row.missing)
        assert row.keyword == f"allow_missing=({row.measure!r},)"
    lines = str(table).splitlines()
    assert len(lines) == 1 + len(MEASURES)
    assert lines[0].split("  ")[0] == "measure"
    row = table["processes"]
    assert row.held_by == "no new process, no program, at most 256 threads; seccomp"
    columns = ("processes", "yes", row.held_by, row.keyword)
    assert [part.strip() for part in lines[9].split("  ") if part.strip()] == list(columns)
    with pytest.raises(KeyError):
        table["gravity"]


@LINUX
def test_table_of_a_machine_without_a_measure():
    class Lacking(ProcessExecutor):
        kernel = Kernel(landlock=0)

    row = Lacking.measures()["filesystem"]
    assert (row.in_force, row.held_by, row.missing) == (False, "", "the kernel has no Landlock")
    shown = next(line for line in str(Lacking.measures()).splitlines() if "filesystem" in line)
    assert shown.split("  ")[0] == "filesystem"
    assert "the kernel has no Landlock" in shown
