"""The session over an engine of a user's own; the executors' contract has it over the others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from smolagents_fork.call_output import CallOutput
from smolagents_fork.errors import ExecutorClosedError, SandboxDiedError, SandboxTimeoutError
from smolagents_fork.executors.call_options import CallOptions
from smolagents_fork.executors.jupyter.connection import KernelConnection, KernelSettings
from smolagents_fork.executors.jupyter.kernel_guest import KernelGuestSource
from smolagents_fork.executors.jupyter.kernel_options import KernelOptions
from smolagents_fork.executors.session.bindings import Bindings
from smolagents_fork.executors.session.guest import Request, Task
from smolagents_fork.executors.session.guest_files import GuestFiles
from smolagents_fork.executors.session.session import Session

pytestmark = [
    pytest.mark.network,
    pytest.mark.parametrize("connected", ["job"], indirect=True),
]
#: A start takes less than a second on an idle machine, and much more on a busy one.
START_SECONDS = 180


class Made:
    """A session over one provisioner, with the output and error of its last code."""

    def __init__(self, place: Any, **changes: Any) -> None:
        self.prepared = 0
        limits = KernelOptions(startup_timeout_seconds=START_SECONDS, **changes)
        spec = place.spec
        self.connection = KernelConnection(place.provisioner, spec, KernelSettings(allow_root=True))
        source = KernelGuestSource(self.connection, START_SECONDS)
        bindings = Bindings(CallOptions(), lambda _record: None, None)
        self.session = Session(limits, source, bindings, self._prepare)
        self.session.open()

    def _prepare(self, ask: Any) -> None:
        self.prepared += 1
        ask(Request(Task.CODE, code="prepared = True"), "preparing")

    def run(self, code: str) -> Any:
        output = CallOutput(1_000_000, 1_000_000)
        outcome = self.session.run(code, output)
        self.error = outcome.failure
        self.logs = output.logs()
        return outcome.output


@pytest.fixture
def make(place: Any) -> Iterator[Any]:
    made: list[Made] = []

    def build(**changes: Any) -> Made:
        made.append(Made(place, **changes))
        return made[-1]

    yield build
    for one in made:
        one.session.close()


def test_code_runs_and_keeps_its_state(make):
    made = make()
    assert made.run("value = 40\nprint('said')\nvalue + 2") == 42
    assert made.logs == "said\n"
    assert made.run("value, prepared") == (40, True)
    assert made.prepared == 1
    assert made.session.is_alive()
    made.run("1/0")
    assert made.error.name == "ZeroDivisionError"


def test_environment_and_folder_are_those_of_the_spec(make, place):
    place.spec = type(place.spec)(**{**vars(place.spec), "environment": {"ASKED": "for"}})
    made = make()
    assert made.run("import os; os.environ['ASKED'], os.getcwd()") == ("for", place.spec.workdir)


def test_files_are_those_of_the_code(make):
    made = make()
    files = GuestFiles(made.connection.ask_file, memory=None)
    files.write_file("in/file", [b"from the host"], 13)
    assert made.run("open('in/file').read()") == "from the host"
    made.run("open('out', 'w').write('from the code')")
    assert files.read_file("out", 100) == b"from the code"
    assert sorted(one.path for one in files.list_files(".")) == ["in/file", "out"]


def test_code_past_timeout_is_interrupted_and_its_state_kept(make):
    made = make(timeout_seconds=2.0, interrupt_grace_seconds=120.0)
    made.run("kept = 1")
    with pytest.raises(SandboxTimeoutError, match="its state kept"):
        made.run("while True: pass")
    assert made.run("kept") == 1


def test_kernel_that_ends_is_named_and_replaced(make):
    made = make()
    with pytest.raises(SandboxDiedError, match=r"sandbox \w+ ended: .*exit code 3"):
        made.run("import os; os._exit(3)")
    assert made.run("prepared") is True
    assert made.prepared == 2


def test_sandbox_that_ends_is_named_and_replaced(make):
    made = make()
    first = made.connection.sandbox.id
    with pytest.raises(SandboxDiedError, match=rf"sandbox {first} ended: .*exit code 137"):
        made.run("import os, signal, time; os.kill(os.getpid(), signal.SIGKILL); time.sleep(60)")
    assert made.run("prepared") is True
    assert made.connection.sandbox.id != first


def test_on_death_fail_keeps_a_dead_sandbox_dead(make):
    made = make(on_death="fail")
    with pytest.raises(SandboxDiedError, match="on_death='fail'"):
        made.run("import os; os._exit(3)")
    assert not made.session.is_alive()
    with pytest.raises(SandboxDiedError):
        made.run("1")
    made.session.open()
    assert made.run("1") == 1


def test_memory_past_the_limit_is_refused(make):
    made = make()
    # An engine may refuse the memory, or end the process that took it.
    refused = """try: len(b'x' * (3 << 30))
except MemoryError: ended = 'refused'
ended"""
    ended = None
    with contextlib.suppress(SandboxDiedError):
        ended = made.run(refused)
    assert ended in ("refused", None)
    assert made.run("'goes on'") == "goes on"


def test_closed_session_says_so(make, place):
    made = make()
    sandbox = made.connection.sandbox
    made.session.close()
    made.session.close()
    assert place.provisioner.wait_until_removed(120)
    assert not sandbox.status().running
    with pytest.raises(ExecutorClosedError):
        made.run("1")
