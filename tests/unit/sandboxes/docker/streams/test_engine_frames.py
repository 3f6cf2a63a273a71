"""The engine's frames, wherever their stream is cut."""

from __future__ import annotations

from engine_double import frame

from smolagents_fork.sandboxes.docker.streams.exec_stream import UNFRAMED, Frames


def joined(frames: Frames, *pieces: bytes) -> list[tuple[int, bytes]]:
    """Return the payloads in pieces of a stream, those of one number joined."""
    found: list[tuple[int, bytes]] = []
    for piece in pieces:
        for number, payload in frames.split(piece):
            before = found.pop()[1] if found and found[-1][0] == number else b""
            found.append((number, before + payload))
    return found


def test_frames_are_taken_apart_wherever_they_are_cut():
    raw = frame(1, b"out ") + frame(2, b"err\n") + frame(1, b"") + frame(3, b"of the engine\n")
    for first in range(len(raw)):
        for second in range(first, len(raw)):
            frames = Frames()
            assert joined(frames, raw[:first], raw[first:second], raw[second:]) == [
                (1, b"out "),
                (2, b"err\n"),
                (3, b"of the engine\n"),
            ]
            assert not frames.is_within


def test_byte_by_byte():
    frames = Frames()
    raw = frame(1, b"first") + frame(2, b"last")
    pieces = [raw[number : number + 1] for number in range(len(raw))]
    assert joined(frames, *pieces[:-1]) == [(1, b"first"), (2, b"las")]
    assert frames.is_within
    assert joined(frames, pieces[-1]) == [(2, b"t")]
    assert not frames.is_within


def test_what_is_no_frame_is_passed_on_as_it_is():
    frames = Frames()
    raw = frame(1, b"framed\n") + b"HTTP/1.1 chunked, by a proxy"
    assert joined(frames, raw, b" in between") == [
        (1, b"framed\n"),
        (UNFRAMED, b"HTTP/1.1 chunked, by a proxy in between"),
    ]
