"""A sandbox that speaks the protocol itself, against the host that serves it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from typing import Any

import pytest
from bridge_harness import Sandbox

from smolagents_fork import ProcessExecutor, codec
from smolagents_fork.errors import ExecutorError, ProtocolError
from smolagents_fork.guest.frames import HEADER, Kind
from tests.unit.bridge.hostile_frames import PROCESS, REQUESTS

CALL = b'{"call":1,"name":"tool","args":["forged"],"kwargs":{}}'

# Sends requests to the host over the kernel's sockets, without the fork's code in the kernel.
ASK = """
def ask(buffers, prompt=None, parent=None, kind="input_request"):
    sandbox = __smolagents_fork__
    kernel = sandbox.kernel
    kernel.session.send(
        kernel.stdin_socket, kind,
        {"prompt": sandbox.comm_id + " 1" if prompt is None else prompt, "password": False},
        kernel.get_parent("shell") if parent is None else parent,
        ident=type(sandbox).exchange.__globals__["_parent_ident"](kernel), buffers=buffers,
    )
"""


class Served:
    """Executor, the arguments of its tool calls, and a check that it still works."""

    def __init__(self, executor: Any) -> None:
        self.executor = executor
        self.called: list[Any] = []
        executor.send_tools({"tool": self.called.append, "final_answer": lambda answer: answer})

    def works(self) -> bool:
        """Return whether the next honest call is served and gets its answer."""
        before = len(self.called)
        self.executor("tool('honest')")
        return self.called[before:] == ["honest"]


@pytest.fixture
def kernel(sandboxes: Any, request: pytest.FixtureRequest) -> Served:
    """Give a container whose code can reach its kernel, like any code in a container."""
    request.getfixturevalue("engine")
    if "docker" not in sandboxes:
        sandboxes["docker"] = Sandbox("docker")
    served = Served(sandboxes["docker"].executor)
    served.executor(ASK)
    return served


@pytest.fixture
def child() -> Iterator[Served]:
    """Give a child whose code has ``os``, and thus the connection to the host."""
    with ProcessExecutor(
        ["os", "time"],
        timeout_seconds=5,
        interrupt_grace_seconds=0.3,
        max_value_bytes=1_000_000,
    ) as made:
        yield Served(made)


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    # Kilobytes on Linux, where these run.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


@pytest.mark.docker
def test_hostile_frames_from_a_kernel(kernel):
    kernel.executor.send_variables({"frames": REQUESTS})
    replies = kernel.executor(
        "{name: bytes(__smolagents_fork__.exchange(data)) for name, data in frames.items()}"
    ).output
    assert replies.keys() == REQUESTS.keys()
    for name, reply in replies.items():
        assert "error" in codec.decode(reply), name
    assert kernel.called == []
    assert kernel.works()


@pytest.mark.docker
def test_frames_that_a_program_prints_are_text(kernel):
    code = f"print({CALL.decode()!r})\nimport os, sys\nsys.stderr.write({CALL.decode()!r})\n"
    assert '"forged"' in kernel.executor(code).logs
    assert kernel.called == []


@pytest.mark.docker
def test_a_program_that_overwrites_stubs_and_numbers(kernel):
    code = (
        "calls = __smolagents_fork__.calls\n"
        "tool = final_answer = lambda *a: 'mine'\n"
        "calls._last = 10**6\nfirst = calls.call('tool', ['a'], {})\n"
        "words = []\ncalls._last = -5\n"
        "try:\n    calls.call('tool', ['b'], {})\n"
        "except ValueError as error:\n    words.append(str(error))\n"
        "calls._last = 10**7\n"
        "for name in ('os.system', 'register', '__class__', 'handle'):\n"
        "    try:\n        calls.call(name, ['id'], {})\n"
        "    except NameError as error:\n        words.append(str(error))\n"
        "[tool(1), final_answer(2), words]"
    )
    output = kernel.executor(code)
    assert not output.is_final_answer
    assert output.output[:2] == ["mine", "mine"]
    assert output.output[2][0] == "call -4 was made before"
    assert output.output[2][1] == "the host has no tool called 'os.system'"
    assert len(output.output[2]) == 5
    assert kernel.called == ["a"]
    kernel.executor.send_tools({"tool": kernel.called.append})
    assert kernel.works()


@pytest.mark.docker
def test_calls_of_an_earlier_run_are_not_served(kernel):
    kernel.executor("earlier = __smolagents_fork__.kernel.get_parent('shell')")
    kernel.executor(
        f"import time\nfor n in range(20):\n    ask([{CALL!r}], parent=earlier)\ntime.sleep(0.5)"
    )
    assert kernel.called == []
    assert kernel.works()


@pytest.mark.docker
@pytest.mark.parametrize("buffers", ["[b'x']", "[]", f"[{CALL!r}]"], ids=["junk", "none", "calls"])
def test_a_flood_over_the_kernels_stdin_channel_is_cut_off(kernel, buffers):
    with pytest.raises(ProtocolError, match="continued after 100 refused calls"):
        kernel.executor(f"for n in range(10**9):\n    ask({buffers})")
    # A forged call that is in order is a call: the program could have made it.
    assert len(kernel.called) <= 1
    assert kernel.works()


@pytest.mark.docker
def test_repeated_requests_of_a_kernel_are_bounded(kernel):
    kernel.executor("import time\nask([b'x'], prompt='x ' + '1' * 20_000_000)\ntime.sleep(0.5)")
    assert kernel.called == []
    assert kernel.works()


@pytest.mark.docker
def test_interruption_does_not_split_a_message(kernel):
    """An interruption between two parts of a message would corrupt the socket permanently."""
    code = (
        "import os, signal\nkept = 'from before'\n"
        "kind = type(__smolagents_fork__.kernel.stdin_socket)\nwhole, parts = kind.send, []\n"
        "def send(self, *args, **kwargs):\n    parts.append(1)\n"
        "    if len(parts) == 3:\n        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return whole(self, *args, **kwargs)\n"
        "kind.send = send\n"
        "try:\n    tool(0)\nfinally:\n    kind.send = whole"
    )
    with pytest.raises(Exception, match="KeyboardInterrupt"):
        kernel.executor(code)
    assert kernel.executor("[kept, len(parts) > 3]").output == ["from before", True]
    assert kernel.works()


def test_hostile_frames_from_a_child(child):
    # With the number of the run, one after the other, without waiting for an answer.
    run = 1
    frames = b"".join(HEADER.pack(Kind.CALL, run, len(data)) + data for data in REQUESTS.values())
    child.executor(f"import os, time\nos.write(1000, {frames!r})\ntime.sleep(0.5)")
    assert child.called == []
    assert child.works()


def test_streams_from_a_child(child):
    ended = 0
    for name, data in PROCESS.items():
        for code in (f"import os, time\nos.write(1000, {data!r})\ntime.sleep(0.1)", "1 + 1", "2"):
            try:
                child.executor(code)
            except ExecutorError:
                ended += 1
        assert child.executor("3").output == 3, name
    assert ended >= len(PROCESS) - 1
    assert child.called == []
    assert child.works()
