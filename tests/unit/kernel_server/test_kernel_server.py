"""The kernel of ``docker/jupyter`` as a process that serves the package's own client.

A conversation with it goes on over another connection; nothing is lost or repeated.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import websocket
from fault_proxy import FaultProxy
from ports import free_port
from websocket import ABNF

from smolagents_fork.deadline import Deadline
from smolagents_fork.jupyter.channel import Channel, message_limit
from smolagents_fork.jupyter.protocol import KernelRequest, Requests, Sink
from smolagents_fork.jupyter.resumption import ResumableConnection
from smolagents_fork.jupyter.websocket import (
    Connection,
    ConnectionLost,
    KernelModel,
    address_with,
    channels_path,
    create_kernel,
)
from smolagents_fork.stream.timed_socket import TimedSocket
from tools.paths import ROOT

PROGRAM = ROOT / "docker" / "jupyter" / "kernel_server.py"
V1 = "v1.kernel.websocket.jupyter.org"
TOKEN = "a-token-of-the-tests"
#: Longest wait for anything, in seconds; a quiet machine needs less than one.
PATIENCE = 120.0


def open_channels(
    sock: socket.socket,
    model: KernelModel,
    session: str,
    seconds: float = PATIENCE,
    received: int | None = None,
) -> Connection:
    """Open the channels of a kernel for a client that has received so many messages before."""
    return Connection(
        TimedSocket(sock),
        address_with(TOKEN),
        channels_path(model.id, session),
        timeout=seconds,
        limit=message_limit(1_000_000, 1 << 28),
        received=received,
    )


class Client:
    """The package's client of a kernel, over a socket that is connected."""

    def __init__(self, sock: socket.socket, model: KernelModel | None = None) -> None:
        self.model = model or create_kernel(
            TimedSocket(sock), address_with(TOKEN), timeout=PATIENCE
        )
        session = uuid.uuid4().hex
        connection = open_channels(sock, self.model, session)
        self.channel = Channel(connection, Requests(session, "comm"))
        self.printed = ""

    def close(self) -> None:
        """Close the connection."""
        self.channel.close()

    def begin(self, code: str) -> KernelRequest:
        """Send code."""
        sink = Sink()
        sink.stream = self._take
        return self.channel.execute(code, sink=sink)

    def _take(self, text: str, _lost: int) -> None:
        self.printed += text

    def end(self, request: KernelRequest) -> str:
        """Wait for the end of a request; return what it printed."""
        self.channel.wait(request, Deadline(PATIENCE))
        assert request.status == "ok", request.error
        printed, self.printed = self.printed, ""
        return printed

    def run(self, code: str) -> str:
        """Run code; return what it printed."""
        return self.end(self.begin(code))


class Server:
    """The process; a context manager that ends it, and the processes of its group."""

    def __enter__(self) -> Server:
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="kernel-server-"))
        ours, its = socket.socketpair()
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            cwd=self.folder,
            env={
                **environment,
                "TMPDIR": str(self.folder),
                "IPYTHONDIR": str(self.folder),
                "KG_PORT": str(self.port),
                "KG_AUTH_TOKEN": TOKEN,
                "KG_CLIENT_FD": str(its.fileno()),
            },
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        its.close()
        try:
            self.client = Client(ours)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()
        if hasattr(self, "client"):
            self.client.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, model: KernelModel) -> Client:
        """Return another client."""
        address = ("127.0.0.1", self.port)
        return Client(socket.create_connection(address, timeout=PATIENCE), model)

    @property
    def channels_address(self) -> str:
        """Address of the kernel's channels for another client."""
        path = channels_path(self.client.model.id, "s")
        return f"ws://127.0.0.1:{self.port}{path}&token={TOKEN}"

    def get(self, path: str, token: str = TOKEN, method: str = "GET") -> requests.Response:
        """Send a request."""
        address = f"http://127.0.0.1:{self.port}{path}"
        headers = {"Authorization": f"token {token}"}
        return requests.request(method, address, headers=headers, timeout=PATIENCE)


