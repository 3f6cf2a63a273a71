"""Ordinary clients through the proxy, unchanged: they take its address from the environment."""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

import aiohttp
import httpx
import pytest
import requests
from git_source import clone, serve_repository
from proxy_double import LISTENER, listed, received_with
from web_servers import LARGE, serving

from smolagents_fork.system.proxy_environment import proxy_environment

NOT_LISTED = "host 'evil.test' is not in allowed_hosts=['api.test:{}'] of this DockerExecutor"


@pytest.fixture
def use_proxy(proxied, monkeypatch, ca):
    """Make a proxy for a server, and set the environment of clients."""

    def make(server):
        double = proxied(listed(server))
        for name, value in proxy_environment(double.port).items():
            monkeypatch.setenv(name, value)
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"):
            monkeypatch.setenv(name, ca)
        return double

    return make


def with_requests(address):
    return requests.get(address, timeout=30).text


def with_urllib(address):
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    with urllib.request.urlopen(address, timeout=30, context=context) as answer:
        return answer.read().decode()


def with_httpx(address):
    return httpx.get(address, timeout=30).text


def with_httpx_async(address):
    async def get():
        async with httpx.AsyncClient(timeout=30) as client:
            return (await client.get(address)).text

    return asyncio.run(get())


def with_aiohttp(address):
    async def get():
        context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
        connector = aiohttp.TCPConnector(ssl=context)
        async with (
            aiohttp.ClientSession(trust_env=True, connector=connector) as session,
            session.get(address) as answer,
        ):
            return await answer.text()

    return asyncio.run(get())


