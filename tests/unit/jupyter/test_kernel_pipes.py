"""What processes write into the kernel's output is all passed on when a call ends."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from smolagents_fork.jupyter import kernel_process


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
    end = time.monotonic() + 10
    while any(t.name == "output of processes" for t in threading.enumerate()):
        assert time.monotonic() < end, "a thread that nobody writes to any more has not ended"
        time.sleep(0.01)


def test_what_the_thread_holds_is_waited_for(piped):
    stream, reader = piped(slow=0.3)
    os.write(stream.writer, b"one\n")
    assert stream.entered.wait(5)  # the pipe is empty, the text is not passed on yet
    os.write(stream.writer, b"two\n")
    reader.drain()
    assert stream.text == "one\ntwo\n"


def test_characters_are_whole_however_they_come(piped):
    stream, reader = piped()
    for byte in "ä€😀".encode():
        os.write(stream.writer, bytes([byte]))
        reader.drain()
    assert stream.text == "ä€😀"


def test_a_writer_without_end_holds_nobody(piped):
    stream, reader = piped()
    stopped = threading.Event()

    def write() -> None:
        while not stopped.is_set():
            os.write(stream.writer, b"x" * 4096)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        started = time.monotonic()
        for _ in range(20):
            reader.drain()
        assert time.monotonic() - started < 20
    finally:
        stopped.set()
        writer.join(10)
    assert not writer.is_alive()
    reader.drain()
    assert set(stream.text) == {"x"}
