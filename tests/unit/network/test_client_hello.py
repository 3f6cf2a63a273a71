"""The server name of real and of mutated first messages of TLS."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from web_servers import client_hello

from smolagents_fork.network.client_hello import HelloReader, read_server_name
from smolagents_fork.network.hosts.host_policy import HostRefusedError

HELLO = client_hello("api.github.com")


def read(data: bytes) -> str | None:
    """Return the server name of ``data``; ``EOFError`` if it is incomplete."""
    reader = HelloReader()
    place = 0
    while reader.needed:
        part = data[place : place + reader.needed]
        if len(part) < reader.needed:
            raise EOFError
        reader.add(part)
        place += len(part)
    assert reader.received == data[:place]
    return reader.server_name


@pytest.mark.parametrize("name", ["api.github.com", "xn--bcher-kva.example", "a" * 60 + ".b", None])
def test_server_name_of_a_real_client(name):
    assert read(client_hello(name)) == name


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 100])
def test_message_may_come_in_several_records(size: int):
    message = HELLO[5:]
    pieces = [message[start : start + size] for start in range(0, len(message), size)]
    data = b"".join(b"\x16\x03\x01" + len(piece).to_bytes(2, "big") + piece for piece in pieces)
    assert read(data) == "api.github.com"


@given(st.integers(0, len(HELLO) - 1))
def test_beginning_is_incomplete(size: int):
    with pytest.raises(EOFError):
        read(HELLO[:size])


@given(st.integers(0, len(HELLO) - 1), st.integers(0, 255))
def test_changed_byte_gives_a_name_or_a_refusal(place: int, value: int):
    changed = bytearray(HELLO)
    changed[place] = value
    with contextlib.suppress(HostRefusedError, EOFError):
        found = read(bytes(changed))
        assert found is None or found.isascii()


@given(st.binary(max_size=300))
def test_other_bytes_are_refused(data: bytes):
    with contextlib.suppress(HostRefusedError, EOFError):
        read(data)
    with contextlib.suppress(HostRefusedError):
        read_server_name(data)


def test_second_name_is_refused():
    name = b"\0\0\0\x13\0\x11\0\0\x0eapi.github.com"
    assert name in HELLO
    start = HELLO.index(name)
    body = HELLO[9:start] + name + HELLO[start:]
    # The length of all extensions stands before the first of them.
    with pytest.raises(HostRefusedError):
        read_server_name(body)


def test_more_behind_the_message_in_its_record_is_refused():
    record = HELLO[5:] + b"\x01"
    with pytest.raises(HostRefusedError, match="more follows in its record"):
        read(b"\x16\x03\x01" + len(record).to_bytes(2, "big") + record)


def test_message_without_end_is_refused():
    record = b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff" + b"x" * (0x4000 - 4)
    with pytest.raises(HostRefusedError, match="at most 32768 bytes"):
        read(record * 4)