class ResumingClient(Client):
    """A client whose connections pass a proxy, and follow one another."""

    def __init__(self, server: Server, proxy: FaultProxy, patience: float = PATIENCE) -> None:
        self._proxy = proxy
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as sock:
            self.model = create_kernel(TimedSocket(sock), address_with(TOKEN), timeout=PATIENCE)
        self._session = uuid.uuid4().hex
        self.connection = ResumableConnection(
            self._connect(0, PATIENCE),
            self._connect,
            may_run=lambda: server.process.poll() is None,
            heard_at=None,
            patience=patience,
        )
        self.channel = Channel(self.connection, Requests(self._session, "comm"))
        self.printed = ""

    def _connect(self, received: int, seconds: float) -> Connection:
        address = ("127.0.0.1", self._proxy.port)
        sock = socket.create_connection(address, timeout=seconds)
        return open_channels(sock, self.model, self._session, seconds, received)


@contextlib.contextmanager
def opened(address: str, **keywords: Any) -> Iterator[websocket.WebSocket]:
    """A WebSocket of another client's, which leaves its socket open after the other end's close."""
    other = websocket.create_connection(address, timeout=PATIENCE, **keywords)
    try:
        yield other
    finally:
        other.shutdown()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One for the tests of a module, each of which leaves its client working."""
    with Server() as process:
        yield process


@pytest.fixture(scope="module")
def resumed_server() -> Iterator[Server]:
    """One for tests whose clients take over from one another."""
    with Server() as process:
        yield process


@pytest.fixture
def own_server() -> Iterator[Server]:
    """One for a test."""
    with Server() as process:
        yield process


def test_there_is_one_kernel(server):
    assert server.client.model.serves_itself
    for method, status in (("GET", 200), ("POST", 201)):
        answer = server.get("/api/kernels", method=method)
        assert answer.status_code == status
        (model,) = answer.json() if method == "GET" else [answer.json()]
        assert model["id"] == server.client.model.id
    assert server.get(f"/api/kernels/{server.client.model.id}").json()["connections"] == 1
    assert server.get("/api/kernels/another").status_code == 404


@pytest.mark.parametrize("path", ["/api", "/api/kernels", "channels"])
@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_token_is_needed(server, path, token):
    if path == "channels":
        path = f"/api/kernels/{server.client.model.id}/channels"
        with pytest.raises(websocket.WebSocketBadStatusException, match="401"):
            websocket.create_connection(
                f"ws://127.0.0.1:{server.port}{path}?token={token}", timeout=PATIENCE
            )
    else:
        address = f"http://127.0.0.1:{server.port}{path}"
        headers = {"Authorization": f"token {token}".encode()}
        assert requests.get(address, headers=headers, timeout=PATIENCE).status_code == 401
    assert server.client.run("print(1)") == "1\n"


def test_page_of_another_site_is_refused(server):
    with pytest.raises(websocket.WebSocketBadStatusException, match="403"):
        websocket.create_connection(
            server.channels_address, origin="http://example.com", timeout=PATIENCE
        )


def test_program_finds_neither_token_nor_server(server):
    code = (
        "import os, sys\n"
        "print(sorted(os.environ.keys() & {'KG_AUTH_TOKEN', 'KG_CLIENT_FD'}), sys.argv)\n"
        "try:\n    import kernel_server\nexcept ImportError:\n    print('none')"
    )
    assert server.client.run(code) == "[] ['ipykernel']\nnone\n"


def test_output_waits_for_a_client_that_does_not_read(server):
    code = "for n in range(3000): print(n, 'x' * 1000, flush=True)"
    request = server.client.begin(code)
    time.sleep(2)  # the program is far ahead, and stopped, or some output is lost
    printed = server.client.end(request)
    assert [int(line.split()[0]) for line in printed.splitlines()] == list(range(3000))


FRAMES = {
    "no table": b"",
    "a short table": b"\x01" * 7,
    "a huge table": b"\xff" * 8,
    "offsets outside": b"".join(n.to_bytes(8, "little") for n in (6, 1, 2, 3, 4, 5, 10**9)),
    "text": "text",
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_message_that_violates_the_layout_ends_its_connection_only(resumed_server, frame):
    model = resumed_server.client.model
    with contextlib.closing(resumed_server.connect(model)) as first:
        first.run("kept = 5")
        is_text = isinstance(frame, str)
        with opened(resumed_server.channels_address, subprotocols=[V1]) as hostile:
            hostile.send(frame, ABNF.OPCODE_TEXT if is_text else ABNF.OPCODE_BINARY)
            code, data = hostile.recv_data()
    assert (code, data[:2]) == (ABNF.OPCODE_CLOSE, (1002).to_bytes(2, "big"))
    with contextlib.closing(resumed_server.connect(model)) as second:
        assert second.run("print(kept)") == "5\n"


def test_client_without_the_layout_is_told(server):
    with opened(server.channels_address) as other:
        code, data = other.recv_data()
    assert code == ABNF.OPCODE_CLOSE
    assert data[2:].decode() == f"the subprotocol {V1} is needed"
    # It is no client, and so took nothing over.
    assert server.client.run("print(1)") == "1\n"


CHILDREN = {
    "fork": "import os\nif not os.fork():\n    time.sleep(600)",
    "multiprocessing": (
        "import multiprocessing\n"
        "multiprocessing.get_context('fork').Process(target=time.sleep, args=(600,)).start()"
    ),
    "subprocess": "import subprocess\nsubprocess.Popen(['sleep', '600'], close_fds=False)",
}


@pytest.mark.parametrize("code", CHILDREN.values(), ids=CHILDREN)
def test_children_of_the_program_do_not_hold_the_stream_open(own_server, code):
    own_server.client.run(f"import time\n{code}")
    ended = own_server.client.begin("import os\nos._exit(0)")
    # The child of the program lives on.
    with pytest.raises(ConnectionLost):
        own_server.client.end(ended)
    assert own_server.process.wait(PATIENCE) == 0


def test_forked_child_writes_nothing_to_the_stream(server):
    code = (
        "import os, socket\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    for number in os.listdir('/proc/self/fd'):\n"
        "        try: sock = socket.socket(fileno=os.dup(int(number)))\n"
        "        except OSError: continue\n"
        "        if sock.family == socket.AF_UNIX: sock.send(b'garbage')\n"
        "    os._exit(0)\n"
        "print(os.waitpid(child, 0)[1] == 0)"
    )
    server.client.run(code)
    assert server.client.run("print('goes on')") == "goes on\n"


@pytest.fixture
def proxy(resumed_server: Server) -> Iterator[FaultProxy]:
    """A port in front of the kernel's."""
    with FaultProxy(("127.0.0.1", resumed_server.port)) as port:
        yield port


