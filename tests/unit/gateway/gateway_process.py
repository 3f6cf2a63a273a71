"""A gateway as a process with a real IPython kernel, and clients that are not the fork's."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests
import websocket
from ports import free_port

from tools.paths import ROOT

PROGRAM = ROOT / "docker" / "jupyter" / "gateway.py"
V1 = "v1.kernel.websocket.jupyter.org"
#: Longest wait for anything, in seconds; a quiet machine needs less than one.
PATIENCE = 120.0
TOKEN = "a-token-of-the-tests"

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """Let the system end this process when that of the tests is killed."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class GatewayProcess:
    """The process; a context manager that ends it."""

    def __init__(self) -> None:
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="gateway-"))
        self.folder = self._folder / "tmp"
        self.folder.mkdir()
        self._log = self._folder / "log"
        environment = {
            **os.environ,
            "TMPDIR": str(self.folder),
            "IPYTHONDIR": str(self._folder / "ipython"),
            "KG_PORT": str(self.port),
            "KG_AUTH_TOKEN": TOKEN,
        }
        # pytest's variables would change how the kernel captures its output.
        environment.pop("PYTEST_CURRENT_TEST", None)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM)],
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_end_with_parent,
            )

    def __enter__(self) -> GatewayProcess:
        try:
            self.until(self._listens, "the gateway to listen")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        """Process id of the gateway."""
        return self._process.pid

    @property
    def log(self) -> str:
        """The lines that it and its kernels have written."""
        return self._log.read_text("utf-8", "replace")

    @property
    def runs(self) -> bool:
        """Tell whether it has not ended."""
        return self._process.poll() is None

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until ``condition()`` is true."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert self.runs, f"the gateway has ended:\n{self.log}"
            assert time.monotonic() < end, f"waited for {what}; log:\n{self.log}"
            time.sleep(0.01)

    def _listens(self) -> bool:
        with contextlib.suppress(OSError), self.connected():
            return True
        return False

    def connected(self) -> socket.socket:
        """Return a connection, with a time limit."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def request(self, method: str, path: str, **keywords: Any) -> requests.Response:
        """Send a request with the token."""
        return requests.request(
            method,
            f"http://127.0.0.1:{self.port}{path}",
            headers={"Authorization": f"token {TOKEN}", **keywords.pop("headers", {})},
            timeout=PATIENCE,
            **keywords,
        )

    def kernel(self) -> str:
        """Return the id of a kernel: that of the first request, unless it has been given up."""
        found = self.request("GET", "/api/kernels").json()
        if found:
            return str(found[0]["id"])
        return str(self.request("POST", "/api/kernels").json()["id"])

    def kernel_pid(self, index: int = 0) -> int:
        """Return the process id of a kernel."""
        tasks = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        self.until(lambda: tasks.read_text().split(), "a kernel's process")
        return int(tasks.read_text().split()[index])

    def client(self, *, v1: bool = False, kernel: str | None = None) -> Client:
        """Return a client of a kernel."""
        return Client(self, kernel or self.kernel(), v1)

    def answers(self) -> bool:
        """Tell whether a new client's code runs."""
        with self.client() as client:
            return client.run("40 + 2").value == "42"


class Answer:
    """The messages of one request."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the contents of all messages of a type."""
        return [m["content"] for m in self.messages if m["header"]["msg_type"] == kind]

    @property
    def value(self) -> str | None:
        """The last expression's text."""
        found = self.of("execute_result")
        return found[-1]["data"]["text/plain"] if found else None

    @property
    def text(self) -> str:
        """The printed text."""
        return "".join(content["text"] for content in self.of("stream"))


class Client:
    """A client by hand, on ``websocket-client``, in either layout."""

    def __init__(self, gateway: GatewayProcess, kernel: str, v1: bool) -> None:
        self.session = uuid.uuid4().hex
        self.v1 = v1
        self.socket = websocket.create_connection(
            f"ws://127.0.0.1:{gateway.port}/api/kernels/{kernel}/channels"
            f"?session_id={self.session}&token={TOKEN}",
            subprotocols=[V1] if v1 else None,
            timeout=PATIENCE,
        )
        assert self.socket.getsubprotocol() == (V1 if v1 else None)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.shutdown()

    def send(
        self,
        code: str,
        channel: str = "shell",
        kind: str = "execute_request",
        metadata: dict[str, str] | None = None,
    ) -> str:
        """Send a request and return its id."""
        header = {
            "msg_id": uuid.uuid4().hex,
            "session": self.session,
            "username": "tests",
            "date": "2026-01-01T00:00:00Z",
            "msg_type": kind,
            "version": "5.3",
        }
        content: dict[str, Any] = {}
        if kind == "execute_request":
            content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
        if self.v1:
            parts = [
                channel.encode(),
                *(json.dumps(p).encode() for p in (header, {}, metadata or {}, content)),
            ]
            offsets = [8 * (len(parts) + 2)]
            for part in parts:
                offsets.append(offsets[-1] + len(part))
            table = [len(offsets), *offsets]
            data = b"".join([*(number.to_bytes(8, "little") for number in table), *parts])
            self.socket.send_binary(data)
        else:
            message = {"channel": channel, "header": header, "content": content}
            self.socket.send(
                json.dumps({**message, "parent_header": {}, "metadata": metadata or {}})
            )
        return str(header["msg_id"])

    def receive(self) -> dict[str, Any]:
        """Return the next message."""
        opcode, data = self.socket.recv_data()
        assert opcode in (websocket.ABNF.OPCODE_TEXT, websocket.ABNF.OPCODE_BINARY), data
        if not self.v1:
            return dict(json.loads(data))
        count = int.from_bytes(data[:8], "little")
        offsets = [int.from_bytes(data[8 * n : 8 * n + 8], "little") for n in range(1, count + 1)]
        pieces = [data[a:b] for a, b in itertools.pairwise(offsets)]
        header, parent, metadata, content = map(json.loads, pieces[1:5])
        return {
            "channel": pieces[0].decode(),
            "header": header,
            "parent_header": parent,
            "metadata": metadata,
            "content": content,
            "buffers": pieces[5:],
        }

    def finish(self, number: str) -> Answer:
        """Return the messages of a request when its kernel is idle and has replied."""
        answer = Answer()
        idle = replied = False
        while not (idle and replied):
            message = self.receive()
            state = message["content"].get("execution_state")
            assert state not in ("restarting", "dead"), "the kernel has ended"
            if message["parent_header"].get("msg_id") == number:
                answer.messages.append(message)
                idle |= state == "idle"
                replied |= message["header"]["msg_type"].endswith("_reply")
        return answer

    def run(self, code: str) -> Answer:
        """Run code."""
        return self.finish(self.send(code))

    def until_status(self, state: str) -> list[dict[str, Any]]:
        """Return the messages up to a status."""
        found = []
        while True:
            found.append(self.receive())
            if found[-1]["content"].get("execution_state") == state:
                return found


def kill(pid: int) -> None:
    """Kill a kernel."""
    os.kill(pid, signal.SIGKILL)
