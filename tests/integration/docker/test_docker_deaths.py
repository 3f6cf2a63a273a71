"""Whatever ends, it is noticed at once, with its cause, and nothing hangs."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest

from smolagents_fork.errors import ExecutorError, SandboxDiedError

SLEEP = "print('before', flush=True)\nimport time\ntime.sleep(50)"


def kill_inside(executor, words):
    """Kill the container's process whose command line has ``words``, from outside of the kernel."""
    script = (
        "import os,sys\n"
        "for p in os.listdir('/proc'):\n"
        "    if p.isdigit() and int(p) not in (1, os.getpid()):\n"
        "        line = open(f'/proc/{p}/cmdline','rb').read()\n"
        f"        if {words!r}.encode() in line: os.kill(int(p), 9)\n"
    )
    executor.container.exec_run(["python3", "-c", script])


def died(executor, action, code=SLEEP):
    """The error of a call during which ``action`` is carried out, and the seconds it took after."""
    when = []

    def act():
        time.sleep(0.7)
        action()
        when.append(time.monotonic())

    worker = threading.Thread(target=act)
    worker.start()
    with pytest.raises(ExecutorError) as caught:
        executor(code)
    noticed = time.monotonic()
    worker.join(30)
    assert noticed - when[0] < 5
    assert isinstance(caught.value, SandboxDiedError), repr(caught.value)
    return str(caught.value)


def test_exit_of_the_kernel(make):
    executor = make()
    executor.send_variables({"given": 5})
    started = time.monotonic()
    with pytest.raises(SandboxDiedError) as caught:
        executor("print('before', flush=True)\nimport os, time\ntime.sleep(.3)\nos._exit(7)")
    assert time.monotonic() - started < 5
    message = str(caught.value)
    assert "the kernel in container" in message
    assert "exit code 7" in message
    assert "its state is lost" in message
    assert "before" in message
    assert executor("given").output == 5


def test_kernel_killed(make):
    executor = make()
    message = died(executor, lambda: kill_inside(executor, "ipykernel"))
    assert "exit code -9" in message
    assert executor("1").output == 1


def test_gateway_killed(make):
    executor = make()
    message = died(executor, lambda: kill_inside(executor, "gateway.py"))
    assert "container" in message
    assert "its state is lost" in message
    assert executor("1").output == 1


def test_relay_killed(make):
    executor = make()
    message = died(executor, lambda: kill_inside(executor, "create_connection"))
    assert "its state is lost" in message
    assert executor("1").output == 1


def test_container_killed_from_outside(make, engine):
    executor = make()
    name = executor.container.name
    message = died(executor, lambda: engine.api.kill(name))
    assert "ended" in message
    assert "exit code 137" in message
    assert executor("1").output == 1


def test_container_removed_while_idle(make, engine):
    executor = make()
    engine.api.remove_container(executor.container.name, force=True)
    time.sleep(0.3)
    assert not executor.is_alive()
    with pytest.raises(SandboxDiedError):
        executor("1")
    assert executor("1").output == 1


def test_kernel_that_ends_between_calls_is_told_once(make):
    executor = make()
    executor("import os, threading\nthreading.Timer(0.3, os._exit, [9]).start()")
    time.sleep(1.5)
    with pytest.raises(SandboxDiedError, match="exit code 9"):
        executor("1")
    assert executor("1").output == 1


def test_kernel_that_keeps_dying_never_hangs(make):
    executor = make()
    for _ in range(4):
        with pytest.raises(SandboxDiedError):
            executor("import os; os._exit(1)")
    assert executor("1").output == 1


class Proxy:
    """A TCP port that leads to the engine's socket, and can be cut."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.target)
            self.open += [near, far]
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=(a, b), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def cut(self) -> None:
        # shutdown wakes the thread in accept(); close() alone leaves the port open until it wakes.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for sock in self.open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()


@pytest.fixture
def proxy(engine, monkeypatch):
    base = engine.api.base_url
    if "unix" not in base and not base.startswith("http+docker"):
        pytest.skip("the engine is not on a local socket")
    made = Proxy("/var/run/docker.sock")
    monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{made.port}")
    yield made
    made.cut()


def test_remote_engine_over_tcp(make, proxy):
    executor = make()
    assert executor("21 * 2").output == 42
    executor.put_file(b"over tcp", "f")
    assert executor.get_file("f") == b"over tcp"
    assert executor("open('f').read()").output == "over tcp"


def test_engine_that_goes_away_in_mid_call(make, proxy):
    executor = make()
    message = died(executor, proxy.cut)
    assert "the engine does not answer any more" in message
    started = time.monotonic()
    executor.cleanup()
    assert time.monotonic() - started < 5