@pytest.fixture
def client(resumed_server: Server, proxy: FaultProxy) -> Iterator[ResumingClient]:
    """A client over the proxy."""
    with contextlib.closing(ResumingClient(resumed_server, proxy)) as made:
        yield made


def test_output_is_whole_over_many_losses(client, proxy):
    code = "for n in range(5000): print(n, 'x' * 1000, flush=not n % 7)"
    request = client.begin(code)
    deadline = Deadline(PATIENCE)
    next_reset = time.monotonic()
    while not request.done:
        assert not deadline.expired()
        client.channel.turn(request, deadline.at_most(1.0))
        if time.monotonic() > next_reset and proxy.accepted < 5:
            proxy.reset()
            next_reset = time.monotonic() + 0.1
    assert [int(line.split()[0]) for line in client.printed.splitlines()] == list(range(5000))
    assert proxy.accepted > 2


def test_request_that_is_sent_while_there_is_no_connection_runs_later(client, proxy):
    client.run("runs = 0")
    proxy.reset(refuse=True)
    client.connection.lose("the test has cut it")
    request = client.begin("runs += 1\nprint(runs)")
    assert client.connection.lost
    proxy.heal()
    assert client.end(request) == "1\n"


def test_lost_connection_is_given_up_when_patience_ends(resumed_server, proxy):
    with contextlib.closing(ResumingClient(resumed_server, proxy, patience=1.0)) as client:
        client.run("1")
        proxy.reset(refuse=True)
        with pytest.raises(ConnectionLost):
            client.run("1")


def test_client_that_another_has_taken_over_from_does_not_come_back(resumed_server, client, proxy):
    client.run("kept = 5")
    with contextlib.closing(resumed_server.connect(client.model)) as second:
        with pytest.raises(ConnectionLost, match="another client has connected"):
            client.run("1")
        assert second.run("print(kept)") == "5\n"
    proxy.heal()


def test_conversation_that_another_client_has_ended_is_refused(resumed_server, client, proxy):
    client.run("kept = 5")
    proxy.reset(refuse=True)
    with contextlib.closing(resumed_server.connect(client.model)) as second:
        assert second.run("print(kept)") == "5\n"
        proxy.heal()
        with pytest.raises(ConnectionLost, match="another client has taken over"):
            client.run("1")
        assert second.run("print(kept)") == "5\n"
