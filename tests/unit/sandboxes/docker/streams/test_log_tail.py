"""The last 4 KB of a container's output, whole lines if possible."""

from __future__ import annotations

import threading

import pytest
from background import acting

from smolagents_fork.sandboxes.docker.streams.logged_connection import KEPT_BYTES, Tail


@pytest.mark.parametrize("size", [1, 5000, 3_000_000])
def test_no_more_than_the_end_is_kept(size):
    tail = Tail()
    for _ in range(3 if size > 1 else 9000):
        tail.add(b"x" * size)
    assert tail.text() == "x" * KEPT_BYTES
    tail.add(b"\nlast words\n")
    assert tail.text() == "last words\n"  # without the piece of a line that is left
    assert len(tail._kept) <= KEPT_BYTES


def test_short_output_keeps_its_first_line():
    tail = Tail()
    tail.add(b"first\nsecond")
    assert tail.text() == "first\nsecond"


def test_its_end_can_be_waited_for():
    tail = Tail()
    assert not tail.wait(0.05)
    waits = threading.Event()
    with acting(waits.is_set, tail.end):
        waits.set()
        assert tail.wait(60)
    broken = Tail()
    broken.end("reset")
    assert not broken.wait(60)
    assert broken.broken == "reset"
