"""A stop that the host asks for ends the program, at whatever moment its signal arrives."""

from __future__ import annotations

import asyncio
import gc
import linecache
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import smolagents_fork
from smolagents_fork.codec import decode
from smolagents_fork.guest.frames import Frame, Kind
from smolagents_fork.guest.guest_worker import Worker

TRACED = tuple(os.path.dirname(str(module.__file__)) for module in (asyncio, smolagents_fork))
OPTIONS = {
    "imports": [],
    "max_value_bytes": 1000,
}


class Host:
    """Host's end of a connection that lives in this process.

    Args:
        *codes: the programs to run, one after another.
    """

    run = 0

    def __init__(self, *codes: str) -> None:
        self._runs = iter(enumerate(codes, 1))
        self.stop_asked = False
        self.sent: list[tuple[Kind, Any]] = []

    def receive(self) -> Frame | None:
        number, code = next(self._runs, (0, ""))
        return Frame(Kind.RUN, number, code.encode()) if number else None

    def send(self, kind: Kind, run: int, body: bytes = b"") -> None:
        if kind is not Kind.TEXT:
            self.sent.append((kind, decode(body)))


@pytest.fixture(autouse=True)
def process_of_the_tests() -> Iterator[None]:
    """Give this process back what a worker takes: main module, streams, handler of interrupts."""
    before = (sys.modules["__main__"], sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)
    sys.modules["__main__"], sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__ = before  # type: ignore[misc]


def stop(host: Host, worker: Worker) -> None:
    """Have the host ask for a stop, and its signal arrive."""
    host.stop_asked = True
    try:
        worker.stop_if_asked(2, sys._getframe())
    finally:
        host.stop_asked = False


def worker_that_stops(host: Host, *imports: str) -> Worker:
    """Return a worker whose programs have ``stop()``."""
    worker = Worker(host, {**OPTIONS, "imports": list(imports)})
    worker._engine.send_tools({"stop": lambda: stop(host, worker)})
    return worker


def asked_in(host: Host, worker: Worker, target: Any, name: str) -> list[str]:
    """Stop whenever a method is called."""
    method, called = getattr(target, name), []

    def interrupted(*arguments: Any, **keywords: Any) -> Any:
        called.append(name)
        stop(host, worker)
        return method(*arguments, **keywords)

    setattr(target, name, interrupted)
    return called


def test_signal_before_and_after_a_run_leaves_it_whole() -> None:
    host = Host("6 * 7", "6 * 7")
    worker = Worker(host, OPTIONS)
    called = asked_in(host, worker, worker, "_outcome") + asked_in(host, worker, host, "send")
    worker.serve()
    assert host.sent == [(Kind.DONE, 42)] * 2
    assert called == []  # the lists are those of before the calls


@pytest.mark.parametrize(
    "code",
    [
        "stop()",
        "class Value:\n    def __repr__(self): stop(); return 'text'\nValue()",
        "class Bad(Exception):\n    def __str__(self): stop(); return 'text'\nraise Bad",
        "try:\n    stop()\nfinally:\n    2",
        "import asyncio\nasync def wait(): stop()\nawait wait()",
        "import asyncio\nasync def wait(): stop()\nasyncio.run(wait())",
    ],
)
def test_program_is_stopped_with_its_value_and_texts_and_the_next_run_works(code: str) -> None:
    host = Host(f"begun = 1\n{code}", "begun + 2")
    worker = worker_that_stops(host, "asyncio")
    worker.serve()
    if worker._engine._loop.loop is not None:
        worker._engine._loop.loop.close()
    (kind, failure), after = host.sent
    assert (kind, failure["kind"]) == (Kind.FAILED, "TimeLimitExceededError")
    assert "stopped from outside" in failure["message"]
    assert after == (Kind.DONE, 3)


