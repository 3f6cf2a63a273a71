"""The server name of real and of mutated first messages of TLS."""

from __future__ import annotations

import asyncio
import contextlib
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from web_servers import client_hello

from smolagents_fork.network import proxied_connection
from smolagents_fork.network.hosts.host_policy import HostRefusedError
from smolagents_fork.network.proxied_connection import read_hello

HELLO = client_hello("api.github.com")
NAME = b"\0\0\0\x13\0\x11\0\0\x0eapi.github.com"


class Reader:
    """A stream that has some bytes, and ends behind them."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    async def read_exactly(self, size: int) -> bytes:
        if len(self.rest) < size:
            raise EOFError
        data, self.rest = self.rest[:size], self.rest[size:]
        return data


def read(data: bytes) -> str | None:
    """Return the server name of ``data``; ``EOFError`` if it is incomplete."""
    stream = Reader(data)
    received, name = asyncio.run(read_hello(stream))  # type: ignore[arg-type]
    assert received + stream.rest == data
    return name


@pytest.mark.parametrize("name", ["api.github.com", "xn--bcher-kva.example", "a" * 60 + ".b", None])
def test_server_name_of_a_real_client(name):
    assert read(client_hello(name)) == name


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1 is deprecated")
@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_2"])
def test_version_is_a_matter_of_the_host(version):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    context.set_ciphers("ALL:@SECLEVEL=0")
    sent = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="api.github.com")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    assert read(sent.read()) == "api.github.com"


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 100])
def test_message_may_come_in_several_records(size: int):
    message = HELLO[5:]
    pieces = [message[start : start + size] for start in range(0, len(message), size)]
    data = b"".join(b"\x16\x03\x01" + len(piece).to_bytes(2, "big") + piece for piece in pieces)
    assert read(data) == "api.github.com"


def test_work_grows_with_the_length_of_the_message(monkeypatch):
    """Zeros may begin a server name anywhere, and each record could begin the search anew."""
    lengths: list[int] = []
    find = proxied_connection._has_ascii_names

    def count(message: bytearray) -> bool:
        lengths.append(len(message))
        return find(message)

    monkeypatch.setattr(proxied_connection, "_has_ascii_names", count)
    message = b"\x01" + (4000).to_bytes(3, "big") + bytes(4000)
    with pytest.raises(HostRefusedError, match="are not a TLS ClientHello"):
        read(b"".join(b"\x16\x03\x01\0\1" + bytes([byte]) for byte in message))
    assert lengths == [len(message)]


def test_other_message_of_tls_is_refused_at_its_first_byte():
    with pytest.raises(HostRefusedError, match="are not a TLS ClientHello"):
        read(b"\x16\x03\x01\0\1\2")


@pytest.mark.parametrize("size", range(0, len(HELLO), 7))
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
    with pytest.raises((HostRefusedError, EOFError)):
        read(data)


@pytest.mark.parametrize("size", [1, 9, 5000])
def test_name_that_is_not_ascii_is_refused_without_a_word_of_the_host(size, capfd):
    message = HELLO[5:].replace(b"api.github", b"api.g\xffthub")
    pieces = [message[start : start + size] for start in range(0, len(message), size)]
    with pytest.raises(HostRefusedError, match="its server name is not ASCII"):
        read(b"".join(b"\x16\x03\x01" + len(p).to_bytes(2, "big") + p for p in pieces))
    assert capfd.readouterr() == ("", "")


def test_second_name_is_refused():
    start = HELLO.index(NAME)
    body = bytearray(HELLO[9:start] + NAME + HELLO[start:])
    # Behind version, random, session, ciphers and compression: the length of all extensions.
    place = 2 + 32
    for size in (1, 2, 1):
        place += size + int.from_bytes(body[place : place + size], "big")
    body[place : place + 2] = (len(body) - place - 2).to_bytes(2, "big")
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    with pytest.raises(HostRefusedError):
        read(b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message)


def test_more_behind_the_message_in_its_record_is_refused():
    record = HELLO[5:] + b"\x01"
    with pytest.raises(HostRefusedError):
        read(b"\x16\x03\x01" + len(record).to_bytes(2, "big") + record)


def test_message_without_end_is_refused():
    record = b"\x16\x03\x01\x40\x00" + b"\x01\x01\xff\xff" + b"x" * (0x4000 - 4)
    with pytest.raises(HostRefusedError, match="at most 32768 bytes"):
        read(record * 4)
