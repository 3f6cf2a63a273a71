"""Listed hosts in the process executor: what reaches them, and what reaches anything else."""

from __future__ import annotations

import json
import socket
import sys
import threading

import confined_attacks
import pytest
from background import at_once, run_python
from confined_attacks import masked, raw_executor
from process_harness import NewResources, by_ordinary_user, executor
from web_servers import LARGE, serving

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import ConfigurationError, ExecutorStartError, ProgramFailedError
from smolagents_fork.network.hosts.host_policy import AllowedHost
from smolagents_fork.process.confinement_report import Kernel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's measures are Linux's")

CLIENTS = "os requests httpx urllib.request aiohttp asyncio ssl socket threading".split()
GETS = {
    "requests": "import requests\nrequests.get(address, verify=ca, timeout=60).text",
    "urllib": (
        "import ssl, urllib.request\n"
        "context = ssl.create_default_context(cafile=ca)\n"
        "urllib.request.urlopen(address, timeout=60, context=context).read().decode()"
    ),
    "httpx": (
        "import httpx, ssl\n"
        "context = ssl.create_default_context(cafile=ca)\n"
        "httpx.get(address, verify=context, timeout=60).text"
    ),
    "aiohttp": (
        "import aiohttp, asyncio, ssl\n"
        "async def get():\n"
        "    context = ssl.create_default_context(cafile=ca)\n"
        "    async with aiohttp.ClientSession(trust_env=True) as session:\n"
        "        async with session.get(address, ssl=context) as answer:\n"
        "            return await answer.text()\n"
        "asyncio.run(get())"
    ),
}


def entry(server, **options) -> AllowedHost:
    return AllowedHost(f"localhost:{server.port}", private=True, **options)


def listing(server, ca: str, **options):
    return executor(CLIENTS, allowed_hosts=[entry(server)], readable_paths=[ca], **options)


@pytest.fixture(scope="module")
def ready(secure, trusted):
    with listing(secure, trusted[1]) as made:
        made.send_variables({"address": f"https://localhost:{secure.port}/a", "ca": trusted[1]})
        yield made


@pytest.mark.parametrize("client", GETS)
def test_listed_host_is_reached(ready, client: str):
    assert ready(GETS[client]).output == "got /a"


def test_name_without_the_proxy_gets_advice(ready):
    with pytest.raises(ProgramFailedError, match="takes the proxy of HTTPS_PROXY"):
        ready("import socket\nsocket.getaddrinfo('evil.test', 443)")


def test_large_answer_passes_and_bytes_are_limited(secure, trusted):
    with listing(secure, trusted[1], max_network_bytes=8_000_000) as ex:
        address = f"https://localhost:{secure.port}/large"
        ex.send_variables({"address": address, "ca": trusted[1]})
        code = "import requests\nlen(requests.get(address, verify=ca, timeout=60).content)"
        for _ in range(2):  # counted anew for each call
            assert ex(code).output == LARGE
        with pytest.raises(ProgramFailedError, match="more than max_network_bytes=8000000 of this"):
            ex(code.replace("\n", "\nfor n in range(4): "))


def test_list_is_that_of_each_executor(trusted):
    with (
        serving(trusted[0]) as first,
        serving(trusted[0]) as second,
        listing(first, trusted[1]) as one,
        listing(second, trusted[1]) as other,
    ):
        for ex in (one, other):
            ex.send_variables({"ca": trusted[1]})
        get = GETS["requests"].replace("address", "'https://localhost:{}/'")
        assert one(get.format(first.port)).output == "got /"
        assert other(get.format(second.port)).output == "got /"
        with pytest.raises(ProgramFailedError, match="is not in allowed_hosts"):
            one(get.format(second.port))


def test_closed_executor_leaves_nothing(secure, trusted):
    with listing(secure, trusted[1]) as ex:  # the thread of the proxy stays for the next one
        ex("1")
    resources = NewResources()
    with listing(secure, trusted[1]) as ex:
        ex.send_variables({"address": f"https://localhost:{secure.port}/a", "ca": trusted[1]})
        ex(GETS["requests"])
    assert resources.new() == set()