def test_import_is_not_stopped_in_the_middle(tmp_path, monkeypatch) -> None:
    (tmp_path / "slow_to_import.py").write_text("import __main__\n__main__.stop()\nwhole = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    host = Host("import slow_to_import\nslow_to_import.whole")
    worker = Worker(host, {**OPTIONS, "imports": ["slow_to_import"]})

    def stop() -> None:
        host.stop_asked = True
        worker.stop_if_asked(2, sys._getframe())

    worker._engine.send_tools({"stop": stop})
    worker.serve()
    assert host.sent == [(Kind.DONE, True)]


def test_handler_that_a_program_sets_lasts_for_its_run() -> None:
    host = Host("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n1", "2")
    worker = Worker(host, {**OPTIONS, "imports": ["signal"]})
    worker.serve()
    assert signal.getsignal(signal.SIGINT) == worker.stop_if_asked
    assert host.sent == [(Kind.DONE, 1), (Kind.DONE, 2)]


class PersistentHost(Host):
    """A host that goes on asking for the end of its first run, once it has asked."""

    asked = False
    repeat: Callable[[Any], None]

    @property
    def stop_asked(self) -> bool:  # type: ignore[override]
        return self.asked and self.run == 1

    @stop_asked.setter
    def stop_asked(self, value: bool) -> None:
        del value

    def ask(self, frame: Any) -> None:
        """Ask, and let the signal arrive."""
        self.asked = True
        self.repeat(frame)


class Signals:
    """A trace function: one signal at a line of the package or of asyncio, and one 40 lines later.

    Args:
        first: number of the line.
        arrive: handles the signal.
    """

    def __init__(self, first: int, arrive: Callable[[Any], None]) -> None:
        self.lines, self._at, self._arrive = 0, {first, first + 40}, arrive

    def __call__(self, frame: Any, _event: str, _argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(TRACED) else None

    def _line(self, frame: Any, event: str, _argument: Any) -> Any:
        # At the end of a with block the line comes again, before the block is left. No signal's
        # handler runs there, so that a lock would be kept by the test alone.
        source = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and not source.lstrip().startswith("with "):
            self.lines += 1
            if self.lines in self._at:
                self._arrive(frame)
        return self._line


# A signal between two lines may leave a coroutine that was not begun and a loop that nothing refers
# to; one in a finalizer is dropped, and the host repeats it. The next may end pytest's own hook for
# what is dropped.
@pytest.mark.filterwarnings("ignore:unclosed event loop")
@pytest.mark.filterwarnings(
    "ignore:coroutine '(main|<module>|BaseEventLoop.shutdown_asyncgens)' was never"
)
@pytest.mark.parametrize(
    "code",
    [
        "class Two:\n    def __repr__(self): return f'{2:>5}'\nTwo()",
        "raise ValueError('x')",
    ],
    ids=["text", "error"],
)
def test_signals_at_each_line_leave_a_worker_that_works(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _dropped: None)
    first, stopped, ended = 0, 0, False
    while not ended:
        first += 1
        host = PersistentHost(code, "6 * 7")
        worker = Worker(host, {**OPTIONS, "imports": ["asyncio"]})
        host.repeat = lambda frame, worker=worker: worker.stop_if_asked(2, frame)
        signals, tracing = Signals(first, host.ask), sys.gettrace()
        # The host repeats its signal for as long as the run lasts.
        signal.signal(signal.SIGALRM, lambda _, frame, host=host: host.repeat(frame))
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        sys.settrace(signals)
        try:
            worker.serve()
        finally:
            sys.settrace(tracing)
            signal.setitimer(signal.ITIMER_REAL, 0)
        if worker._engine._loop.loop is not None:
            worker._engine._loop.loop.close()
        (kind, answer), after = host.sent
        assert after == (Kind.DONE, 42)
        stopped += kind is Kind.FAILED and answer["kind"] == "TimeLimitExceededError"
        ended = signals.lines < first
    gc.collect()  # here, where its warnings are expected
    assert stopped > 20
