"""Clients that are not the fork's own, on the gateway with a real kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import websocket
from gateway_process import PATIENCE, TOKEN

from smolagents_fork.sandboxes.docker.streams.exec_stream import RELAY


@pytest.mark.parametrize("v1", [False, True], ids=["json", "v1"])
def test_code_runs_in_both_layouts(gateway, v1):
    with gateway.client(v1=v1) as client:
        answer = client.run("print('printed'); 40 + 2")
        assert answer.value == "42"
        assert answer.text == "printed\n"
        kinds = [message["header"]["msg_type"] for message in answer.messages]
        assert {"status", "execute_input", "execute_reply"} <= set(kinds)
        channels = {m["header"]["msg_type"]: m["channel"] for m in answer.messages}
        assert channels["execute_reply"] == "shell"
        assert channels["status"] == "iopub"


def test_two_clients_share_a_kernel(gateway):
    with gateway.client() as one, gateway.client(v1=True) as other:
        one.run("shared = 5")
        number = other.send("shared + 1")
        assert other.finish(number).value == "6"
        # The first client sees what the second one does.
        seen = one.receive()
        while seen["parent_header"].get("msg_id") != number:
            seen = one.receive()


def test_requests_are_served_without_a_websocket(gateway):
    kernel = gateway.kernel()
    assert "version" in gateway.request("GET", "/api").json()
    (spec,) = gateway.request("GET", "/api/kernelspecs").json()["kernelspecs"].values()
    assert spec["spec"]["language"] == "python"
    found = gateway.request("GET", f"/api/kernels/{kernel}").json()
    assert (found["id"], found["name"]) == (kernel, "python3")
    assert gateway.request("GET", "/api/kernels/none").status_code == 404
    assert gateway.request("GET", "/elsewhere").status_code == 404
    assert gateway.request("PUT", "/api/kernels").status_code == 405
    assert gateway.request("GET", f"/api/kernels/{kernel}/channels").status_code == 426
    assert gateway.request("POST", "/api/kernels", data="{").status_code == 400
    ruby = '{"name": "ruby"}' + " " * 100_000
    assert gateway.request("POST", "/api/kernels", data=ruby).status_code == 404
    process = gateway.kernel_pid()
    assert gateway.request("GET", f"/api/kernels/{kernel}/restart").status_code == 405
    assert gateway.kernel_pid() == process
    assert gateway.answers()
    assert gateway.kernel_pid() == process
    assert gateway.request("POST", "/api/kernels", json={"name": "ruby"}).status_code == 404


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "token wrong"}, {"Authorization": f"basic {TOKEN}"}]
)
def test_token_is_needed(gateway, headers):
    import requests

    for path in ("/api", "/api/kernels", "/api/kernels?token=wrong"):
        address = f"http://127.0.0.1:{gateway.port}{path}"
        assert requests.get(address, headers=headers, timeout=PATIENCE).status_code == 401
    kernel = gateway.kernel()
    with pytest.raises(websocket.WebSocketBadStatusException, match="401"):
        websocket.create_connection(
            f"ws://127.0.0.1:{gateway.port}/api/kernels/{kernel}/channels",
            header=headers,
            timeout=PATIENCE,
        )


def test_pages_of_other_sites_are_refused(gateway):
    headers = {"Origin": "http://elsewhere.example"}
    assert gateway.request("GET", "/api", headers=headers).status_code == 403
    headers = {"Origin": f"http://127.0.0.1:{gateway.port}"}
    assert gateway.request("GET", "/api", headers=headers).status_code == 200


def test_interrupt_stops_code_and_keeps_state(gateway):
    with gateway.client() as client:
        client.run("kept = 7")
        number = client.send("import time\nprint('begun', flush=True)\ntime.sleep(600)")
        while client.receive()["header"]["msg_type"] != "stream":
            pass
        path = f"/api/kernels/{gateway.kernel()}/interrupt"
        assert gateway.request("POST", path).status_code == 204
        (error,) = client.finish(number).of("error")
        assert error["ename"] == "KeyboardInterrupt"
        assert client.run("kept").value == "7"


def test_control_channel_interrupts_too(gateway):
    with gateway.client(v1=True) as client:
        number = client.send("import time\nprint('begun', flush=True)\ntime.sleep(600)")
        while client.receive()["header"]["msg_type"] != "stream":
            pass
        client.send("", channel="control", kind="interrupt_request")
        (error,) = client.finish(number).of("error")
        assert error["ename"] == "KeyboardInterrupt"


def test_long_messages_pass_both_ways(gateway):
    with gateway.client(v1=True) as client:
        text = "x" * 8_000_000  # more than a socket's buffers take
        # Not in the code, which IPython would parse for seconds.
        code = "text = get_ipython().kernel.get_parent('shell')['metadata']['text']; len(text)"
        sent = client.send(code, metadata={"text": text})
        assert client.finish(sent).value == "8000000"
        assert len(client.run("print(text)").text) == 8_000_001


def test_kernel_has_neither_token_nor_descriptors_of_the_gateway(gateway):
    with gateway.client() as client:
        seen = client.run(
            "import os, json\n"
            "own = open('/proc/self/environ').read()\n"
            "parents = open(f'/proc/{os.getppid()}/environ').read()\n"
            "print(json.dumps([own, parents, dict(os.environ)]))"
        )
        assert TOKEN not in seen.text
        links = json.loads(
            client.run(
                "found = []\n"
                "for name in os.listdir('/proc/self/fd'):\n"
                "    try: found.append(os.readlink('/proc/self/fd/' + name))\n"
                "    except OSError: pass\n"
                "print(json.dumps(found))"
            ).text
        )
        listening = Path(f"/proc/{gateway.pid}/fd")
        gateways = {os.readlink(one) for one in listening.iterdir()}
        shared = {link for link in gateways & set(links) if link.startswith("socket:")}
        assert shared == set()
        assert os.readlink(f"/proc/{gateway.kernel_pid()}/fd/0") == "/dev/null"


def test_program_cannot_import_the_gateway(gateway):
    names = ("gateway", "gateway_clients", "gateway_ipython", "gateway_kernels", "gateway_streams")
    with gateway.client() as client:
        for name in names:
            (error,) = client.run(f"import {name}").of("error")
            assert error["ename"] == "ModuleNotFoundError"


def test_process_is_named_like_a_kernel(gateway):
    line = Path(f"/proc/{gateway.kernel_pid()}/cmdline").read_bytes()
    assert line.strip(b"\0") == b"ipykernel"


def test_relay_passes_requests_on_to_the_end_of_its_input(gateway):
    argv = [sys.executable, "-I", "-S", "-c", RELAY, str(gateway.port), "60"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as relay:
        request = f"GET /api/kernels?token={TOKEN} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        for _ in range(2):
            relay.stdin.write(request.encode())
            head = b""
            while b"\r\n\r\n" not in head:
                head += relay.stdout.read(1)
            assert head.startswith(b"HTTP/1.1 200 OK\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split()[0])
            while length:
                length -= len(relay.stdout.read(length))
        relay.stdin.close()
        assert relay.stdout.read() == b""
        assert relay.wait(PATIENCE) == 0
        assert relay.stderr.read() == b""


def test_connection_ends_with_its_relay(gateway):
    argv = [sys.executable, "-I", "-S", "-c", RELAY, str(gateway.port), "60"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, bufsize=0) as relay:
        relay.stdin.write(f"GET /api?token={TOKEN} HTTP/1.1\r\n\r\n".encode())
        assert relay.stdout.read(8) == b"HTTP/1.1"
        relay.kill()
        while relay.stdout.read(65_536):
            pass
    assert gateway.answers()
