"""Requests between processes: frames, the key, answers, TLS."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import certificates
import pytest
from background import running

from smolagents_fork.errors import ConfigurationError, ExecutorStartError, ProtocolError
from smolagents_fork.ray_cluster import node_link
from smolagents_fork.ray_cluster.node_link import (
    KEY_BYTES,
    AnswerStream,
    FrameSocket,
    RequestServer,
    answer_of,
    ask,
    connect,
)
from smolagents_fork.ray_cluster.plain_data import SupervisorPlace, failure_data, failure_of

SECONDS = 60.0
KEY = b"k" * KEY_BYTES


class Echo(RequestServer):
    """Answers with what it is asked, and echoes the bytes of a stream."""

    released = False

    def do_value(self, _connection: socket.socket, value: Any) -> Any:
        return {"error": object(), "long": bytes(17 << 20)}.get(value, value)

    def do_refuse(self, _connection: socket.socket) -> None:
        raise ExecutorStartError("no")

    def do_break(self, _connection: socket.socket) -> None:
        raise KeyError("odd")

    def do_echo(self, _connection: socket.socket) -> AnswerStream:
        return AnswerStream("head", self._echo)

    def _echo(self, connection: socket.socket) -> None:
        try:
            while data := connection.recv(1 << 16):
                connection.sendall(data)
        finally:
            self.released = True


def serving(*, tls: bool) -> SupervisorPlace:
    server = socket.create_server(("127.0.0.1", 0))
    place = SupervisorPlace("s", "n", "127.0.0.1", server.getsockname()[1], KEY, tls)
    try:
        Echo().listen(server, KEY, tls=tls)
    except BaseException:
        server.close()
        raise
    return place


@pytest.fixture
def place() -> SupervisorPlace:
    return serving(tls=False)


@pytest.fixture
def ends() -> Iterator[tuple[FrameSocket, FrameSocket, socket.socket]]:
    ours, theirs = socket.socketpair()
    made = FrameSocket(ours), FrameSocket(theirs), theirs
    yield made
    made[0].close()
    made[1].close()


def test_frame_that_comes_in_parts_is_read_whole(ends):
    ours, _, raw = ends
    with running(ours.receive, SECONDS) as reading:
        for part in (b"\0\0", b"\0\x02{", b"}"):
            raw.sendall(part)
        assert reading.result(SECONDS) == {}
    raw.sendall(b"\0\0")
    with pytest.raises(TimeoutError):
        ours.receive(0.01)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (((16 << 20) + 1).to_bytes(4, "big"), "over 16777216"),
        (b"\0\0\0\x02[]", "a frame with list"),
        (b"\0\0\0\x02{{", "a frame that cannot be read"),
    ],
)
def test_frame_that_is_none_is_refused(ends, data: bytes, words: str):
    ours, _, raw = ends
    raw.sendall(data)
    with pytest.raises(ProtocolError) as caught:
        ours.receive()
    assert words in str(caught.value)


def test_end_of_the_other_side_is_no_frame(ends):
    ours, theirs, raw = ends
    raw.sendall(b"\0\0")
    theirs.close()
    assert ours.receive() is None


def test_answers_and_errors_return(place: SupervisorPlace):
    assert ask(place, SECONDS, "value", value="text") == "text"
    with pytest.raises(ExecutorStartError, match=r"^no$"):
        ask(place, SECONDS, "refuse")
    with pytest.raises(ExecutorStartError, match=r"KeyError: 'odd'"):
        ask(place, SECONDS, "break")
    with pytest.raises(ExecutorStartError, match="AttributeError"):
        ask(place, SECONDS, "none")


@pytest.mark.parametrize("value", ["error", "long"])
def test_answer_that_cannot_be_sent_is_an_error(place: SupervisorPlace, value: str):
    with pytest.raises(Exception, match=r"bytes|object"):
        ask(place, SECONDS, "value", value=value)


@pytest.mark.parametrize("key", [b"x" * KEY_BYTES, bytes(KEY_BYTES), b"short"])
def test_stranger_without_the_key_gets_nothing(place: SupervisorPlace, key: bytes):
    with socket.create_connection((place.address, place.port), SECONDS) as stranger:
        stranger.sendall(key)
        stranger.shutdown(socket.SHUT_WR)
        stranger.settimeout(SECONDS)
        assert stranger.recv(100) == b""
    assert ask(place, SECONDS, "value", value=1) == 1


def test_late_answer_and_closed_port_are_said(monkeypatch: pytest.MonkeyPatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent_place = SupervisorPlace("s", "n", *silent.getsockname(), KEY, False)
        with pytest.raises(TimeoutError, match=r"no answer within 0\.1 s"):
            ask(silent_place, 0.1, "value", value=1)
    with pytest.raises(ConnectionRefusedError) as caught:
        ask(silent_place, SECONDS, "value", value=1)
    assert str(caught.value).startswith(
        f"no connection to the supervisor at 127.0.0.1:{silent_place.port}: "
    )


def test_reader_that_pauses_keeps_its_connection(place: SupervisorPlace):
    option = socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT
    with connect(place, SECONDS, "echo") as stream:
        # With it Linux ends a connection whose window has been closed for that long.
        assert stream.getsockopt(*option) == 0
        assert stream.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1


# -- TLS --


@pytest.fixture
def secured(use_tls: Any, tmp_path: Path) -> SupervisorPlace:
    use_tls(certificates.made_in(tmp_path))
    return serving(tls=True)


def test_bytes_pass_both_ways_with_tls(secured: SupervisorPlace):
    sent = random.Random(1).randbytes(3_000_000)
    with connect(secured, SECONDS, "echo") as stream:
        answer_of(stream, SECONDS)
        stream.settimeout(SECONDS)
        writer = threading.Thread(target=stream.sendall, args=(sent,))
        writer.start()
        found = bytearray()
        while len(found) < len(sent):
            found += stream.recv(1 << 16)
        writer.join()
        assert bytes(found) == sent


def test_stranger_without_the_certificate_is_refused(
    secured: SupervisorPlace, use_tls: Any, tmp_path: Path
):
    other = tmp_path / "other"
    other.mkdir()
    use_tls(certificates.made_in(other))
    with pytest.raises(OSError, match="certificate verify failed"):
        ask(secured, SECONDS, "value", value=1)


def test_plain_connection_is_refused(secured: SupervisorPlace):
    plain = SupervisorPlace(**{**vars(secured), "tls": False})
    with contextlib.suppress(OSError), pytest.raises(ProtocolError):
        ask(plain, SECONDS, "value", value=1)  # an alert of TLS, or the end


def test_connection_for_which_there_is_no_thread_is_closed(monkeypatch: pytest.MonkeyPatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    near, far = socket.socketpair()
    start = mock.Mock(side_effect=RuntimeError("can't start new thread"))
    with far, context.wrap_socket(near, do_handshake_on_connect=False) as secured:
        before = len(os.listdir("/proc/self/fd"))
        monkeypatch.setattr(threading.Thread, "start", start)
        # The traceback keeps what is still open.
        with pytest.raises(RuntimeError) as caught:
            node_link._plain(secured)
        assert len(os.listdir("/proc/self/fd")) == before
    assert caught.value is start.side_effect


def test_missing_files_are_named(use_tls: Any, tmp_path: Path):
    use_tls(tmp_path / "none.pem")
    with pytest.raises(
        ConfigurationError, match=r"RAY_USE_TLS=1 with RAY_TLS_CA_CERT=.*; name the"
    ):
        serving(tls=True)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (["SystemExit", "x", ""], "ExecutorError"),
        (["AgentProgramError", "x", ""], "ExecutorError"),
        (["ImageBuildError", "x", ""], "ImageBuildError"),
        (["SandboxDiedError", "x", "node"], "SandboxDiedError"),
    ],
)
def test_errors_become_those_of_the_fork_alone(data: list[str], name: str):
    error = failure_of(data)
    assert (type(error).__name__, str(error)) == (name, "x")
    if name == data[0]:
        assert failure_data(error) == data


def test_connection_that_cannot_be_accepted_ends_nothing(monkeypatch: pytest.MonkeyPatch):
    accepted = socket.socket.accept
    failures = iter([OSError(errno.EMFILE, "Too many open files")])

    def accept(server: socket.socket) -> Any:
        if error := next(failures, None):
            raise error
        return accepted(server)

    monkeypatch.setattr(socket.socket, "accept", accept)
    assert ask(serving(tls=False), SECONDS, "value", value=1) == 1
    assert next(failures, None) is None


def test_server_goes_on_after_a_shortage_of_threads(
    place: SupervisorPlace, monkeypatch: pytest.MonkeyPatch
):
    failures, start = [RuntimeError("can't start new thread")], threading.Thread.start

    def refuse_once(thread: threading.Thread) -> None:
        if failures:
            raise failures.pop()
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_once)
    with pytest.raises(OSError):  # noqa: PT011 - an end or a reset
        ask(place, SECONDS, "value", value=1)
    assert ask(place, SECONDS, "value", value=1) == 1
