"""An executor's behaviour if its child's frames arrive byte by byte, or many at once."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time

import pytest
from background import acting, eventually
from process_harness import limited_to

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import (
    ProgramFailedError,
    ProgramInterruptedError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from smolagents_fork.process import spawn

_PAUSE_SECONDS = 0.005
_LONGEST_SECONDS = 0.1


def split(data, _source, target):
    for at in range(len(data)):
        target.send(data[at : at + 1])


def gather(data, source, target):
    end = time.monotonic() + _LONGEST_SECONDS
    more = data
    while more and time.monotonic() < end and select.select([source], [], [], _PAUSE_SECONDS)[0]:
        more = source.recv(1 << 20)
        data += more
    target.sendall(data)


class Relay:
    """Relay between the host's socket and the child's that changes packet boundaries."""

    def __init__(self, far, cut):
        self.near, self.middle = socket.socketpair()
        self.far, self.cut = far, cut
        self.threads = [
            threading.Thread(target=self.copy, args=ends, daemon=True)
            for ends in ((self.middle, far), (far, self.middle))
        ]
        for thread in self.threads:
            thread.start()

    def copy(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.cut(data, source, target)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def close(self):
        for end in (self.middle, self.far):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(60)
        for end in (self.middle, self.far):
            end.close()


@pytest.fixture(params=[split, gather])
def regrouped(request, monkeypatch):
    relays = []
    child = spawn.Child

    def behind_relay(pid, data, *rest):
        relays.append(Relay(data, request.param))
        return child(pid, relays[-1].near, *rest)

    monkeypatch.setattr(spawn, "Child", behind_relay)
    yield relays
    for relay in relays:
        relay.close()


def test_behaviour_is_independent_of_packet_boundaries(regrouped):
    printed = []
    with ProcessExecutor(
        ["time"],
        timeout_seconds=240,
        interrupt_grace_seconds=120,
        startup_timeout_seconds=240,
        additional_functions={"double": lambda number: number * 2},
        on_output=printed.append,
    ) as executor:
        executor("kept = [1]")
        said = executor("for n in range(300):\n    print(n)\nkept")
        assert (said.output, said.logs) == ([1], "".join(f"{n}\n" for n in range(300)))
        with pytest.raises(ProgramFailedError, match="ZeroDivisionError"):
            executor("print('printed before')\n1/0")
        assert executor.state["_print_outputs"] == "printed before\n"

        values = {"data": bytes(range(256)) * 20, "text": "ä€😀" * 50, "number": 10**30}
        executor.send_variables({"values": values})
        assert executor("values").output == values
        assert executor("[double(n) for n in range(5)]").output == [0, 2, 4, 6, 8]

        busy = "import time\nprint('begun')\nfor _ in range(30_000):\n    time.sleep(0.01)"
        printed.clear()
        with (
            acting(lambda: "begun" in "".join(printed), executor.interrupt),
            pytest.raises(ProgramInterruptedError, match="state is kept"),
        ):
            executor(busy)
        with (
            limited_to(executor, 0.3),
            pytest.raises(SandboxTimeoutError, match="state kept"),
        ):
            executor(busy)
        assert executor("kept").output == [1]

        printed.clear()
        with (
            acting(lambda: "begun" in "".join(printed), executor._session.guest.kill),
            pytest.raises(SandboxDiedError, match="SIGKILL"),
        ):
            executor(busy)
        assert executor("double(values['number'])").output == 2 * 10**30
        executor.restart()
        assert executor("double(values['number'])").output == 2 * 10**30
        child = executor._session.guest.process
    assert child.ended
    assert eventually(lambda: not any(t.is_alive() for relay in regrouped for t in relay.threads))
