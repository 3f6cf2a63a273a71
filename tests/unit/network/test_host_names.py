"""One spelling for each host."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smolagents_fork.network.hosts.host_names import (
    HostNameError,
    parse_address,
    parse_authority,
    parse_host,
)

SPELLINGS = {
    "api.github.com": "api.github.com",
    "API.GitHub.COM.": "api.github.com",
    "localhost": "localhost",
    "_dmarc.example.org": "_dmarc.example.org",
    "xn--bcher-kva.example": "xn--bcher-kva.example",
    "127.0.0.1": "127.0.0.1",
    "[::1]": "::1",
    "2001:DB8:0:0::1": "2001:db8::1",
    "::ffff:127.0.0.1": str(ipaddress.ip_address("::ffff:127.0.0.1")),
    "1e100.net": "1e100.net",
}
NOT_HOSTS = (
    "", ".", "..", "a..b", ".a", "a b", "a\0b", "a\nb", "a\tb", "a%00b", "a%2eb", "a/b", "a\\b",
    "a@b", "a?b", "a#b", "a:b", "*", "*.a", "-a.b", "a-.b", "a,b", "b\u00fccher.example",
    "\uff41.com", "a\u3002b", "127.1", "127.0.0.01", "0x7f.0.0.1", "2130706433", "0", "0x7f000001",
    "0177.0.0.1", "1.2.3.4.5", "127.0.0.1.", "a.0x", "fe80::1%eth0",
    "[fe80::1%25eth0]", "[127.0.0.1]", "[::1", "::1]",
    "a" * 64,
    ".".join(["a" * 60] * 5),
)  # fmt: skip


@pytest.mark.parametrize("text", SPELLINGS)
def test_host_has_one_spelling(text: str):
    assert parse_host(text) == SPELLINGS[text]


@pytest.mark.parametrize("text", NOT_HOSTS)
def test_text_that_is_not_a_host_is_refused(text: str):
    with pytest.raises(HostNameError):
        parse_host(text)


@given(st.text(max_size=80))
def test_spelling_is_final(text: str):
    try:
        name = parse_host(text)
    except HostNameError:
        return
    assert parse_host(name) == name
    assert name.isascii()
    assert name == name.lower()
    assert not set(name) & set(" \0\t\r\n%/\\@?#[]")


@given(st.ip_addresses())
def test_address_is_itself(address):
    assert parse_address(str(address)) == address
    assert parse_host(str(address)) == str(address)


@pytest.mark.parametrize(
    ("text", "default", "expected"),
    [
        ("a.b:443", None, ("a.b", 443)),
        ("A.B.:1", None, ("a.b", 1)),
        ("a.b", 80, ("a.b", 80)),
        ("[::1]:8443", None, ("::1", 8443)),
        ("[::1]", 80, ("::1", 80)),
        ("127.0.0.1:65535", None, ("127.0.0.1", 65535)),
    ],
)
def test_authority_has_host_and_port(text, default, expected):
    assert parse_authority(text, default) == expected


@pytest.mark.parametrize(
    "text",
    ["a.b", "a.b:", "a.b:0", "a.b:65536", "a.b:+1", "a.b: 1", "a.b:1x", "a.b:\u0661", ":1", "::1:1",
     "u@a.b:1", "a.b:1:2", "[::1]:", "[::1]x:1", "a.b:000001"],
)  # fmt: skip
def test_other_authorities_are_refused(text: str):
    with pytest.raises(HostNameError):
        parse_authority(text)
