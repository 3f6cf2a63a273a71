"""Starts and ends of kernels whose processes are small programs of the test."""

from __future__ import annotations

import errno
import itertools
import os
import select
import socket
import subprocess

import gateway_kernels
import pytest
from gateway import Kernels
from gateway_kernels import CHANNELS, DELIMITER, Kernel
from gateway_process import PATIENCE

#: Programs for a shell, whose first argument is the descriptor that an answer is written to.
ANSWER = "printf 1 > /proc/self/fd/$1; "
ANSWERS_AND_RUNS = ANSWER + "exec sleep 600"
ANSWERS_AND_ENDS = ANSWER + "exit 3"
ENDS = "exit 3"
#: The descriptor is closed without an answer, and the process goes on.
GIVES_NO_ANSWER = None
READY = b"\x04\x1a\x05READY\x0bSocket-Type\x00\x00\x00\x04XPUB"
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)


class Client:
    """Notes what a kernel's link reports."""

    def __init__(self):
        self.seen = []

    def status(self, state):
        self.seen.append(state)

    def received(self, _channel, parts):
        self.seen.append(bytes(parts[-1]).decode())

    def lost(self, reason):
        self.seen.append(reason)

    def kernel_is_full(self, full):
        pass


class Processes:
    """Programs in place of forks: the first ones that were given, and then the last for ever."""

    def __init__(self):
        self.programs = []
        self.started = []
        self._pipe = os.pipe
        self._answers = None

    def pipe(self):
        ready, self._answers = self._pipe()
        return ready, self._answers

    def fork(self):
        program = self.programs.pop(0) if len(self.programs) > 1 else self.programs[0]
        argv, kept = ["sleep", "600"], []
        if program is not GIVES_NO_ANSWER:
            argv, kept = ["sh", "-c", program, "sh", str(self._answers)], [self._answers]
        # The pipes of the module alone are those of the kernel.
        process = subprocess.Popen(argv, pass_fds=kept, start_new_session=True)
        self.started.append(process)
        return process.pid


@pytest.fixture
def processes(monkeypatch):
    made = Processes()

    class System:
        """The system's calls, of which two are the test's."""

        pipe, fork = made.pipe, made.fork

        def __getattr__(self, name):
            return getattr(os, name)

    monkeypatch.setattr(gateway_kernels, "os", System())
    monkeypatch.setattr(gateway_kernels, "_RESTART_SECONDS", 0.0)
    yield made
    for process in made.started:
        process.kill()
        process.wait()


@pytest.fixture
def ended():
    return []


@pytest.fixture
def kernel(loop, tmp_path, processes, ended):
    return Kernel(loop, "0123456789", str(tmp_path / "run"), itertools.count(1), ended.append)


def reaped(kernel, condition):
    """A condition that lets the kernel notice the end of its process first."""

    def check():
        kernel.reap()
        return condition()

    return check


def test_kernel_that_never_answers_is_given_up(kernel, processes, turned, ended, capsys):
    processes.programs = [ENDS]
    kernel.start()
    turned(reaped(kernel, lambda: kernel.state == "dead"))
    assert len(processes.started) == 6
    assert ended == [kernel]
    assert "again and again while it started" in capsys.readouterr().err


def test_kernel_that_answered_is_always_replaced(kernel, processes, turned, ended):
    processes.programs = [ANSWERS_AND_ENDS] * 10 + [ANSWERS_AND_RUNS]
    kernel.start()
    turned(reaped(kernel, lambda: len(processes.started) == 11 and kernel.state == "idle"))
    assert ended == []


def test_process_that_can_no_longer_answer_is_killed(kernel, processes, turned):
    processes.programs = [GIVES_NO_ANSWER, ANSWERS_AND_RUNS]
    kernel.start()
    turned(reaped(kernel, lambda: kernel.state == "idle"))
    assert len(processes.started) == 2


def test_deleted_kernel_stays_dead(loop, kernel, processes, turned, ended):
    processes.programs = [ANSWERS_AND_RUNS]
    kernel.start()
    # The answer has arrived, and the loop has not read it.
    assert select.select([kernel._ready], [], [], PATIENCE)[0]
    kernel.end()
    passed = []
    loop.call_later(0.1, lambda: passed.append(True))
    turned(lambda: passed)
    assert kernel.state == "dead"
    turned(reaped(kernel, lambda: ended))
    assert kernel.state == "dead"
    assert len(processes.started) == 1


def test_start_without_descriptors_is_tried_again(kernel, processes, turned, monkeypatch):
    processes.programs = [ANSWERS_AND_RUNS]
    refused = []

    def pipe(answer=processes.pipe):
        if len(refused) < 2:
            refused.append(True)
            raise OSError(errno.EMFILE, "Too many open files")
        return answer()

    monkeypatch.setattr(gateway_kernels.os, "pipe", pipe, raising=False)
    kernel.start()
    assert kernel.state == "starting"
    turned(reaped(kernel, lambda: kernel.state == "idle"))
    assert len(refused) == 2


def test_dead_kernels_are_forgotten(loop, tmp_path, processes, turned):
    processes.programs = [ANSWERS_AND_RUNS]
    kernels = Kernels(loop, str(tmp_path / "run"))
    for _ in range(20):
        kernels.remove(kernels.create())

    def forgotten():
        kernels.reap()
        return not kernels._kernels

    turned(forgotten)
    assert kernels.all() == []


def test_last_output_of_an_ended_kernel_precedes_its_restart(
    loop, tmp_path, kernel, processes, turned
):
    processes.programs = [ANSWERS_AND_RUNS]
    folder = tmp_path / "run"
    folder.mkdir()
    listening = {}
    for number, channel in enumerate(CHANNELS, 1):
        sock = listening[channel] = socket.socket(socket.AF_UNIX)
        sock.bind(f"{folder}/01234567-1-{number}")
        sock.listen()
    client = Client()
    kernel.start()
    link = kernel.attach(client, b"me")
    turned(lambda: kernel.state == "idle")
    peers = {channel: sock.accept()[0] for channel, sock in listening.items()}
    for peer in peers.values():
        peer.sendall(GREETING + READY)
    turned(lambda: not link._opening)
    # The client's output is full, so nothing is read until the process has ended.
    link.pause()
    peers["iopub"].sendall(message("last words") * 3)
    for sock in [*peers.values(), *listening.values()]:
        sock.close()
    passed = []
    loop.call_later(0.1, lambda: passed.append(True))
    turned(lambda: passed)
    assert client.seen == []
    processes.started[0].kill()
    turned(reaped(kernel, lambda: "restarting" in client.seen))
    assert client.seen == ["last words"] * 3 + ["restarting"]
    kernel.end()


def message(text):
    """The frames of a message."""
    parts = [DELIMITER, b"", b"{}", b"{}", b"{}", text.encode()]
    return b"".join(bytes([part is not parts[-1], len(part)]) + part for part in parts)
