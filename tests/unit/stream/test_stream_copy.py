"""Bytes copied between two streams: all of them, in both directions, until one ends."""

from __future__ import annotations

import random
import socket

import pytest
from background import running

from smolagents_fork.stream.stream_copy import copy_both_ways

DATA = random.Random(1).randbytes(3_000_000)


class Pair:
    """Both ends of a copy."""

    def __init__(self) -> None:
        self.left, self.one = socket.socketpair()
        self.right, self.other = socket.socketpair()
        for end in (self.left, self.right):
            end.settimeout(60)

    def copy(self) -> None:
        with self.one, self.other:
            copy_both_ways(self.one, self.other)


@pytest.fixture
def pair():
    made = Pair()
    with running(made.copy):
        yield made
        made.left.close()
        made.right.close()


def received(end: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size and (data := end.recv(1 << 16)):
        found += data
    return bytes(found)


def test_bytes_pass_both_ways_at_once(pair: Pair):
    with running(pair.left.sendall, DATA), running(pair.right.sendall, DATA[::-1]):
        with running(received, pair.left, len(DATA)) as left:
            assert received(pair.right, len(DATA)) == DATA
        assert left.result() == DATA[::-1]


@pytest.mark.parametrize("sender", ["left", "right"])
def test_what_was_sent_before_the_end_arrives(pair: Pair, sender: str):
    source, target = getattr(pair, sender), pair.right if sender == "left" else pair.left

    def send() -> None:
        source.sendall(DATA)
        source.close()

    with running(send):
        assert received(target, len(DATA) + 1) == DATA
