"""Hostile clients, kernels that end, and clients that do not read: the gateway goes on serving."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import struct
import time
from pathlib import Path

import pytest
import websocket
from gateway_process import PATIENCE, TOKEN, kill

HEADS = {
    "nothing": b"",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "half a line": b"GET /api HT",
    "empty lines": b"\r\n\r\n\r\n\r\n",
    "two words": b"GET /api\r\n\r\n",
    "other version": b"GET /api HTTP/2.0\r\n\r\n",
    "broken address": b"GET http://[::1 HTTP/1.1\r\n\r\n",
    "header without colon": b"GET /api HTTP/1.1\r\nnothing\r\n\r\n",
    "endless head": b"GET /api HTTP/1.1\r\n" + b"a: b\r\n" * 20_000,
    "long line": b"GET /" + b"x" * 100_000,
    "negative length": b"POST /api/kernels HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "huge length": b"POST /api/kernels HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "two lengths": b"GET /api HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "chunks": b"POST /api/kernels HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "not UTF-8": b"GET /\xff\xfe?token=\xff HTTP/1.1\r\nAuthorization: token \xff\r\n\r\n",
    "websocket without key": (
        f"GET /api/kernels/x/channels?token={TOKEN} HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"
    ).encode(),
}
MASK = b"\0\0\0\0"
FRAMES = {
    "unmasked": b"\x82\x01a",
    "reserved bits": b"\xf2\x80" + MASK,
    "unknown opcode": b"\x83\x80" + MASK,
    "unknown control": b"\x8b\x80" + MASK,
    "long ping": b"\x89\xfe\x00\x80" + MASK + b"x" * 128,
    "ping in parts": b"\x09\x80" + MASK,
    "continuation of nothing": b"\x80\x80" + MASK,
    "message in a message": (b"\x01\x81" + MASK + b"a") * 2,
    "exabytes": b"\x82\xff" + b"\xff" * 8 + MASK,
    "gigabyte claimed": b"\x82\xff" + struct.pack("!Q", 1 << 30) + MASK + b"x" * 100,
    "not JSON": b"\x81\x83" + MASK + b"{{{",
    "deep JSON": b"\x81\xff" + struct.pack("!Q", 200_000) + MASK + b"[" * 200_000,
    "list": b"\x81\x82" + MASK + b"[]",
    "not UTF-8": b"\x81\x82" + MASK + b"\xff\xff",
    "no channel": b"\x81\x9b" + MASK + b'{"header":{"msg_type":"x"}}',
    "unknown channel": b"\x81\x97" + MASK + b'{"header":{},"channel":1}'[:23],
    "short table": b"\x82\x82" + MASK + b"\x00\x00",
    "huge table": b"\x82\x84" + MASK + b"\xff\xff\xff\xff",
    "close with reason": b"\x88\x84" + MASK + b"\x03\xe8ok",
    "half a frame": b"\x82\xfe",
}
PLAIN = (
    "GET /api/kernels/{kernel}/channels?token=" + TOKEN + " HTTP/1.1\r\nHost: x\r\n"
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n"
)
LAYOUT = "Sec-WebSocket-Protocol: v1.kernel.websocket.jupyter.org\r\n"


def to_the_end(sock):
    """Everything that is received until the gateway closes the connection."""
    data = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while piece := sock.recv(65_536):
            data += piece
    return bytes(data)


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_broken_requests_end_their_connection_only(gateway, head):
    with gateway.connected() as sock:
        with contextlib.suppress(OSError):
            sock.sendall(head)
            sock.shutdown(socket.SHUT_WR)
        to_the_end(sock)
    assert gateway.answers()


@pytest.mark.parametrize("layout", ["", LAYOUT], ids=["json", "v1"])
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_broken_frames_end_their_connection_only(gateway, frame, layout):
    with gateway.connected() as sock:
        sock.sendall(PLAIN.format(kernel=gateway.kernel(), more=layout).encode())
        assert sock.recv(12) == b"HTTP/1.1 101"
        with contextlib.suppress(OSError):
            sock.sendall(frame)
            sock.shutdown(socket.SHUT_WR)
        to_the_end(sock)
    assert gateway.answers()
    # Claimed bytes take no memory.
    assert memory(gateway) < 400 << 20


def memory(gateway):
    """Bytes of memory that the gateway has used at most."""
    lines = Path(f"/proc/{gateway.pid}/status").read_text().split("\n")
    (peak,) = [line for line in lines if line.startswith("VmHWM:")]
    return int(peak.split()[1]) << 10


def test_unauthenticated_connections_do_not_shut_out_a_client(gateway):
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(gateway.connected())
        assert gateway.answers()
        # More than that are closed.
        descriptors = Path(f"/proc/{gateway.pid}/fd")
        gateway.until(lambda: len(list(descriptors.iterdir())) < 150, "closed connections")


def test_fragments_and_pings_are_put_together(gateway):
    with gateway.client() as client:
        header = '{"channel":"shell","header":{"msg_id":"m","session":"s","msg_type":'
        rest = '"kernel_info_request"},"parent_header":{},"metadata":{},"content":{}}'
        frame = websocket.ABNF.create_frame
        client.socket.send_frame(frame(header, websocket.ABNF.OPCODE_TEXT, fin=0))
        client.socket.ping("between")
        client.socket.send_frame(frame(rest, websocket.ABNF.OPCODE_CONT, fin=1))
        opcode, data = client.socket.recv_data(control_frame=True)
        while opcode != websocket.ABNF.OPCODE_PONG:
            opcode, data = client.socket.recv_data(control_frame=True)
        assert data == b"between"
        (reply,) = client.finish("m").of("kernel_info_reply")
        assert reply["implementation"] == "ipython"


def test_unread_output_stops_the_kernel_and_fills_no_memory(own_gateway):
    gateway = own_gateway
    with gateway.client(v1=True) as client:
        client.run("import sys")
        before = memory(gateway)
        line = "x" * 99_999
        number = client.send(f"for _ in range(1000): print('{line}', flush=True)")
        # Nobody reads; the gateway and another request go on.
        assert gateway.request("GET", "/api").status_code == 200
        assert memory(gateway) < before + (64 << 20)
        assert len(client.finish(number).text) == 100_000_000
        assert memory(gateway) < before + (64 << 20)


def test_kernel_that_ends_is_logged_and_replaced(own_gateway):
    gateway = own_gateway
    with gateway.client() as client, gateway.client(v1=True) as other:
        client.run("lost = 1")
        # ZeroMQ sends in a thread of its own, which ends with the process.
        client.send(
            f"import os, time\nprint('last words', flush=True)\n"
            f"while not os.path.exists({str(gateway.folder / 'heard')!r}): time.sleep(0.01)\n"
            f"os._exit(3)"
        )
        while client.receive()["content"].get("text") != "last words\n":
            pass
        (gateway.folder / "heard").touch()
        client.until_status("restarting")
        other.until_status("restarting")
        (error,) = client.run("lost").of("error")
        assert error["ename"] == "NameError"
        assert other.run("1 + 1").value == "2"
        kill(gateway.kernel_pid())
        client.until_status("restarting")
        assert client.run("2 + 2").value == "4"
    assert "kernel 1 ended: exit code 3\n" in gateway.log
    assert "kernel 2 ended: exit code -9\n" in gateway.log


def test_restart_and_delete(own_gateway):
    gateway = own_gateway
    kernel = gateway.kernel()
    with gateway.client() as client:
        client.run("lost = 1")
        assert gateway.request("POST", f"/api/kernels/{kernel}/restart").status_code == 200
        client.until_status("restarting")
        assert client.run("lost").of("error")
        assert "ended" not in gateway.log
        assert gateway.request("DELETE", f"/api/kernels/{kernel}").status_code == 204
        client.until_status("dead")
        assert client.socket.recv_data()[0] == websocket.ABNF.OPCODE_CLOSE
    assert gateway.request("GET", "/api/kernels").json() == []
    assert gateway.request("POST", "/api/kernels").status_code == 201
    assert gateway.answers()


def test_kernel_that_cannot_start_is_given_up(own_gateway):
    gateway = own_gateway
    kernel = gateway.kernel()
    with gateway.client() as client:
        client.run("1")
        (folder,) = gateway.folder.glob("kernel-gateway-*")
        for start in range(2, 10):  # so that no other can create its sockets
            (folder / f"{kernel[:8]}-{start}-1").mkdir()
        kill(gateway.kernel_pid())
        client.until_status("dead")
    assert gateway.request("GET", f"/api/kernels/{kernel}").status_code == 404
    assert gateway.runs


def test_emptied_folder_does_not_end_later_kernels(own_gateway):
    gateway = own_gateway
    with gateway.client() as client:
        client.run("1")
        (folder,) = gateway.folder.glob("kernel-gateway-*")
        shutil.rmtree(folder)
        kill(gateway.kernel_pid())
        client.until_status("restarting")
        assert client.run("1 + 2").value == "3"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert gateway.answers()


def test_kernel_that_closes_its_sockets_is_no_trap(own_gateway):
    gateway = own_gateway
    with gateway.client() as client:
        client.run("import os")
        # ZeroMQ ends the process.
        client.send("os.closerange(3, 1000)")
        client.until_status("restarting")
        assert client.run("6 * 7").value == "42"


def test_gateway_that_is_killed_takes_its_kernel_along(own_gateway):
    pid = own_gateway.kernel_pid()
    with own_gateway.client() as client:
        client.run("1")
        os.kill(own_gateway.pid, 9)
        with contextlib.suppress(websocket.WebSocketException, OSError):
            while client.socket.recv():
                pass
    end = Path(f"/proc/{pid}/stat")

    def over():
        try:
            return end.read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True

    limit = time.monotonic() + PATIENCE
    while not over():
        assert time.monotonic() < limit
        time.sleep(0.01)
