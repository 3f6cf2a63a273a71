"""Listed hosts in a container: what reaches them, and what reaches anything else."""

from __future__ import annotations

import socket

import private_index
import pytest
from private_index import write_wheel
from web_servers import LARGE

from smolagents_fork import AllowedHost, DockerExecutor, DockerPool
from smolagents_fork.errors import ConfigurationError, ExecutorError

PRELUDE = "import os, socket, ssl, subprocess, sys, urllib.request"
GET = (
    "context = ssl.create_default_context(cafile='authority.pem')\n"
    "urllib.request.urlopen({!r}, timeout=60, context=context).read().decode()"
)


@pytest.fixture(scope="module", params=["auto", "exec"])
def listing(request, engine, secure, trusted):
    """An executor whose listener is sent here, and one whose connections a multiplexer carries."""
    entry = AllowedHost(f"localhost:{secure.port}", private=True)
    files = {"authority.pem": trusted[1]}
    with DockerExecutor([], allowed_hosts=[entry], files=files, transport=request.param) as made:
        made(PRELUDE)
        yield made


def test_container_has_no_network_beside_the_proxy(listing):
    listing.container.reload()
    assert list(listing.container.attrs["NetworkSettings"]["Networks"]) == ["none"]
    assert listing("sorted(os.listdir('/sys/class/net'))").output == ["lo"]


def test_listed_host_is_reached(listing, secure):
    assert listing(GET.format(f"https://localhost:{secure.port}/a")).output == "got /a"
    large = listing(f"len({GET.format(f'https://localhost:{secure.port}/large').splitlines()[1]})")
    assert large.output == LARGE


OUT = {
    "address of the host": "socket.create_connection(('127.0.0.1', port), 5)",
    "address of the host, IPv6": "socket.create_connection(('::1', port), 5)",
    "gateway of a bridge": "socket.create_connection(('172.17.0.1', port), 5)",
    "public address": "socket.create_connection(('1.1.1.1', 443), 5)",
    "metadata": "socket.create_connection(('169.254.169.254', 80), 5)",
    "name": "socket.getaddrinfo('localhost.evil.test', port)",
    "datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53))",
    "raw": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 6)",
    "packet": "socket.socket(17, socket.SOCK_RAW, 3)",
    "proxy's port": "socket.socket().bind(('127.0.0.1', 3128))",
    "socket of the host": "socket.socket(socket.AF_UNIX).connect('/run/smolagents-fork.sock')",
    "new interface": "subprocess.run(['ip', 'link', 'add', 'x', 'type', 'dummy'], check=True)",
}


@pytest.mark.parametrize("attack", OUT)
def test_nothing_but_the_proxy_is_reached(listing, attack: str):
    with socket.create_server(("0.0.0.0", 0)) as server:
        listing.send_variables({"port": server.getsockname()[1]})
        with pytest.raises(Exception, match=r"[Ee]rror"):
            listing(OUT[attack])
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": "bridge"}, "allowed_hosts= with network='bridge'"),
        ({"container_run_kwargs": {"network": "bridge"}}, "allowed_hosts= with network='bridge'"),
        ({"container_run_kwargs": {"network_mode": "bridge"}}, "with network='bridge'"),
        (
            {"container_run_kwargs": {"environment": ["https_proxy=http://proxy.test"]}},
            r"^container_run_kwargs\['environment'\]\['https_proxy'\]: a sandbox with allowed_h",
        ),
    ],
)
def test_list_that_cannot_be_carried_is_refused(engine, options, message: str):
    with pytest.raises(ConfigurationError, match=message):
        DockerExecutor([], allowed_hosts=["example.org"], **options)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index of this machine with one package, which pip's settings name."""
    write_wheel(tmp_path, "tinything", origin="listed")
    with private_index.serving(tmp_path) as port:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://localhost:{port}/simple")
        yield


def test_packages_are_installed_from_a_listed_index(engine, index):
    with DockerExecutor([], allowed_hosts="packages") as made:
        made("kept = 1")
        assert made.install_packages(["tinything"]) == ["tinything"]
        assert made("import tinything\ntinything.ORIGIN, kept").output == ("listed", 1)


def test_index_that_is_not_listed_is_named(engine, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.test/simple")
    with DockerExecutor([], allowed_hosts=["example.org"]) as made:
        made("kept = 1")
        told = r"host 'index.test' is not in allowed_hosts=\['example.org'\]"
        with pytest.raises(ExecutorError, match=told):
            made.install_packages(["tinything"])


def test_pool_has_no_list(engine):
    with pytest.raises(ConfigurationError, match="has no parameter 'allowed_hosts'"):
        DockerPool(allowed_hosts=["example.org"])
