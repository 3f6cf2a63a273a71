"""Decisions about hosts and addresses, without any of both."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.network.hosts.address_table import classify_address
from smolagents_fork.network.hosts.host_policy import (
    AllowedHost,
    HostPolicy,
    HostRefusedError,
    allowed_hosts_or_none,
)

ENTRIES = ("api.github.com", "*.wikipedia.org:443", "files.example.org:8443", "1.1.1.1")
POLICY = HostPolicy([AllowedHost(text) for text in ENTRIES], "DockerExecutor")


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("api.github.com", 443),
        ("api.github.com", 80),
        ("de.wikipedia.org", 443),
        ("a.b.wikipedia.org", 443),
        ("files.example.org", 8443),
        ("1.1.1.1", 443),
    ],
)
def test_listed_host_is_allowed(host: str, port: int):
    assert POLICY.find(host, port)


@pytest.mark.parametrize(
    "host",
    ["github.com", "xapi.github.com", "api.github.com.evil.example", "wikipedia.org",
     "evilwikipedia.org", "de.wikipedia.org.evil.example", "example.org", "1.1.1.2", "localhost",
     "::ffff:1.1.1.1", "64:ff9b::101:101"],
)  # fmt: skip
def test_other_host_is_refused_by_name(host: str):
    with pytest.raises(HostRefusedError) as caught:
        POLICY.find(host, 443)
    assert str(caught.value) == (
        f"host '{host}' is not in allowed_hosts=['api.github.com', '*.wikipedia.org:443', "
        "'files.example.org:8443', '1.1.1.1'] of this DockerExecutor"
    )


def test_other_port_is_refused_with_the_entry_that_would_allow_it():
    with pytest.raises(HostRefusedError) as caught:
        POLICY.find("api.github.com", 22)
    assert str(caught.value).startswith("port 22 of host 'api.github.com' is not in allowed_hosts=")
    assert str(caught.value).endswith(": the entry would be 'api.github.com:22'")
    policy = HostPolicy([AllowedHost("::1", private=True)], "DockerExecutor")
    with pytest.raises(HostRefusedError) as caught:
        policy.find("::1", 22)
    assert str(caught.value).endswith(": the entry would be AllowedHost('[::1]:22', private=True)")


def test_long_list_is_cut_in_messages():
    policy = HostPolicy([AllowedHost(f"host-{n}.example") for n in range(500)], "ProcessExecutor")
    assert len(policy.described) < 400
    assert policy.find("host-499.example", 443)


@given(st.text(alphabet="abc.wikpedorgh-1", min_size=1, max_size=40))
def test_suffix_covers_the_names_below_it_only(host: str):
    entry = AllowedHost("*.wikipedia.org")
    assert entry.covers(host) == (host.endswith(".wikipedia.org") and host != ".wikipedia.org") or (
        host == ".wikipedia.org"
    )


@given(st.ip_addresses())
def test_public_entry_permits_global_addresses_only(address):
    what, opening = classify_address(address)
    permitted = AllowedHost("a.example").permits(address)
    assert permitted == (opening == "public")
    assert not permitted or (address.is_global and not address.is_multicast), what
    if AllowedHost("a.example", private=True).permits(address):
        assert opening in ("public", "private")


@given(st.ip_addresses(v=4))
def test_translated_addresses_are_as_strict_as_what_they_lead_to(address):
    _, opening = classify_address(address)
    for prefix in ("::ffff:0:0", "64:ff9b::"):
        translated = ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | int(address))
        _, found = classify_address(translated)
        assert found == ("private" if opening == "public" else opening)


NEVER = (
    *("0.0.0.0", "::", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.0.1", "ff02::1"),
    *("::7f00:1", "2002:7f00:1::", "2001:0:1::"),
)
LITERAL = (
    *("169.254.169.254", "fe80::1", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"),
    *("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"),
)
PRIVATE = (
    *("127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "fc00::1"),
    *("203.0.113.80", "192.0.2.1", "2001:db8::1", "172.31.0.1", "192.168.0.1", "198.18.0.1"),
    *("::ffff:127.0.0.1", "64:ff9b::7f00:1"),
)


@pytest.mark.parametrize("text", [*NEVER, *LITERAL, *PRIVATE])
def test_inner_address_is_opened_by_its_own_rule(text: str):
    address = ipaddress.ip_address(text)
    name = AllowedHost("a.example", private=True)
    assert not AllowedHost("a.example").permits(address)
    assert name.permits(address) == (text in PRIVATE)
    if text in NEVER:
        with pytest.raises(ConfigurationError, match="cannot be connected to"):
            AllowedHost(text, private=True)
    else:
        with pytest.raises(ConfigurationError, match="private=True"):
            AllowedHost(text)
        assert AllowedHost(text, private=True).permits(address)


def test_refused_address_is_named_with_what_is_behind_it():
    entries = [AllowedHost("a.example:8080")]
    policy = HostPolicy(entries, "ProcessExecutor")
    with pytest.raises(HostRefusedError) as caught:
        policy.select("a.example", 8080, entries, [ipaddress.ip_address("10.0.0.1")])
    assert str(caught.value) == (
        "host 'a.example' has the address 10.0.0.1 (private), which is not in "
        "allowed_hosts=['a.example:8080'] of this ProcessExecutor: the entry would be "
        "AllowedHost('a.example:8080', private=True)"
    )


@pytest.mark.parametrize("text", ["https://api.github.com", "api.github.com/x", "me:pw@a.example"])
def test_address_of_a_page_is_refused_as_such(text: str):
    with pytest.raises(ConfigurationError) as caught:
        AllowedHost(text)
    assert str(caught.value) == (
        f"allowed_hosts: {text!r}: {text!r} has more than a host and a port, as in "
        "'example.org:443'"
    )


def test_international_names_are_listed_as_people_write_them():
    assert AllowedHost("B\u00fccher.example:8443").name == "xn--bcher-kva.example"
    assert AllowedHost("*.b\u00fccher.example").covers("www.xn--bcher-kva.example", 443)
    with pytest.raises(ConfigurationError, match="is not a host name"):
        AllowedHost("\u2603\ufe0f\u200d.example")


@pytest.mark.parametrize(
    "entry",
    ["", " ", "*", "*.", "*.*.a", "a.*", "https://a.b", "a.b/c", "a.b:0", "a.b:99999", "a b",
     "a.b:http", "user@a.b", "*.127.0.0.1", "127.1", None, 5, b"a.b"],
)  # fmt: skip
def test_entry_that_is_not_a_host_is_refused(entry):
    with pytest.raises(ConfigurationError, match="allowed_hosts"):
        AllowedHost(entry)


def test_flags_are_flags():
    for name in ("private", "plain"):
        with pytest.raises(ConfigurationError, match=f"{name} is True or False"):
            AllowedHost("a.b", **{name: "no"})


def test_packages_are_the_index_of_pips_settings(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    monkeypatch.setenv(
        "PIP_EXTRA_INDEX_URL", "http://other.example:8080/a file:///x https://[::1]/s"
    )
    entries = [
        AllowedHost("index.example:443", private=True),
        AllowedHost("other.example:8080", private=True),
        AllowedHost("[::1]:443", private=True),
    ]
    assert allowed_hosts_or_none("allowed_hosts", "packages") == tuple(entries)
    given_entries = allowed_hosts_or_none("allowed_hosts", ["a.b", "packages"])
    assert given_entries == (AllowedHost("a.b"), *entries)


def test_packages_without_an_index_are_refused(monkeypatch):
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.setenv(name, "file:///folder")
    with pytest.raises(ConfigurationError, match="PIP_INDEX_URL names no package index; set it"):
        allowed_hosts_or_none("allowed_hosts", "packages")


def test_list_is_a_list_of_entries():
    given_entries = allowed_hosts_or_none("allowed_hosts", ["a.b", AllowedHost("c.d", plain=True)])
    assert given_entries == (AllowedHost("a.b"), AllowedHost("c.d", plain=True))
    assert allowed_hosts_or_none("allowed_hosts", None) is None
    listed, named = "allowed_hosts=.*pass a list", "allowed_hosts=.*name a host, or pass None"
    for wrong, words in (("a.b", listed), (5, listed), ([], named), ((), named)):
        with pytest.raises(ConfigurationError, match=words):
            allowed_hosts_or_none("allowed_hosts", wrong)
