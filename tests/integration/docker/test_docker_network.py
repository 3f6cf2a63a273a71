"""Listed hosts in a container: what reaches them, and what reaches anything else."""

from __future__ import annotations

import functools
import http.server
import socket
import threading
import zipfile

import pytest
from web_servers import LARGE

from smolagents_fork import AllowedHost, DockerExecutor, DockerPool
from smolagents_fork.errors import ConfigurationError, ExecutorError

pytestmark = pytest.mark.docker

# The name of the tests' server is that of loopback, which clients do not ask a proxy for.
PRELUDE = (
    "import os, socket, ssl, subprocess, sys, urllib.request\n"
    "os.environ['NO_PROXY'] = os.environ['no_proxy'] = ''\n"
)
GET = (
    "context = ssl.create_default_context(cafile='authority.pem')\n"
    "urllib.request.urlopen({!r}, timeout=60, context=context).read().decode()"
)


@pytest.fixture(scope="module", params=["auto", "exec"])
def listing(request, engine_for_module, secure, trusted):
    """An executor whose listener is sent here, and one whose connections a multiplexer carries."""
    entry = AllowedHost(f"localhost:{secure.port}", private=True)
    files = {"authority.pem": trusted[1]}
    with DockerExecutor([], allowed_hosts=[entry], files=files, transport=request.param) as made:
        made(PRELUDE)
        yield made


@pytest.fixture(scope="module")
def engine_for_module():
    import docker

    client = docker.from_env()
    yield client
    client.close()


def test_container_has_no_network_beside_the_proxy(listing):
    listing.container.reload()
    assert list(listing.container.attrs["NetworkSettings"]["Networks"]) == ["none"]
    assert listing("sorted(os.listdir('/sys/class/net'))").output == ["lo"]


def test_listed_host_is_reached(listing, secure):
    assert listing(GET.format(f"https://localhost:{secure.port}/a")).output == "got /a"
    large = listing(f"len({GET.format(f'https://localhost:{secure.port}/large').splitlines()[1]})")
    assert large.output == LARGE


def test_unlisted_host_is_named_in_the_error_of_the_step(listing, secure):
    told = (
        "\nRefused by the network proxy: host 'evil.test' is not in "
        f"allowed_hosts=['localhost:{secure.port}'] of this DockerExecutor"
    )
    with pytest.raises(Exception, match="urllib") as caught:
        listing("urllib.request.urlopen('https://evil.test/', timeout=60)")
    assert str(caught.value).endswith(told)
    code = "try: urllib.request.urlopen('https://evil.test/', timeout=60)\nexcept OSError: pass"
    assert listing(code).logs.endswith(told)
    assert listing("print(1)").logs == "1\n"


def test_programs_that_code_starts_have_the_proxy(listing, secure):
    program = PRELUDE + GET.format(f"https://localhost:{secure.port}/b").replace(
        "urllib.request.urlopen", "print(urllib.request.urlopen"
    )
    code = f"subprocess.run([sys.executable, '-c', {program + ')'!r}], capture_output=True).stdout"
    assert listing(code).output == b"got /b\n"


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


def test_new_container_has_the_network_of_the_former(listing, secure):
    before = listing.container.id
    listing.restart()
    listing(PRELUDE)
    assert listing(GET.format(f"https://localhost:{secure.port}/c")).output == "got /c"
    assert listing.container.id != before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": "bridge"}, "allowed_hosts= with network='bridge'"),
        ({"container_run_kwargs": {"network": "bridge"}}, "allowed_hosts= with network='bridge'"),
        ({"container_run_kwargs": {"network_mode": "bridge"}}, "with network='bridge'"),
    ],
)
def test_list_that_cannot_be_carried_is_refused(engine_for_module, options, message: str):
    with pytest.raises(ConfigurationError, match=message):
        DockerExecutor([], allowed_hosts=["example.org"], **options)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index of this machine with one package, which pip's settings name."""
    folder = tmp_path / "simple" / "tinything"
    folder.mkdir(parents=True)
    wheel = folder / "tinything-1.0-py3-none-any.whl"
    information = "tinything-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tinything.py", "answer = 42\n")
        archive.writestr(
            f"{information}/METADATA", "Metadata-Version: 2.1\nName: tinything\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{information}/RECORD", "")
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://localhost:{server.server_port}/simple")
        yield server
        server.shutdown()
        thread.join()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_arguments):
        pass


def test_packages_are_installed_from_a_listed_index(engine_for_module, index):
    with DockerExecutor([], allowed_hosts="packages") as made:
        made(PRELUDE + "kept = 1")
        assert made.install_packages(["tinything"]) == ["tinything"]
        assert made("import tinything\ntinything.answer, kept").output == (42, 1)


def test_index_that_is_not_listed_is_named(engine_for_module, index):
    with DockerExecutor([], allowed_hosts=["example.org"]) as made:
        made(PRELUDE)
        told = r"host 'localhost' is not in allowed_hosts=\['example.org'\]"
        with pytest.raises(ExecutorError, match=told):
            made.install_packages(["tinything"])


def test_pool_has_no_list(engine_for_module):
    with pytest.raises(ConfigurationError, match="has no parameter 'allowed_hosts'"):
        DockerPool(allowed_hosts=["example.org"])