# -- what is refused at the start --


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": "host"}, "allowed_hosts= with network='host'"),
        ({"allow_missing": ["network"]}, "allowed_hosts= needs the measures"),
        ({"allow_missing": ["syscalls"]}, "allowed_hosts= needs the measures"),
        ({"allow_unconfined": True}, "allowed_hosts= needs the measures"),
        ({"allowed_hosts": ["127.0.0.1"]}, r"loopback: pass AllowedHost\('127.0.0.1', private"),
    ],
)
def test_list_that_cannot_be_enforced_is_refused(options, message: str):
    with pytest.raises(ConfigurationError, match=message):
        ProcessExecutor([], None, **{"allowed_hosts": ["example.org"], **options})


def test_list_needs_a_network_namespace():
    start = masked(Kernel(namespaces=False), allowed_hosts=["example.org"])
    with pytest.raises(ExecutorStartError, match=r"network \(needs a network namespace of its own"):
        start.__enter__()


# -- what a hostile program reaches --

KERNELS = {"all": Kernel(), "Landlock 1": Kernel(landlock=1)}
#: Attacks that succeed, and reach nothing: a socket that is not connected.
HARMLESS = {"sockets: socket of family 2", "sockets: socket of family 10"}


@pytest.mark.parametrize("kernel", KERNELS)
def test_attacks_reach_nothing_beside_the_proxy(kernel: str):
    found = confined_attacks.outcomes(KERNELS[kernel], allowed_hosts=["example.org"])
    assert len(found) > 200
    reached = {name for name, text in found.items() if not text.startswith("refused: ")}
    assert reached <= HARMLESS


