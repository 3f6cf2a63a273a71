"""Heads of requests: what is understood, and that nothing is understood in two ways."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smolagents_fork.network.request_head import BadRequestError, end_to_end, parse_request

GET = b"GET http://a.example:8080/x/y?z HTTP/1.1\r\nHost: a.example:8080\r\nX-Kept: 1\r\n\r\n"


def test_request_of_a_client():
    request = parse_request(GET)
    assert (request.method, request.host, request.port) == (b"GET", "a.example", 8080)
    assert request.target == b"/x/y?z"
    assert request.headers == ((b"Host", b"a.example:8080"), (b"X-Kept", b"1"))
    assert not request.is_tunnel


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_tunnel_of_a_client(version: bytes):
    host = b"" if version == b"1.0" else b"Host: a.example\r\n"
    request = parse_request(b"CONNECT A.example.:443 HTTP/" + version + b"\r\n" + host + b"\r\n")
    assert request.is_tunnel
    assert (request.host, request.port, request.target) == ("a.example", 443, b"")


@pytest.mark.parametrize(
    ("address", "target"),
    [(b"http://a.example", b"/"), (b"http://a.example?q", b"/?q"), (b"HTTP://a.example/b", b"/b"),
     (b"http://a.example/http://evil.example/", b"/http://evil.example/")],
)  # fmt: skip
def test_target_of_the_host(address: bytes, target: bytes):
    assert parse_request(b"GET " + address + b" HTTP/1.0\r\n\r\n").target == target


def test_host_has_the_field_that_it_needs():
    request = parse_request(b"GET http://[2001:db8::1]:81/ HTTP/1.0\r\nAccept: a\r\n\r\n")
    assert request.headers == ((b"Host", b"[2001:db8::1]:81"), (b"Accept", b"a"))
    request = parse_request(
        b"GET http://A.example/ HTTP/1.1\r\nAccept: a\r\nhost: a.example\r\n\r\n"
    )
    assert request.headers == ((b"Host", b"a.example"), (b"Accept", b"a"))


def test_fields_of_one_connection_are_dropped():
    fields = [
        (b"Connection", b"close, X-Private"), (b"X-Private", b"1"), (b"Proxy-Authorization", b"2"),
        (b"TE", b"trailers"), (b"Upgrade", b"h2c"), (b"Content-Length", b"3"), (b"Accept", b"*/*"),
        (b"Keep-Alive", b"4"),
    ]  # fmt: skip
    assert end_to_end(fields) == ((b"Content-Length", b"3"), (b"Accept", b"*/*"))
    # A client cannot have the framing of its request dropped.
    fields = [(b"connection", b"content-length, host"), (b"content-length", b"3"), (b"host", b"a")]
    assert end_to_end(fields) == ((b"content-length", b"3"), (b"host", b"a"))


@given(st.integers(0, len(GET) - 5), st.binary(min_size=1, max_size=3))
def test_inserted_bytes_never_change_the_host_alone(place: int, data: bytes):
    with contextlib.suppress(BadRequestError):
        request = parse_request(GET[:place] + data + GET[place:])
        named = {name.lower(): value for name, value in request.headers}[b"host"].decode()
        assert named.lower().removesuffix(f":{request.port}").rstrip(".") == request.host


@given(st.binary(max_size=200))
def test_other_bytes_are_refused(data: bytes):
    with contextlib.suppress(BadRequestError):
        parse_request(data + b"\r\n\r\n")