def with_curl(address):
    command = ["curl", "-sSf", "--max-time", "30", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


CLIENTS = {
    function.__name__.removeprefix("with_"): function
    for function in (
        with_requests, with_urllib, with_httpx, with_httpx_async, with_aiohttp, with_curl,
    )
}  # fmt: skip


@pytest.fixture(params=CLIENTS)
def get(request):
    if request.param == "curl" and shutil.which("curl") is None:
        pytest.skip("there is no curl")
    return CLIENTS[request.param]


def test_listed_host_is_reached_over_https(use_proxy, secure, get):
    double = use_proxy(secure)
    assert get(f"https://api.test:{secure.port}/a") == "got /a"
    assert secure.requests == ["GET /a HTTP/1.1"]
    assert double.lookups == ["api.test"]
    assert double.record.text == ""


@LISTENER
def test_listed_host_is_reached_over_http(use_proxy, plain, get):
    double = use_proxy(plain)
    assert get(f"http://api.test:{plain.port}/b?c=d") == "got /b?c=d"
    assert plain.requests == ["GET /b?c=d HTTP/1.1"]
    assert double.record.text == ""


@LISTENER
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_unlisted_host_is_refused_and_recorded(use_proxy, secure, get, scheme):
    double = use_proxy(secure)
    told = ""
    try:
        told = get(f"{scheme}://evil.test:{secure.port}/")
    except Exception as error:
        told = str(error)
    expected = NOT_LISTED.format(secure.port)
    assert double.record.text == f"\nRefused by the network proxy: {expected}"
    assert double.lookups == []
    assert secure.accepted == 0
    if get is not with_curl and (scheme == "https" or get in (with_requests, with_httpx)):
        assert expected in told


def test_aiohttp_asks_the_proxy_for_websockets(use_proxy, secure):
    use_proxy(secure)

    async def open_socket():
        context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
        async with aiohttp.ClientSession(trust_env=True) as session:
            await session.ws_connect(f"wss://api.test:{secure.port}/a", ssl=context)

    with pytest.raises(aiohttp.WSServerHandshakeError):  # the server has none
        asyncio.run(open_socket())
    assert secure.requests == ["GET /a HTTP/1.1"]


def test_urllib_shows_the_reason_of_a_refusal(use_proxy, plain):
    use_proxy(plain)
    # urlopen() keeps the proxies that it found when it was first called.
    opener = urllib.request.build_opener()
    with pytest.raises(urllib.error.HTTPError) as caught:
        opener.open("http://evil.test/", timeout=30)
    with caught.value as error:
        assert error.reason == NOT_LISTED.format(plain.port)


def test_redirect_is_a_new_request(use_proxy, plain):
    double = use_proxy(plain)
    address = f"http://api.test:{plain.port}/redirect?http://evil.test/x"
    assert "is not in allowed_hosts" in with_requests(address)
    assert "host 'evil.test'" in double.record.text


def test_large_answers_and_uploads_pass_whole(use_proxy, secure, plain):
    for scheme, server in (("https", secure), ("http", plain)):
        double = use_proxy(server)
        address = f"{scheme}://api.test:{server.port}"
        assert len(requests.get(f"{address}/large", timeout=60).content) == LARGE
        assert requests.post(address, data=b"y" * LARGE, timeout=60).text == f"took {LARGE}"
        assert double.record.text == ""
    parts = (b"z" * 1000 for _ in range(50))
    assert requests.post(address, data=parts, timeout=60).text == "took 50000"
    assert double.record.text == ""


def test_kept_connection_serves_one_request_after_the_other(use_proxy, plain):
    use_proxy(plain)
    address = f"http://api.test:{plain.port}"
    with requests.Session() as session:
        for path in ("/1", "/chunked", "/2", "/large", "/3"):
            assert session.get(address + path, timeout=60).ok
        assert session.post(address, data=b"four", timeout=60).text == "took 4"
        assert session.head(address, timeout=60).status_code == 501
        assert session.get(f"{address}/until-close", timeout=60).text == "all of it"
        assert session.get(f"{address}/5", timeout=60).text == "got /5"
    # After the error and the end of the answer that had no length.
    assert plain.accepted <= 3


def test_kept_connection_may_change_its_host(use_proxy, plain):
    use_proxy(plain)
    with serving() as other:
        double = use_proxy(plain)
        head = "GET http://api.test:{0}/{1} HTTP/1.1\r\nHost: api.test:{0}\r\n{2}\r\n"
        last = "Connection: close\r\n"
        with double.connect() as connection:
            connection.sendall(head.format(plain.port, 1, "").encode())
            assert b"got /1" in received_with(connection, b"got /1")
            connection.sendall(head.format(other.port, 2, last).encode())
            assert b" 403 port" in received_with(connection, b" 403 port")
        assert other.accepted == 0


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_git_clones_over_https(use_proxy, trusted, tmp_path):
    with serving(trusted[0], serve_repository(tmp_path / "source")) as server:
        double = use_proxy(server)
        address = f"https://api.test:{server.port}/.git"
        assert clone(address, tmp_path / "copy") == "content"
    assert double.record.text == ""


def test_pip_asks_a_listed_index(use_proxy, secure):
    double = use_proxy(secure)
    command = [sys.executable, "-m", "pip", "--isolated", "download", "--no-deps", "-d", os.devnull]
    command += ["--disable-pip-version-check", "--retries", "0"]
    command += ["--cert", os.environ["SSL_CERT_FILE"]]
    command += ["--index-url", f"https://api.test:{secure.port}/simple", "no-such-package"]
    done = subprocess.run(
        [*command, "--proxy", double.address], capture_output=True, text=True, timeout=120
    )
    assert done.returncode
    assert secure.requests == ["GET /simple/no-such-package/ HTTP/1.1"]


def test_environment_names_the_proxy_for_every_client():
    address, direct = "http://127.0.0.1:3128", "localhost,127.0.0.1,::1"
    upper = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "WSS_PROXY", "ALL_PROXY"), address)
    upper["NO_PROXY"] = direct
    lower = {name.lower(): value for name, value in upper.items()}
    assert proxy_environment(3128) == {**upper, **lower}
    for hosts, direct in (
        (["example.org"], "localhost,127.0.0.1,::1"),
        (["localhost", "::1"], "127.0.0.1"),
        (["api.localhost"], "127.0.0.1,::1"),
        (["localhost", "127.0.0.1", "::1"], ""),
    ):
        variables = proxy_environment(3128, hosts)
        assert variables["NO_PROXY"] == variables["no_proxy"] == direct
