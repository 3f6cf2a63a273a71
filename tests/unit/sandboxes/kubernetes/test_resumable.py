"""A stream over connections that break at any byte."""

from __future__ import annotations

import random

import pytest

from smolagents_fork.sandboxes.kubernetes.streams.resumable import Endpoint, StreamBroken


def carry(one: Endpoint, other: Endpoint, size: int) -> int:
    """Carry at most ``size`` bytes from one endpoint to the other; return how many there were."""
    data = one.outgoing()
    piece = bytes(data[:size])
    del data[:size]
    other.feed(piece)
    return len(piece)


@pytest.mark.parametrize("seed", range(20))
def test_no_byte_is_lost_or_repeated_however_connections_break(seed):
    chance = random.Random(seed)
    ends = Endpoint(), Endpoint()
    sent = [chance.randbytes(chance.randrange(400_000)) for _ in ends]
    left = list(sent)
    arrived = [b"", b""]
    for end in ends:
        end.connected()
    for _ in range(100_000):
        if chance.random() < 0.02:
            for end in ends:
                end.connected()
        for number, end in enumerate(ends):
            piece = left[number][: min(end.room, chance.randrange(50_000))]
            left[number] = left[number][len(piece) :]
            end.push(piece)
            if not left[number]:
                end.finish()
            carry(end, ends[1 - number], chance.choice([1, 7, 1000, 70_000]))
            arrived[1 - number] += bytes(ends[1 - number].arrived)
            ends[1 - number].arrived.clear()
        if all(end.ended for end in ends):
            break
    assert arrived == [sent[1], sent[0]]


@pytest.mark.parametrize(
    "data",
    [
        (5).to_bytes(8, "big") + bytes(4),  # acknowledges what was never sent
        bytes(8) + (70_000).to_bytes(4, "big"),  # more than a piece
    ],
)
def test_broken_protocol_is_an_error(data):
    end = Endpoint()
    end.connected()
    with pytest.raises(StreamBroken):
        end.feed(data)


def test_unacknowledged_bytes_are_limited():
    end = Endpoint()
    end.push(bytes(end.room))
    assert end.room == 0
