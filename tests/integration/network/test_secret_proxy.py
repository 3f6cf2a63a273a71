"""Secrets through the proxy: ordinary clients, and hostile programs that use its port."""

from __future__ import annotations

import base64
import contextlib
import shutil
import ssl
import threading
import zlib

import pytest
import requests
from background import PATIENCE_SECONDS
from git_source import clone, serve_repository
from proxy_double import LISTENER, listed, received
from secret_servers import OTHER, TOKEN, SecretHandler
from web_servers import LARGE, serving

from smolagents_fork import Secret
from smolagents_fork.network.hosts.host_policy import AllowedHost
from smolagents_fork.network.proxied_connection import ProxyLimits
from smolagents_fork.network.secrets.authority import Authority
from smolagents_fork.network.secrets.replacement import GzipBody, PlainBody
from smolagents_fork.system.proxy_environment import proxy_environment

TRUSTED = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO")


class Sandbox:
    """What a sandbox with two secrets has."""

    def __init__(self, double, server, bundle):
        self.double, self.server = double, server
        self.address = f"https://api.test:{server.port}"
        self.token = double.secrets.table.variables["TOKEN"]
        self.other_token = double.secrets.table.variables["OTHER"]
        self.rest = self.other_token[10:]
        self.escaped = "".join(f"%{ord(character):02x}" for character in self.other_token)
        self.credentials = base64.b64encode(f"me:{self.other_token}".encode()).decode()
        self.bundle = bundle

    def get(self, path, **options):
        headers = {"Authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        return requests.get(self.address + path, headers=headers, timeout=30, **options)

    def connect(self, *, host="api.test", port=None, alpn=("http/1.1",), name=None):
        """Return a connection within TLS to the secret's host."""
        connection = self.double.tunnel(f"{host}:{port or self.server.port}")
        context = ssl.create_default_context(cafile=self.bundle)
        if alpn:
            context.set_alpn_protocols(alpn)
        return context.wrap_socket(connection, server_hostname=name or host)

    def ask(self, request: str, **options) -> bytes:
        """Send a request within TLS and return all that comes back."""
        with self.connect(**options) as connection:
            connection.sendall(request.format(self=self).encode())
            return received(connection)


@pytest.fixture
def sandbox(proxied, trusted, monkeypatch, tmp_path):
    """A proxy with two secrets, each for a server of its own."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", trusted[1])  # what the host trusts
    with serving(trusted[0], SecretHandler) as server, serving(trusted[0], SecretHandler) as other:
        server.seen, other.seen = [], []
        hosts = [f"api.test:{server.port}", f"a.wild.test:{other.port}"]
        double = proxied(
            *(AllowedHost(host, private=True) for host in hosts),
            secrets={"TOKEN": Secret(TOKEN, hosts[:1]), "OTHER": Secret(OTHER, hosts[1:])},
            limits=ProxyLimits(call_bytes=1 << 30),
        )
        bundle = tmp_path / "bundle.pem"
        bundle.write_text(double.secrets.certificate)
        for name, value in proxy_environment(double.port).items():
            monkeypatch.setenv(name, value)
        for name in TRUSTED:
            monkeypatch.setenv(name, str(bundle))
        yield Sandbox(double, server, str(bundle))


# -- ordinary clients --


def test_requests_sends_the_value(sandbox):
    with requests.Session() as session:
        session.headers["Authorization"] = f"token {sandbox.token}"
        for _ in range(3):  # on one connection
            assert session.get(f"{sandbox.address}/user", timeout=30).json()["issues"] == 3
    assert sandbox.server.accepted == 1


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_git_clones_with_the_value_as_a_password(sandbox, tmp_path):
    expected = f"Basic {base64.b64encode(f'me:{TOKEN}'.encode()).decode()}"

    class Files(serve_repository(tmp_path / "source")):
        def do_GET(self):
            if self.headers.get("Authorization") == expected:
                super().do_GET()
                return
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()

    sandbox.server.RequestHandlerClass = Files
    address = f"https://me:{sandbox.token}@api.test:{sandbox.server.port}/.git"
    assert clone(address, tmp_path / "copy") == "content"


def test_body_is_sent_and_a_connection_is_kept(sandbox):
    with requests.Session() as session:
        for data in (b"x" * LARGE, iter([b"a" * 1000] * 50)):
            answer = session.post(f"{sandbox.address}/echo", data=data, timeout=60)
            assert answer.status_code == 200
    assert [len(seen[3]) for seen in sandbox.server.seen] == [LARGE, 50_000]


def test_host_that_closes_a_kept_connection_is_connected_again(sandbox, monkeypatch):
    closed = threading.Event()
    close = sandbox.server.shutdown_request

    def close_and_tell(connection):
        close(connection)
        closed.set()

    monkeypatch.setattr(sandbox.server, "shutdown_request", close_and_tell)
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {sandbox.token}"
        assert session.get(f"{sandbox.address}/closes", timeout=30).ok
        assert closed.wait(PATIENCE_SECONDS)
        assert session.get(f"{sandbox.address}/user", timeout=30).ok
    assert sandbox.server.accepted == 2


def test_hosts_without_secrets_stay_encrypted_to_the_end(sandbox, proxied, trusted, secure):
    double = proxied(listed(secure), secrets={"OTHER": Secret(OTHER, ["a.wild.test"])})
    proxies = {"https": double.address}
    address = f"https://api.test:{secure.port}/a"
    assert requests.get(address, proxies=proxies, verify=trusted[1], timeout=30).text == "got /a"
    with pytest.raises(requests.exceptions.SSLError):  # not by the proxy's authority
        requests.get(address, proxies=proxies, verify=sandbox.bundle, timeout=30)


def test_use_is_reported_before_the_request(sandbox):
    assert sandbox.get("/user").ok
    fact = {"name": "TOKEN", "host": "api.test", "port": sandbox.server.port}
    assert ("secret", "begin", fact) in sandbox.double.events
    assert TOKEN not in repr(sandbox.double.events)


def test_use_that_cannot_be_recorded_is_refused(sandbox):
    def full(event, *_):
        if event == "secret":
            raise OSError("the disk is full")

    sandbox.double.report = full
    answer = sandbox.get("/user")
    assert answer.status_code == 403
    assert answer.reason == "the secret could not be recorded"  # not why: the code reads it
    assert sandbox.server.seen == []


# -- what comes back --

FORMS = ["echo", "fields", "gzip", "gzip-members", "chunks"]


@pytest.mark.parametrize("form", FORMS)
def test_value_that_comes_back_is_the_placeholder(sandbox, form):
    answer = sandbox.get(f"/{form}")
    shown = f"{answer.reason} {dict(answer.headers)} {answer.text}"
    assert sandbox.server.seen[-1][2]["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in shown
    assert answer.json()["fields"]["authorization"] == f"Bearer {sandbox.token}"


def test_trailer_has_the_placeholder(sandbox):
    request = "GET /chunks HTTP/1.1\r\nHost: api.test:{self.server.port}\r\nConnection: close\r\n"
    answer = sandbox.ask(f"{request}TE: trailers\r\n\r\n")
    assert TOKEN.encode() not in answer
    assert (
        f"x-token: {sandbox.token}".encode() in answer.lower() or sandbox.token.encode() in answer
    )


def test_credentials_that_come_back_are_those_that_were_sent(sandbox):
    answer = requests.get(f"{sandbox.address}/base64", auth=("me", sandbox.token), timeout=30)
    sent = f"me:{sandbox.token}"
    assert answer.text == f"{base64.b64encode(sent.encode()).decode()} {sent}"
    credentials = sandbox.server.seen[-1][2]["authorization"].removeprefix("Basic ")
    assert base64.b64decode(credentials).decode() == f"me:{TOKEN}"


@pytest.mark.parametrize("path", ["/echo", "/gzip"])
def test_head_has_no_body(sandbox, path):
    headers = {"Authorization": f"Bearer {sandbox.token}"}
    answer = requests.head(sandbox.address + path, headers=headers, timeout=30)
    assert (answer.status_code, answer.content) == (200, b"")


def test_parts_and_other_codings_are_not_asked_for(sandbox):
    headers = {"Range": "bytes=0-3", "If-Range": "x", "Accept-Encoding": "br, zstd"}
    sandbox.get("/echo", headers=headers)
    seen = sandbox.server.seen[-1][2]
    assert not {"range", "if-range"}.intersection(seen)
    assert seen["accept-encoding"] == "identity"
    sandbox.get("/echo", headers={"Accept-Encoding": "br, gzip;q=0.5"})
    assert sandbox.server.seen[-1][2]["accept-encoding"] == "gzip"


def test_other_coding_is_refused(sandbox):
    answer = sandbox.get("/other-coding")
    assert answer.status_code == 502
    assert "Content-Encoding 'br', in which values of secrets cannot be found" in answer.reason


@pytest.mark.parametrize("form", ["gzip-cut", "gzip-not"])
def test_broken_compression_ends_the_connection(sandbox, form):
    with pytest.raises(requests.exceptions.RequestException):
        sandbox.get(f"/{form}").content  # noqa: B018


def test_decompressed_bytes_count(sandbox):
    sandbox.double.record.count(1_040_000_000)
    with pytest.raises(requests.exceptions.RequestException):
        sandbox.get("/bomb").content  # noqa: B018
    assert "more than max_network_bytes" in sandbox.double.record.text


def test_body_past_the_limit_is_answered_and_fails_nothing(sandbox, caplog):
    request = f"{POST}Content-Length: 4000000\r\n\r\n".format(self=sandbox).encode()
    with sandbox.connect() as connection:
        sandbox.double.record.count((1 << 30) - 1_000_000)
        with contextlib.suppress(OSError):
            connection.sendall(request + bytes(4_000_000))
        assert received(connection).startswith(b"HTTP/1.1 403 ")
    sandbox.double.close()
    assert caplog.messages == []


# -- hostile programs --

HEAD = "{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"


def head(method="GET", target="/echo", host="api.test:{self.server.port}"):
    return HEAD.format(method=method, target=target, host=host)


POST = head("POST")
CHUNKED = f"{POST}Transfer-Encoding: chunked\r\n\r\n"
# Placeholder of another host's secret, by where it is.
MISPLACED = {
    "field": f"{head()}X: {{self.other_token}}\r\n\r\n",
    "authorization": f"{head()}Authorization: Bearer {{self.other_token}}\r\n\r\n",
    "credentials": f"{head()}Authorization: Basic {{self.credentials}}\r\n\r\n",
    "name_of_a_field": f"{head()}X{{self.other_token}}: y\r\n\r\n",
    "cookie": f"{head()}Cookie: a=b; c={{self.other_token}}\r\n\r\n",
    "path": f"{head(target='/{self.other_token}')}\r\n",
    "escaped_path": f"{head(target='/{self.escaped}')}\r\n",
    "query": f"{head(target='/a?b={self.other_token}')}\r\n",
    "body": f"{POST}Content-Length: 30\r\n\r\n{{self.other_token}}",
    "chunked_body": f"{CHUNKED}1e\r\n{{self.other_token}}\r\n0\r\n\r\n",
    "split_body": f"{CHUNKED}a\r\n{{self.other_token:.10}}\r\n14\r\n{{self.rest}}\r\n0\r\n\r\n",
    "trailer": f"{CHUNKED}0\r\nX: {{self.other_token}}\r\n\r\n",
}


@LISTENER
@pytest.mark.parametrize("place", MISPLACED)
def test_placeholder_for_another_host_is_refused(sandbox, place):
    answer = sandbox.ask(MISPLACED[place])
    message = "a request to host 'api.test' has the placeholder of secret 'OTHER', which is"
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert message.encode() in answer
    assert message in sandbox.double.record.text
    refused = [event for event in sandbox.double.events if event[:2] == ("secret", "refused")]
    [(_, _, facts)] = refused
    assert (facts["name"], facts["host"]) == ("OTHER", "api.test")
    for _, _, fields, body in sandbox.server.seen:
        assert OTHER not in f"{fields} {body}"


@pytest.mark.parametrize("place", ["path", "body", "query"])
def test_value_is_put_into_fields_only(sandbox, place):
    request = MISPLACED[place].replace("other_token", "token")
    sandbox.ask(request)
    assert TOKEN not in repr(sandbox.server.seen)
    assert sandbox.token in repr(sandbox.server.seen) or place == "body"


@pytest.mark.parametrize("name", ["token", "other_token"])
def test_placeholder_in_plain_http_is_refused(sandbox, proxied, plain, name):
    tls = f"api.test:{sandbox.server.port}"
    double = proxied(
        listed(plain), secrets={"TOKEN": Secret(TOKEN, ["api.test"]), "OTHER": Secret(OTHER, [tls])}
    )
    value = double.secrets.table.variables[name.replace("_token", "").upper()]
    proxies = {"http": double.address}
    address = f"http://api.test:{plain.port}/"
    answer = requests.get(address, headers={"X": value}, proxies=proxies, timeout=30)
    assert answer.status_code == 403
    assert "which is sent over https:// only, to hosts=" in answer.reason
    answer = requests.post(address, data=f"a{value}", proxies=proxies, timeout=30)
    assert answer.status_code == 403
    assert requests.get(address, proxies=proxies, timeout=30).ok


# Of the fields, test_proxy_attacks has more: heads within TLS are read by the same parser.
REFUSED = {
    "other_host": head(host="evil.test"),
    "other_port": head(host="api.test:1"),
    "other_secrets_host": head(host="a.wild.test"),
    "two_hosts": head() + "Host: api.test\r\n",
    "no_host": "GET / HTTP/1.1\r\n",
    "whole_address": head(target="https://api.test/"),
    "whole_address_of_another": head(target="http://evil.test/"),
    "tunnel_in_the_tunnel": head("CONNECT", "evil.test:443"),
    "asterisk": head("OPTIONS", "*"),
    "http_2_preface": "PRI * HTTP/2.0\r\n",
    "fragment": head(target="/a#b"),
    "backslash": head(target="/a\\b"),
}


@LISTENER
@pytest.mark.parametrize("attack", REFUSED)
def test_request_that_could_mean_another_is_refused(sandbox, attack):
    answer = sandbox.ask(REFUSED[attack] + "Authorization: Bearer {self.token}\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert sandbox.server.seen == []


def test_second_request_in_the_body_of_the_first_is_its_body(sandbox):
    inner = f"GET /smuggled HTTP/1.1\r\nHost: api.test\r\nX: {sandbox.token}\r\n\r\n"
    sandbox.ask(f"{POST}Content-Length: {len(inner)}\r\n\r\n{inner}")
    assert [seen[1] for seen in sandbox.server.seen] == ["/echo"]
    assert TOKEN not in repr(sandbox.server.seen)


@pytest.mark.parametrize("alpn", [("h2",), ("h2", "http/1.1"), ()])
def test_only_http_1_is_negotiated(sandbox, alpn):
    with sandbox.connect(alpn=alpn) as connection:
        assert connection.selected_alpn_protocol() == ("http/1.1" if "http/1.1" in alpn else None)


def test_server_name_of_another_host_is_refused(sandbox):
    with pytest.raises((ssl.SSLError, ConnectionError)):
        sandbox.connect(name="evil.test")
    assert "asks for the server name 'evil.test'" in sandbox.double.record.text


def test_plain_bytes_in_the_tunnel_are_refused(sandbox):
    target = f"api.test:{sandbox.server.port}"
    answer = sandbox.double.ask(
        f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
        f"GET / HTTP/1.1\r\nHost: {target}\r\nX: {sandbox.token}\r\n\r\n".encode()
    )
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n"
    assert sandbox.server.seen == []


@pytest.fixture
def answer_of(proxied):
    """Ask a new proxy, which has a secret for a server, for a tunnel to it."""

    def answer(name, server):
        host = f"{name}:{server.port}"
        entry = AllowedHost(host, private=True, plain=server.tls is None)
        double = proxied(entry, secrets={"TOKEN": Secret(TOKEN, [host])})
        return double.ask(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())

    return answer


def test_certificate_that_the_host_does_not_trust_is_refused(answer_of, secure, monkeypatch):
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    answer = answer_of("api.test", secure)
    assert answer.startswith(
        b"HTTP/1.1 502 network proxy: host 'api.test': its certificate is not valid here: "
    )
    assert secure.requests == []


def test_certificate_of_another_name_is_refused(answer_of, secure, trusted, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", trusted[1])
    answer = answer_of("other.test", secure)
    assert b" its certificate is not valid here: Hostname mismatch" in answer


def test_host_without_tls_is_refused(answer_of, plain):
    assert answer_of("api.test", plain).startswith(
        b"HTTP/1.1 502 network proxy: host 'api.test': no TLS: "
    )


def is_trusted(authority, host, tmp_path) -> bool:
    """Tell whether a client of the sandbox takes a certificate for a host."""
    bundle = tmp_path / "authority.pem"
    bundle.write_text(authority.certificate)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = authority.server_context(host).wrap_bio(to_server, to_client, server_side=True)
    context = ssl.create_default_context(cafile=str(bundle))
    client = context.wrap_bio(to_client, to_server, server_hostname=host)
    for side in (client, server):
        with pytest.raises(ssl.SSLWantReadError):
            side.do_handshake()
    try:
        client.do_handshake()
    except ssl.SSLCertVerificationError as error:
        return "subtree" not in str(error)  # any other error is a fault of this test
    return True


@pytest.mark.parametrize(
    ("hosts", "trusted", "others"),
    [
        (["api.test"], ["api.test"], ["evil.test", "test", "10.0.0.1", "2001:db8::1"]),
        (["*.api.test"], ["a.api.test"], ["evil.test"]),
        (["10.0.0.1"], ["10.0.0.1"], ["10.0.0.2", "api.test", "2001:db8::1"]),
        (["2001:db8::1", "api.test"], ["2001:db8::1", "api.test"], ["10.0.0.1", "evil.test"]),
    ],
)
def test_authority_is_valid_for_the_secrets_hosts_only(hosts, trusted, others, tmp_path):
    authority = Authority([AllowedHost(host, private=True) for host in hosts])
    assert all(is_trusted(authority, host, tmp_path) for host in trusted)
    assert not any(is_trusted(authority, host, tmp_path) for host in others)


def test_malformed_answer_does_not_quote_the_value(sandbox):
    class Malformed(SecretHandler):
        def do_GET(self):
            self.wfile.write(f"HTTP/1.1 200 OK\r\n{TOKEN}\r\n\r\n".encode())

    sandbox.server.RequestHandlerClass = Malformed
    answer = sandbox.get("/")
    assert answer.status_code == 502
    assert TOKEN not in f"{answer.reason} {answer.text}"


def test_many_sizes_of_parts_hide_the_value(sandbox):
    text = f"{TOKEN[:-1]}{TOKEN}{TOKEN}{TOKEN[:7]}".encode()
    pairs = [(TOKEN.encode(), sandbox.token.encode())]
    expected = text.replace(*pairs[0])
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress(text) + packer.flush()
    for size in range(1, len(text)):
        body = PlainBody(pairs)
        parts = [p for n in range(0, len(text), size) for p in body.add(text[n : n + size])]
        assert b"".join(parts) + body.end() == expected
        body = GzipBody(PlainBody(pairs), lambda _: None)
        parts = [p for n in range(0, len(packed), size) for p in body.add(packed[n : n + size])]
        assert b"".join(parts) + body.end() == expected