OUT = {
    "address of the host": "socket.create_connection(('127.0.0.1', port), 5)",
    "address of the host, IPv6": "socket.create_connection(('::1', port), 5)",
    "mapped address of the host": "socket.create_connection(('::ffff:127.0.0.1', port), 5)",
    "any address": "socket.create_connection(('0.0.0.0', port), 5)",
    "public address": "socket.create_connection(('1.1.1.1', 443), 5)",
    "public address, IPv6": "socket.create_connection(('2606:4700:4700::1111', 443), 5)",
    "metadata": "socket.create_connection(('169.254.169.254', 80), 5)",
    "name server": "socket.create_connection(('8.8.8.8', 53), 5)",
    "datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53))",
    "raw": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 6)",
    "packet": "socket.socket(17, socket.SOCK_RAW, 3)",
    "netlink": "socket.socket(16, socket.SOCK_RAW, 0)",
    "unix": "socket.socket(socket.AF_UNIX)",
    "vsock": "socket.socket(40, socket.SOCK_STREAM)",
    "mptcp": "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)",
    "sctp": "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)",
    "smc": "socket.socket(43, socket.SOCK_STREAM)",
    "bind": "socket.socket().bind(('127.0.0.1', 0))",
    "bind the proxy's port": "socket.socket().bind(('127.0.0.1', 3128))",
    "listen": "socket.socket().listen()",
    "fast open": "socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', port))",
    "fast open to the proxy": "socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', 3128))",
    "kernel's TLS": "socket.socket().setsockopt(6, 31, b'tls')",
    "socket filter": "socket.socket().setsockopt(1, 50, 3)",
    "mark": "socket.socket().setsockopt(1, 36, 1)",
    "other device": "socket.socket().setsockopt(1, 25, b'eth0')",
    "interfaces": "fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sH14x', b'lo', 0))",
    "address of an interface": "fcntl.ioctl(socket.socket(), 0x8915, bytes(40))",
    "namespace of the host": "os.open('/proc/1/ns/net', os.O_RDONLY)",
    "tables of the host": "open('/proc/net/tcp').read()",
    "other namespace": "call(272, 0x40000000)",
    "queue of the ring": "call(425, 1, bytes(256))",
    "second listener by a descriptor": (
        "found = 'nothing'\nfor number in range(3, 1100):\n"
        "    try:\n        one = socket.socket(fileno=number)\n"
        "        listens = one.getsockopt(1, 30)\n        one.detach()\n"
        "        if listens: found = number\n"
        "    except OSError:\n        pass\n"
        "if found == 'nothing': raise PermissionError(found)"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def hostile():
    with raw_executor(allowed_hosts=["example.org"]) as ex:
        ex("import fcntl, os, socket, struct")
        yield ex


@pytest.mark.parametrize("attack", OUT)
def test_nothing_but_the_proxy_is_reached(hostile, attack: str):
    with socket.create_server(("127.0.0.1", 0)) as server:
        hostile.send_variables({"port": server.getsockname()[1]})
        with pytest.raises(
            ProgramFailedError, match=r"(OS|Permission|ConnectionRefused)Error"
        ) as caught:
            hostile(OUT[attack])
        if attack in ("public address", "datagram", "bind"):
            remedy = (
                "use a client that takes the proxy of HTTPS_PROXY, which reaches allowed_hosts="
            )
            assert f"no network: {remedy}['example.org']" in str(caught.value)
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


ASK = (
    "import socket\n"
    "def ask(data):\n"
    "    with socket.create_connection(('127.0.0.1', 3128), 60) as one:\n"
    "        one.sendall(data)\n"
    "        found = b''\n"
    "        while part := one.recv(65536): found += part\n"
    "    return found\n"
)


def test_connections_of_one_sandbox_leave_others_alone(hostile, ready):
    opened = hostile(
        "many = []\n"
        "for n in range(200):\n"
        "    one = socket.socket()\n    one.setblocking(False)\n"
        "    one.connect_ex(('127.0.0.1', 3128))\n    many.append(one)\nlen(many)"
    )
    assert opened.output == 200
    assert ready(GETS["requests"]).output == "got /a"
    hostile("for one in many: one.close()")
    assert b" 403 " in hostile(f"{ASK}ask(b'CONNECT evil.test:443 HTTP/1.0\\r\\n\\r\\n')").output


def test_threads_of_code_use_the_proxy_at_once(ready):
    code = (
        "import requests, threading\nfound = []\n"
        "def get(): found.append(requests.get(address, verify=ca, timeout=120).text)\n"
        "threads = [threading.Thread(target=get) for n in range(40)]\n"
        "for one in threads: one.start()\nfor one in threads: one.join()\n"
        "len(found), set(found)"
    )
    assert ready(code).output == (40, {"got /a"})


def test_ordinary_user_has_the_same(tmp_path):
    program = (
        "import json\n"
        "from smolagents_fork import ProcessExecutor\n"
        f"code = {ASK!r} + \"ask(b'CONNECT evil.test:443 HTTP/1.0\\\\r\\\\n\\\\r\\\\n')\"\n"
        "with ProcessExecutor(['socket'], None, allowed_hosts=['example.org']) as ex:\n"
        "    found = ex(code).output.decode()\n"
        "    print(json.dumps([found, ex.confinement['in_force']['network']]))\n"
    )
    done = by_ordinary_user(["-c", program], tmp_path)
    assert done.returncode == 0, done.stderr
    answer, measure = json.loads(done.stdout)
    assert answer.startswith(
        "HTTP/1.1 403 host 'evil.test' is not in allowed_hosts=['example.org']"
    )
    assert measure.endswith("own network and user namespace without interfaces but loopback")


def test_executors_of_several_threads_share_one_proxy(secure, trusted):
    def use() -> object:
        with listing(secure, trusted[1]) as ex:
            ex.send_variables({"address": f"https://localhost:{secure.port}/a", "ca": trusted[1]})
            return ex(GETS["requests"]).output

    assert at_once(use, use, use) == ["got /a"] * 3
    assert [one.name for one in threading.enumerate()].count("network proxy") == 1


LEFT_OPEN = '''
import sys
from smolagents_fork import AllowedHost, ProcessExecutor

host = f"localhost:{sys.argv[1]}"
executor = ProcessExecutor(
    ["os", "socket"],
    allowed_hosts=[AllowedHost(host, private=True, plain=True)],
    audit=sys.argv[2],
)
executor(f"""
import os, socket
port = int(os.environ["HTTP_PROXY"].rpartition(":")[2])
connection = socket.create_connection(("127.0.0.1", port))
connection.sendall(b"CONNECT {host} HTTP/1.1\\\\r\\\\nHost: {host}\\\\r\\\\n\\\\r\\\\n")
connection.recv(1000)
""")
'''


def test_end_of_a_connection_is_recorded_at_exit(tmp_path):
    path = tmp_path / "audit.jsonl"
    with serving() as server:
        run_python(LEFT_OPEN, str(server.port), str(path))
    lines = map(json.loads, path.read_text().splitlines())
    phases = [line["phase"] for line in lines if line["event"] == "connection"]
    assert phases == ["begin", "end"]
