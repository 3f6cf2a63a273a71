"""Hostile programs against the proxy: each uses its port as a program in a sandbox can."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import select
import socket
import ssl
import threading
import time

import pytest
from background import at_once, eventually
from proxy_double import LISTENER, listed, received, received_with
from web_servers import HUGE, client_hello

from smolagents_fork.network.hosts.host_policy import AllowedHost
from smolagents_fork.network.proxied_connection import ProxyLimits

SECONDS = 30


# -- requests that could be understood in two ways --

PORT = "{port}"
GET = f"GET http://api.test:{PORT}/ HTTP/1.1\r\nHost: api.test:{PORT}\r\n"
POST = GET.replace("GET", "POST", 1)
CHUNKED = "Transfer-Encoding: chunked\r\n"
SMUGGLED = {
    "two_lengths": f"{POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "two_equal_lengths": f"{POST}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "two_lengths_in_one_field": f"{POST}Content-Length: 5, 6\r\n\r\nhello!",
    "length_and_coding": f"{POST}Content-Length: 5\r\n{CHUNKED}\r\n0\r\n\r\n",
    "two_codings": f"{POST}{CHUNKED}Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "unknown_coding": f"{POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "coding_with_old_version": f"{POST.replace('1.1', '1.0')}{CHUNKED}\r\n0\r\n\r\n",
    "coding_with_space_before_colon": f"{POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "negative_length": f"{POST}Content-Length: -1\r\n\r\n",
    "signed_length": f"{POST}Content-Length: +5\r\n\r\nhello",
    "hexadecimal_length": f"{POST}Content-Length: 0x5\r\n\r\nhello",
    "lone_line_feed": f"{GET}X: y\nEvil: z\r\n\r\n",
    "lone_carriage_return": f"{GET}X: y\rEvil: z\r\n\r\n",
    "folded_field": f"{GET}X: y\r\n z\r\n\r\n",
    "nul_in_field": f"{GET}X: y\0z\r\n\r\n",
    "control_in_field": f"{GET}X: y\x0bz\r\n\r\n",
    "field_without_colon": f"{GET}evil\r\n\r\n",
    "space_in_field_name": f"{GET}X Y: z\r\n\r\n",
    "two_hosts": f"{GET}Host: evil.test\r\n\r\n",
    "other_host": GET.replace("Host: api", "Host: evil") + "\r\n",
    "other_port_in_host": GET.replace(f"Host: api.test:{PORT}", "Host: api.test:1") + "\r\n",
    "no_host": f"GET http://api.test:{PORT}/ HTTP/1.1\r\n\r\n",
    "list_in_host": GET.replace("Host: api.test", "Host: evil.test, api.test") + "\r\n",
    "user_name": GET.replace("http://api", "http://evil.test@api") + "\r\n",
    "user_name_of_listed_host": GET.replace("//api.test", "//api.test@evil.test") + "\r\n",
    "backslash": GET.replace("//api.test:", "//evil.test\\@api.test:") + "\r\n",
    "backslash_as_slash": GET.replace("http://", "http:\\\\") + "\r\n",
    "fragment": GET.replace("//api", "//evil.test#@api") + "\r\n",
    "encoded_dot": GET.replace("//api.test", "//api%2etest") + "\r\n",
    "encoded_nul": GET.replace("//api.test", "//evil.test%00.api.test") + "\r\n",
    "nul_in_name": GET.replace("//api.test", "//evil.test\0.api.test") + "\r\n",
    "tab_in_target": GET.replace("//api.test", "//api.test\tevil.test") + "\r\n",
    "two_spaces_in_request_line": GET.replace("GET ", "GET  ", 1) + "\r\n",
    "no_authority": f"GET http:/// HTTP/1.1\r\nHost: api.test:{PORT}\r\n\r\n",
    "https_in_clear": GET.replace("http://", "https://") + "\r\n",
    "other_scheme": GET.replace("http://", "ftp://") + "\r\n",
    "path_only": f"GET / HTTP/1.1\r\nHost: api.test:{PORT}\r\n\r\n",
    "asterisk": f"OPTIONS * HTTP/1.1\r\nHost: api.test:{PORT}\r\n\r\n",
    "old_protocol": f"GET http://api.test:{PORT}/\r\n\r\n",
    "next_protocol": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "unicode_in_target": GET.replace("api.test", "\u0430pi.test", 1) + "\r\n",
    "port_zero": GET.replace(f"test:{PORT}/", "test:0/") + "\r\n",
    "port_too_high": GET.replace(f"test:{PORT}/", "test:65616/") + "\r\n",
    "signed_port": GET.replace(f"test:{PORT}/", f"test:+{PORT}/") + "\r\n",
    "connect_without_port": "CONNECT api.test HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "connect_with_body": f"CONNECT api.test:{PORT} HTTP/1.1\r\nHost: api.test\r\n"
    "Content-Length: 4\r\n\r\nevil",
    "connect_with_other_host": f"CONNECT api.test:{PORT} HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "connect_with_address": f"CONNECT http://api.test:{PORT}/ HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "connect_with_nul": f"CONNECT evil.test\0.api.test:{PORT} HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "zone": f"CONNECT [fe80::1%25eth0]:{PORT} HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "socks": "\x05\x01\x00\r\n\r\n",
}  # fmt: skip


def for_port(server, text: str) -> bytes:
    return text.replace(PORT, str(server.port)).encode()


@LISTENER
@pytest.mark.parametrize("case", SMUGGLED)
def test_ambiguous_request_is_refused(proxied, plain, case):
    double = proxied(listed(plain))
    answer = double.ask(for_port(plain, SMUGGLED[case]))
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert eventually(lambda: double.events)
    [(event, phase, facts)] = double.events
    assert (event, phase, facts["host"]) == ("connection", "refused", None)
    assert double.record.text == f"\nRefused by the network proxy: {facts['error']}"
    assert plain.accepted == 0
    assert double.lookups == []


def test_head_that_is_too_long_is_refused(proxied, plain):
    double = proxied(listed(plain))
    for size in (70_000, 700_000):
        answer = double.ask(for_port(plain, f"{GET}X: {'y' * size}\r\n\r\n"))
        assert b" 400 the request was refused: its head has more than 65536 bytes\r" in answer
    assert plain.accepted == 0


def test_second_request_behind_the_first_is_not_passed_on(proxied, plain):
    double = proxied(listed(plain))
    answer = double.ask(for_port(plain, f"{POST}Content-Length: 4\r\n\r\nbody{GET}\r\n"))
    assert answer.endswith(b"took 4")
    assert plain.requests == ["POST / HTTP/1.1"]


def test_fields_of_the_connection_are_not_passed_on(proxied, accepting):
    lines = "Proxy-Authorization: a\r\nConnection: X-Secret\r\nX-Secret: b\r\nUpgrade: h2c\r\n"
    with proxied(listed(accepting)).connect() as client:
        client.sendall(for_port(accepting, f"{GET}{lines}X-Kept: c\r\n\r\n"))
        with accepting.accept() as connection:
            head = connection.recv(65536)
    kept = f"GET / HTTP/1.1\r\nHost: api.test:{PORT}\r\nX-Kept: c\r\n\r\n"
    assert head == for_port(accepting, kept)


def test_answer_of_a_host_that_is_not_http_is_refused(proxied, accepting):
    with proxied(listed(accepting)).connect() as client:
        client.sendall(for_port(accepting, f"{GET}\r\n"))
        with accepting.accept() as connection:
            connection.sendall(b"SSH-2.0-OpenSSH\r\n\r\n")
            answer = received(client)
    assert answer.startswith(b"HTTP/1.1 502 network proxy: host 'api.test': ")


# -- names and addresses --

# Other spellings of hosts are in tests/unit/network.
NAMES = (
    *("evil.test", "api.test.evil.test", "evilwild.test", "wild.test", "localhost", "127.0.0.1"),
    *("127.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "xn--pi-7kc.test", "api.test.."),
)


@LISTENER
@pytest.mark.parametrize("name", NAMES)
def test_other_names_and_addresses_are_refused(proxied, secure, name):
    double = proxied(listed(secure), f"*.wild.test:{secure.port}")
    answer = double.ask(
        f"CONNECT {name}:{secure.port} HTTP/1.1\r\n\r\n".replace("1.1\r", "1.0\r").encode()
    )
    assert answer.split(b" ", 2)[1] in (b"400", b"403"), answer
    assert secure.accepted == 0
    assert double.lookups == []


@pytest.mark.parametrize("name", ["api.test", "API.TEST", "api.test.", "a.wild.test"])
def test_other_spellings_of_listed_names_are_those_names(proxied, secure, ca, name):
    double = proxied(listed(secure), AllowedHost(f"*.wild.test:{secure.port}", private=True))
    connection = double.tunnel(f"{name}:{secure.port}")
    context = ssl.create_default_context(cafile=ca)
    with context.wrap_socket(connection, server_hostname=name.rstrip(".")) as client:
        client.sendall(b"GET /x HTTP/1.1\r\nHost: api.test\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert double.lookups == [name.lower().rstrip(".")]


# Addresses of every kind are in tests/unit/network/test_host_policy.py.
@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::ffff:10.1.2.3"])
def test_listed_name_of_an_inner_address_is_refused(proxied, address):
    double = proxied("rebound.test", addresses={"rebound.test": address})
    answer = double.ask(b"CONNECT rebound.test:443 HTTP/1.0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 host 'rebound.test' has the address ")
    assert f"has the address {ipaddress.ip_address(address)} (" in double.record.text


def test_rebound_name_is_resolved_once_and_the_checked_address_is_dialled(proxied, secure):
    answers = iter(["127.0.0.1", "192.0.2.1"])
    double = proxied(listed(secure), addresses={"api.test": lambda: next(answers)})
    double.tunnel(secure).close()
    assert double.lookups == ["api.test"]


def test_inner_address_among_the_answers_is_not_dialled(proxied, accepting):
    double = proxied(
        f"mixed.test:{accepting.port}",
        limits=ProxyLimits(connect_seconds=0.2),
        addresses={"mixed.test": "127.0.0.1 192.0.2.1 2001:db8::1"},
    )
    answer = double.ask(f"CONNECT mixed.test:{accepting.port} HTTP/1.0\r\n\r\n".encode())
    assert b" 403 " in answer
    assert not select.select([accepting], [], [], 0)[0]


def test_name_without_an_address_is_an_error_of_the_host(proxied):
    double = proxied("gone.test", addresses={"gone.test": socket.gaierror(-2, "not known")})
    answer = double.ask(b"CONNECT gone.test:443 HTTP/1.0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 502 network proxy: host 'gone.test' has no address: ")


def test_closed_port_is_an_error_of_the_host(proxied):
    double = proxied(AllowedHost("api.test:1", private=True))
    answer = double.ask(b"CONNECT api.test:1 HTTP/1.0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 502 network proxy: host 'api.test', port 1: ")
    assert eventually(lambda: [event[1] for event in double.events] == ["begin", "end"])


# -- tunnels --

FIRST_BYTES = {
    "plain_http": b"GET / HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "connect_again": b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "ssh": b"SSH-2.0-OpenSSH_9\r\n",
    "nul": b"\0" * 64,
    "http2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "old_tls": bytes((0x80, 0x2E, 1, 0, 2)) + b"\0" * 44,
    "no_server_name": client_hello(None),
    "other_server_name": client_hello("evil.test"),
    "server_name_below": client_hello("x.api.test"),
    "application_data": b"\x17\x03\x03\0\x05hello",
    "alert_first": b"\x15\x03\x03\0\x02\x01\0" + client_hello("api.test"),
    "empty_record": b"\x16\x03\x01\0\0" + client_hello("api.test"),
    "record_too_long": b"\x16\x03\x01\xff\xff" + b"\0" * 100,
    "message_too_long": b"\x16\x03\x01\0\x04\x01\xff\xff\xff" * 8000,
    "server_hello": b"\x16\x03\x03\0\x04\x02\0\0\0",
    "name_in_the_padding": client_hello("api.test").replace(b"api.test", b"api.tes\0"),
    "two_names": client_hello("api.test").replace(
        b"\0\0\0\x0d\0\x0b\0\0\x08api.test", b"\0\0\0\x0d\0\x0b\x01\0\x08api.test"
    ),
}


@pytest.mark.parametrize("case", FIRST_BYTES)
def test_tunnel_is_for_tls_to_its_host_only(proxied, secure, case):
    double = proxied(listed(secure))
    with double.tunnel(secure) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(FIRST_BYTES[case])
        assert received(connection) == b""
    assert "\nRefused by the network proxy: connection to host 'api.test': " in double.record.text
    assert eventually(lambda: len(double.events) == 3)
    _, phases, facts = zip(*double.events, strict=True)
    assert phases == ("begin", "refused", "end")
    assert facts[1]["host"] == "api.test"
    assert facts[1]["error"] in double.record.text
    assert secure.requests == []


def test_tunnel_to_an_address_has_no_server_name(proxied, secure, ca):
    entry = AllowedHost(f"127.0.0.1:{secure.port}", private=True)
    double = proxied(entry)
    with double.tunnel(f"127.0.0.1:{secure.port}") as connection:
        connection.sendall(client_hello("api.test"))
        assert received(connection) == b""
    assert "asks for the server name 'api.test' at an address" in double.record.text
    connection = double.tunnel(f"127.0.0.1:{secure.port}")
    context = ssl.create_default_context(cafile=ca)
    with context.wrap_socket(connection, server_hostname="127.0.0.1") as client:
        client.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_plain_entry_passes_any_protocol(proxied, plain):
    double = proxied(listed(plain, plain=True))
    with double.tunnel(plain) as connection:
        connection.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert received(connection).endswith(b"got /x")


# -- resources of the host --


def test_more_connections_wait_in_the_sandbox(proxied, plain):
    double = proxied(listed(plain), limits=ProxyLimits(connections=2))
    request = for_port(plain, f"{GET}Connection: close\r\n\r\n")
    with double.connect() as first, double.connect() as second:
        # Served, though they say nothing; the third waits for one of them.
        with double.connect() as third:
            third.sendall(request)
            assert not select.select([third], [], [], 0.3)[0]
            first.close()
            assert received(third).endswith(b"got /")
        second.close()


def test_thousands_of_connections_cost_as_many_as_allowed(proxied, plain):
    double = proxied(listed(plain), limits=ProxyLimits(connections=8))
    before = len(os.listdir("/proc/self/fd"))
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(400):
            connection = socket.socket()
            stack.callback(connection.close)
            connection.setblocking(False)
            connection.connect_ex(("127.0.0.1", double.port))
            opened.append(connection)
        # Those of this process, which plays the sandbox, and of eight connections; a carried one
        # has a pair.
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            assert len(os.listdir("/proc/self/fd")) <= before + 400 + 2 * 8 + 2
            time.sleep(0.05)
    assert double.get(plain).endswith(b"got /")


@pytest.mark.parametrize(
    ("limit", "in_tunnel", "sent"),
    [
        ("head_seconds", False, b"GET http://api"),
        ("head_seconds", True, client_hello("api.test")[:50]),
        ("idle_seconds", False, b""),
        ("idle_seconds", True, b""),
    ],
    ids=["slow head", "slow hello", "silent connection", "silent tunnel"],
)
def test_slow_client_is_disconnected(proxied, plain, limit, in_tunnel, sent):
    double = proxied(listed(plain, plain=not sent), limits=ProxyLimits(**{limit: 0.3}))
    with double.tunnel(plain) if in_tunnel else double.connect() as connection:
        connection.sendall(sent)
        assert received(connection) == b""
    assert plain.requests == []


def test_host_that_does_not_answer_ends(proxied, accepting):
    assert proxied(listed(accepting), limits=ProxyLimits(idle_seconds=0.3)).get(accepting) == b""


@pytest.mark.parametrize("begun", ["request", "body", "tunnel"])
def test_client_that_gave_up_keeps_no_place(proxied, plain, accepting, begun):
    """The host accepts and says nothing."""
    entries = [AllowedHost(f"silent.test:{accepting.port}", private=True, plain=True)]
    limits = ProxyLimits(connections=1, end_seconds=0.2)
    double = proxied(*entries, listed(plain), limits=limits)
    if begun == "tunnel":
        double.tunnel(f"silent.test:{accepting.port}").close()
    else:
        head = f"{GET}\r\n" if begun == "request" else f"{POST}Content-Length: 100\r\n\r\nbegun"
        with double.connect() as connection:
            connection.sendall(for_port(accepting, head.replace("api.test", "silent.test")))
    assert double.get(plain).endswith(b"got /")


@pytest.fixture
def slow_address():
    """A lookup that has its answer at the end of the test."""
    release = threading.Event()
    yield lambda: release.wait(SECONDS) and "127.0.0.1"
    release.set()


def test_slow_lookup_ends(proxied, slow_address):
    double = proxied(
        "slow.test", limits=ProxyLimits(connect_seconds=0.2), addresses={"slow.test": slow_address}
    )
    answer = double.ask(b"CONNECT slow.test:443 HTTP/1.0\r\n\r\n")
    assert answer.startswith(
        b"HTTP/1.1 504 network proxy: the name of host 'slow.test' was not resolved in time"
    )


def test_slow_lookups_of_one_sandbox_leave_others_alone(proxied, plain, slow_address):
    slow = proxied("slow.test", addresses={"slow.test": slow_address})
    fast = proxied(listed(plain))
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(slow.connect())
            connection.sendall(b"CONNECT slow.test:443 HTTP/1.0\r\n\r\n")
        assert fast.get(plain).endswith(b"got /")
        assert len([t for t in threading.enumerate() if t.name == "network lookup"]) <= 4


def test_reader_that_never_reads_holds_a_bounded_amount(proxied, accepting):
    sent = 0
    double = proxied(listed(accepting, plain=True))
    with double.tunnel(accepting), accepting.accept() as connection:
        connection.settimeout(2)
        with contextlib.suppress(TimeoutError):
            while sent < 200_000_000:
                sent += connection.send(b"x" * 65536)
    # Buffers of the kernel, at both ends, and those of the proxy.
    assert sent < 50_000_000


@pytest.mark.parametrize("way", ["tunnel", "request"])
def test_slow_reader_gets_the_whole_answer(proxied, plain, way):
    double = proxied(listed(plain, plain=True))
    request = f"GET {{}}/huge HTTP/1.1\r\nHost: api.test:{plain.port}\r\nConnection: close\r\n\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(SECONDS)
        connection.connect(("127.0.0.1", double.port))
        if way == "tunnel":
            connection.sendall(f"CONNECT api.test:{plain.port} HTTP/1.0\r\n\r\n".encode())
            assert connection.recv(39) == b"HTTP/1.1 200 Connection established\r\n\r\n"
        prefix = "" if way == "tunnel" else f"http://api.test:{plain.port}"
        connection.sendall(request.format(prefix).encode())
        size = 0
        while part := connection.recv(65536):
            size += len(part)
            # The proxy has long had the end when the last bytes are read.
            if size > HUGE - 200_000:
                time.sleep(0.01)
    assert size > HUGE


def test_call_moves_no_more_bytes_than_it_may(proxied, plain):
    double = proxied(listed(plain), limits=ProxyLimits(call_bytes=1_000_000))
    large = GET.replace(f"{PORT}/ ", f"{PORT}/large ")
    assert len(double.ask(for_port(plain, f"{large}\r\n"))) < 1_100_000
    limit = "this call has moved more than max_network_bytes=1000000 of this DockerExecutor"
    assert double.record.text == f"\nRefused by the network proxy: {limit}"
    double.record.begin_call()
    assert double.get(plain).endswith(b"got /")
    assert double.record.text == ""
    answer = double.ask(for_port(plain, f"{POST}Content-Length: 2000000\r\n\r\n{'x' * 2_000_000}"))
    assert answer.startswith(f"HTTP/1.1 403 {limit}\r\n".encode())


def test_refusal_quotes_a_part_of_a_long_request(proxied, plain):
    """Its text goes into the logs of the call, and into the record."""
    double = proxied(listed(plain))
    answer = double.ask(f"GET http://{'@' * 60_000}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 400 the request was refused: '@@@")
    assert len(double.record.text) < 1100
    ((_, phase, facts),) = double.events
    assert (phase, len(facts["error"])) == ("refused", 1003)


def test_hundred_streams_at_once_work(proxied, plain):
    double = proxied(listed(plain))
    answers = at_once(*[lambda: double.get(plain)] * 100)
    assert all(answer.endswith(b"got /") for answer in answers)


# -- lifetime --


def test_close_cuts_connections_and_the_listener(proxied, plain):
    double = proxied(listed(plain, plain=True))
    with double.tunnel(plain) as connection:
        double.proxy.close()
        assert received(connection) == b""
    # Its thread closes the listener after the connections, or before.
    deadline = time.monotonic() + SECONDS
    with contextlib.suppress(ConnectionError):
        while time.monotonic() < deadline:
            double.connect().close()
            time.sleep(0.05)
    with pytest.raises(ConnectionRefusedError):
        double.connect()


def test_new_listener_cuts_the_connections_of_the_former(proxied, plain):
    double = proxied(listed(plain, plain=True))
    with double.tunnel(plain) as connection:
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        double.proxy.serve(listener)
        assert received(connection) == b""
    double.port = port
    double.tunnel(plain).close()


# Python 3.12 and later warn of what this test is about.
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_forked_copy_has_neither_listener_nor_connections(proxied, plain):
    double = proxied(listed(plain, plain=True))
    with double.tunnel(plain) as connection:
        ours, theirs = os.pipe()
        pid = os.fork()
        if pid == 0:
            double.proxy.close()
            os.read(ours, 1)
            os._exit(0)
        try:
            # The copy has closed nothing of this process's, and keeps nothing of it open.
            connection.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"got /x" in received_with(connection, b"got /x")
            double.proxy.close()
            assert received(connection) == b""
        finally:
            os.write(theirs, b"x")
            os.close(theirs)
            os.close(ours)
            os.waitpid(pid, 0)
