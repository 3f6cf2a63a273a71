"""What processes write into the kernel's output is all passed on when a call ends."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from background import eventually, running

from smolagents_fork.jupyter.kernel import kernel_process


class Stream(SimpleNamespace):
    """What of ipykernel's stream is used; slow to write, as on a machine with much to do."""

    def __init__(self, slow: float = 0.0) -> None:
        reader, self.writer = os.pipe()
        with open(os.devnull, "wb") as nothing:
            copy = os.dup(nothing.fileno())
        super().__init__(_fid=reader, _original_stdstream_copy=copy, text="", slow=slow)
        self.entered = threading.Event()

    def write(self, text: str) -> None:
        self.entered.set()
        time.sleep(self.slow)
        self.text += text


Piped = Callable[..., tuple[Stream, kernel_process.OutputOfProcesses]]


@pytest.fixture
def piped() -> Iterator[Piped]:
    """Makes a stream and its reader."""
    made: list[Stream] = []

    def make(slow: float = 0.0) -> tuple[Stream, kernel_process.OutputOfProcesses]:
        made.append(Stream(slow))
        return made[-1], kernel_process.OutputOfProcesses(made[-1])

    yield make
    for stream in made:
        os.close(stream.writer)
    # Nobody writes to them any more.
    assert eventually(
        lambda: not any(t.name == "output of processes" for t in threading.enumerate())
    )


def test_what_the_thread_holds_is_waited_for(piped):
    # As long as a thread may wait for a processor on a machine that has much to do.
    stream, reader = piped(slow=1.5)
    os.write(stream.writer, b"one\n")
    assert stream.entered.wait(60)  # the pipe is empty, the text is not passed on yet
    os.write(stream.writer, b"two\n")
    reader.flush()
    assert stream.text == "one\ntwo\n"


def test_characters_are_whole_however_they_come(piped):
    stream, reader = piped()
    for byte in "ä€😀".encode():
        os.write(stream.writer, bytes([byte]))
        reader.flush()
    assert stream.text == "ä€😀"


def test_a_writer_without_end_holds_nobody(piped):
    stream, reader = piped()
    stopped = threading.Event()

    def write() -> None:
        while not stopped.is_set():
            os.write(stream.writer, b"x" * 4096)

    with running(write, stop=stopped.set):
        started = time.monotonic()
        for _ in range(20):
            reader.flush()
        # Each has at most five seconds to wait for what is read at the moment; quiet, none waits.
        assert time.monotonic() - started < 50
        stopped.set()
    reader.flush()
    assert set(stream.text) == {"x"}
