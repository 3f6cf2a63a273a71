"""Output of other processes is forwarded completely before a call ends."""

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
    """Subset of ipykernel's stream that is used; writes slowly, as on a busy machine."""

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
    """Create a stream and its reader."""
    made: list[Stream] = []

    def make(slow: float = 0.0) -> tuple[Stream, kernel_process.OutputOfProcesses]:
        made.append(Stream(slow))
        return made[-1], kernel_process.OutputOfProcesses(made[-1])

    yield make
    for stream in made:
        os.close(stream.writer)
    # All writers are closed.
    assert eventually(
        lambda: not any(t.name == "output of processes" for t in threading.enumerate())
    )


def test_unforwarded_text_is_awaited(piped):
    # As long as a thread may wait for a processor on a busy machine.
    stream, reader = piped(slow=1.5)
    os.write(stream.writer, b"one\n")
    assert stream.entered.wait(60)  # the pipe is empty, the text is not forwarded yet
    os.write(stream.writer, b"two\n")
    reader.flush()
    assert stream.text == "one\ntwo\n"


def test_characters_are_never_split(piped):
    stream, reader = piped()
    for byte in "ä€😀".encode():
        os.write(stream.writer, bytes([byte]))
        reader.flush()
    assert stream.text == "ä€😀"


def test_endless_writer_blocks_no_reader(piped):
    stream, reader = piped()
    stopped = threading.Event()

    def write() -> None:
        while not stopped.is_set():
            os.write(stream.writer, b"x" * 4096)

    with running(write, stop=stopped.set):
        # If each waited its five seconds for the current read, the test's time limit would end it.
        for _ in range(30):
            reader.flush()
        stopped.set()
    reader.flush()
    assert set(stream.text) == {"x"}
