"""The dispatcher: registered names only, whatever the frame; errors without secrets; caps."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import gc
import json
import os
import signal
import sqlite3
import sys
import threading
from typing import Any

import pytest
from background import acting, eventually, running
from smolagents import tool

from smolagents_fork import codec
from smolagents_fork.bridge import CallRecord, Dispatcher
from smolagents_fork.bridge.exceptions import scrub_message
from smolagents_fork.bridge.thread import CallThread, ToolThread
from smolagents_fork.codec import decode
from smolagents_fork.codec.rpc import RUN_ENDED, HostCalls, rebuilt_exception
from smolagents_fork.errors import ConfigurationError, DecodeError


class Ended(BaseException):
    """Exception that ends a run in a sandbox."""


def finish() -> None:
    raise Ended


def connected(dispatcher: Dispatcher) -> dict[str, Any]:
    """Return stubs of all registered callables, as in a new sandbox."""
    dispatcher.begin_run()
    calls = HostCalls(dispatcher.handle, finish)
    return {spec.name: calls.stub(**spec.as_data()) for spec in dispatcher.specs}


def serving(
    *, calling_thread: bool | None = None, **targets: Any
) -> tuple[Dispatcher, dict[str, Any]]:
    dispatcher = Dispatcher(calling_thread=calling_thread)
    dispatcher.register(targets)
    return dispatcher, connected(dispatcher)


def request(number: Any = 1, name: Any = "tool", args: Any = (), kwargs: Any = None) -> bytes:
    return json.dumps(
        {"call": number, "name": name, "args": list(args), "kwargs": kwargs or {}}
    ).encode()


# -- the final answer --


def test_final_answer_may_be_none_or_unencodable():
    dispatcher, stubs = serving(final_answer=lambda answer: None if answer else object())
    with pytest.raises(Ended):
        stubs["final_answer"](True)
    assert (dispatcher.has_final_answer, dispatcher.final_answer) == (True, None)
    dispatcher.begin_run()
    with pytest.raises(Ended):
        stubs["final_answer"](False)
    assert type(dispatcher.final_answer) is object


# -- exceptions --


class OwnError(Exception):
    pass


class OwnValueError(ValueError):
    pass


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ValueError("bad value"), ValueError, "bad value"),
        (KeyError("name"), KeyError, "'name'"),
        (ZeroDivisionError("division by zero"), ZeroDivisionError, "division by zero"),
        (OwnValueError("bad"), ValueError, "OwnValueError: bad"),
        (OwnError("bad"), RuntimeError, "OwnError: bad"),
        (Exception("bare"), Exception, "bare"),
        (StopIteration(3), RuntimeError, "StopIteration: 3"),
        (FileNotFoundError(2, "No", "notes"), FileNotFoundError, "[Errno 2] No: 'notes'"),
        (FileNotFoundError(2, "No", "/etc/x"), FileNotFoundError, "[Errno 2] No: '<host path>'"),
        (OSError(18, "No", "a", None, "b"), OSError, "[Errno 18] No: 'a' -> 'b'"),
        (OSError("just words"), OSError, "just words"),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), UnicodeError, "UnicodeDecodeError: "),
        (ValueError({"an": "object"}), ValueError, "{'an': 'object'}"),
        (ValueError(), ValueError, ""),
        (Unprintable(), RuntimeError, "without a readable message"),
    ],
)  # fmt: skip
def test_an_exception_arrives_as_the_matching_builtin(error, kind, text):
    def tool() -> None:
        raise error

    _, stubs = serving(tool=tool)
    with pytest.raises(kind) as caught:
        stubs["tool"]()
    assert type(caught.value) is kind
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("message", "clean"),
    [
        ("no ~/.ssh/id_rsa here", "no <host path> here"),
        (r"C:\Users\me\key.txt is gone", "<host path> is gone"),
        ("1/2 and a/b and 3 / 4", "1/2 and a/b and 3 / 4"),
        (
            f"no {__file__}: see https://a.org/b and /v1/u",
            "no <host path>: see https://a.org/b and /v1/u",
        ),
        (
            'Traceback (most recent call last):\n  File "x.py", line 3\n    g()\nOSError: no',
            "OSError: no",
        ),
        ("x" * 20_000, "x" * 10_000 + "... (20000 characters)"),
    ],
)
def test_messages_are_scrubbed(message, clean):
    assert scrub_message(message) == clean


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups came with Python 3.11")
def test_error_of_a_tool_whose_tasks_failed_names_each_failure():
    async def fetch(address):
        raise ConnectionError(f"{address} is down, says {__file__}")

    async def fetch_both():
        async with asyncio.TaskGroup() as group:  # of Python 3.11
            group.create_task(fetch("first"))
            group.create_task(fetch("second"))

    _, stubs = serving(fetch_both=fetch_both)
    with pytest.raises(RuntimeError) as caught:
        stubs["fetch_both"]()
    assert str(caught.value) == (
        "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)\n"
        "  ConnectionError: first is down, says <host path>\n"
        "  ConnectionError: second is down, says <host path>"
    )


def test_a_rebuilt_exception_is_never_a_class_of_the_data():
    assert type(rebuilt_exception("SystemExit", ["x"], "x", "")) is RuntimeError
    assert type(rebuilt_exception("print", ["x"], "x", "")) is RuntimeError
    assert type(rebuilt_exception(["x"], None, "x", "")) is RuntimeError
    assert rebuilt_exception("UnicodeDecodeError", ["x"], "words", "").args == ("words",)


@pytest.mark.parametrize("calling_thread", [False, True])
@pytest.mark.parametrize(
    "error", [SystemExit(3), GeneratorExit("g"), KeyboardInterrupt("k"), Ended("own")], ids=repr
)
def test_exception_that_ends_threads_arrives_as_an_error(error, calling_thread):
    def tool() -> None:
        raise error

    dispatcher = Dispatcher(calling_thread=calling_thread)
    dispatcher.register({"tool": tool, "other": lambda: 1})
    stubs = connected(dispatcher)
    words = f"{type(error).__name__}: {error}"
    if calling_thread and isinstance(error, KeyboardInterrupt):
        # In the main thread, it cannot be distinguished from Ctrl-C, which must end the host.
        with pytest.raises(KeyboardInterrupt):
            stubs["tool"]()
        with running(stubs["tool"]) as call:
            assert words in str(call.error())
        return
    with pytest.raises(RuntimeError, match=words):
        stubs["tool"]()
    assert stubs["other"]() == 1


@pytest.mark.parametrize("calling_thread", [None, False])
@pytest.mark.parametrize("method", [False, True])
def test_exception_of_a_signal_handler_is_raised(calling_thread, method):
    """A handler that ends the process, or the time the user gives an agent."""
    stopped, release = threading.Event(), threading.Event()

    class Agent:
        def __call__(self) -> None:
            os.kill(os.getpid(), signal.SIGUSR1)
            release.wait(300)

        def handler(self, *_: Any) -> None:
            handler()

        def interrupt(self) -> None:
            stopped.set()

    def handler(*_: Any) -> None:
        raise SystemExit("ended by a signal")

    records: list[CallRecord] = []
    dispatcher = Dispatcher(on_call=records.append, calling_thread=calling_thread)
    agent = Agent()
    dispatcher.register({"agent": agent, "other": lambda: 1})
    before = signal.signal(signal.SIGUSR1, agent.handler if method else handler)
    try:
        with pytest.raises(SystemExit, match="ended by a signal"):
            dispatcher.handle(request(name="agent"))
    finally:
        signal.signal(signal.SIGUSR1, before)
        release.set()
    assert stopped.is_set()  # the abandoned agent stops working
    assert [record.error for record in records] == ["SystemExit"]
    assert codec.decode(dispatcher.handle(request(2, "other")))["value"] == 1


# -- approval --


def test_call_is_shown_as_the_tool_gets_it():
    """``Tool.__call__`` unpacks a dict, which stubs never send and hostile code may."""
    deleted, shown = [], []

    @tool
    def delete(path: str, recursive: bool = False) -> None:
        """Deletes a file.

        Args:
            path: its path
            recursive: whether a folder is deleted, too
        """
        deleted.append((path, recursive))

    def before_call(name: str, arguments: Any) -> None:
        shown.append(arguments)
        if arguments["recursive"]:
            raise PermissionError("refused")

    dispatcher = Dispatcher(before_call=before_call)
    dispatcher.register({"delete": delete})
    arguments = {"path": "/x", "recursive": True}
    reply = decode(dispatcher.handle(request(name="delete", args=[arguments])))
    assert (reply["error"][0], deleted, shown) == ("PermissionError", [], [arguments])
    reply = decode(dispatcher.handle(request(2, name="delete", args=[{"other": 1}])))
    assert (reply["value"], deleted) == (None, [({"other": 1}, False)])


# -- limits --


def test_sizes_are_limited():
    dispatcher = Dispatcher(max_value_bytes=1000)
    dispatcher.register({"echo": lambda n: "x" * n, "take": len})
    stubs = connected(dispatcher)
    with pytest.raises(TypeError, match=r"echo\(\): .* over 1000 bytes; raise max_value_bytes="):
        stubs["echo"](2000)
    with pytest.raises(
        ValueError, match=r"the host cannot read this call: call: \d+ bytes are over"
    ):
        stubs["take"]("x" * 2000)
    assert stubs["echo"](3) == "xxx"  # the call numbers agree again


def test_agent_past_its_time_is_interrupted():
    stopped = threading.Event()

    class Agent:
        def __call__(self) -> bool:
            return stopped.wait(300)

        def interrupt(self) -> None:
            stopped.set()

    dispatcher = Dispatcher(tool_timeout_seconds=0.1)
    dispatcher.register({"agent": Agent()})
    with pytest.raises(TimeoutError):
        connected(dispatcher)["agent"]()
    assert stopped.wait(60)


@pytest.mark.parametrize("options", [{"calling_thread": False}, {"tool_timeout_seconds": 600}])
def test_blocking_tool_does_not_delay_an_interruption(options):
    begun, release, dropped = threading.Event(), threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        release.wait(500)
        dropped.set()
        return "of the interrupted call"

    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("of the caller")
    dispatcher = Dispatcher(**options)
    dispatcher.register({"slow": slow, "context": variable.get})
    stubs = connected(dispatcher)
    assert stubs["context"]() == "of the caller"
    words = r"slow\(\) was interrupted; it keeps running on the host"
    try:
        with (
            acting(begun.is_set, dispatcher.interrupt),
            pytest.raises(TimeoutError, match=words),
        ):
            stubs["slow"]()
        with pytest.raises(RuntimeError, match=RUN_ENDED):
            stubs["context"]()  # the run can call no further tools
        dispatcher.begin_run()
    finally:
        release.set()
    assert dropped.wait(60)
    assert stubs["context"]() == "of the caller"


def test_tools_share_one_thread_from_call_to_call_and_from_run_to_run():
    dispatcher, stubs = serving(ident=threading.get_ident, calling_thread=False)
    first = stubs["ident"]()
    dispatcher.begin_run()
    assert stubs["ident"]() == first != threading.get_ident()


def test_tools_run_in_the_calling_thread_unless_they_may_time_out():
    def of_tool(**options: Any) -> int:
        dispatcher = Dispatcher(**options)
        dispatcher.register({"ident": threading.get_ident})
        return connected(dispatcher)["ident"]()  # type: ignore[no-any-return]

    here = threading.get_ident()
    assert of_tool() == of_tool(calling_thread=True) == here
    assert of_tool(tool_timeout_seconds=60) != here
    assert of_tool(calling_thread=False) != here
    with pytest.raises(ConfigurationError, match="cannot be abandoned"):
        Dispatcher(calling_thread=True, tool_timeout_seconds=1)


def test_thread_that_ends_with_its_call_runs_no_tools():
    connection: list[sqlite3.Connection] = []

    def rows() -> list[tuple[int]]:
        if not connection:
            connection.append(sqlite3.connect(":memory:"))
        return connection[0].execute("select 42").fetchall()

    _, stubs = serving(rows=rows, close=lambda: connection.pop().close())
    results: list[Any] = []
    for name in ("rows", "rows", "close"):
        thread = CallThread(target=lambda stub=stubs[name]: results.append(stub()))
        thread.start()
        thread.join(60)
    assert results == [[(42,)], [(42,)], None]


def test_tool_that_runs_a_loop_works_in_a_thread_of_its_own():
    async def five() -> int:
        return 5

    def tool() -> int:
        coroutine = five()
        try:
            return asyncio.run(coroutine)
        finally:
            coroutine.close()

    async def called(**options: Any) -> int:
        return serving(tool=tool, **options)[1]["tool"]()  # type: ignore[no-any-return]

    assert serving(tool=tool)[1]["tool"]() == 5
    with pytest.raises(RuntimeError, match="running event loop"):
        asyncio.run(called())
    assert asyncio.run(called(calling_thread=False)) == 5


class Managed:
    """Agent like upstream's: accepts a task and further arguments of its run()."""

    description = "Helps."

    def __init__(self) -> None:
        self.got: list[Any] = []

    def run(self, task: str, **options: Any) -> None:
        self.got.append((task, options))

    def __call__(self, task: str, **kwargs: Any) -> None:
        self.run(task, **kwargs)


def test_agent_takes_only_task_and_additional_args():
    agent = Managed()
    dispatcher, stubs = serving(agent=agent)
    stubs["agent"]("a", {"k": 1})
    stubs["agent"](task="b")
    assert agent.got == [("a", {"additional_args": {"k": 1}}), ("b", {})]
    with pytest.raises(TypeError, match=r"^agent\(\) got an unexpected keyword argument 'stream'$"):
        stubs["agent"]("c", stream=True)
    for number, frame in enumerate(
        (
            request(3, "agent", ["d"], {"max_steps": 10**6}),
            request(4, "agent", [], {"task": "e", "reset": False}),
            request(5, "agent", ["f", {}, True]),
        ),
        3,
    ):
        reply = codec.decode(dispatcher.handle(frame))
        assert reply["call"] == number
        assert reply["error"][0] == "TypeError"
    assert len(agent.got) == 2


@pytest.mark.parametrize(
    "reply", [b"[]", b'{"call": 2, "value": 1}', b'{"value": 1}', b"rubbish", b'{"call": "1"}']
)
def test_the_sandbox_does_not_take_another_calls_reply(reply):
    calls = HostCalls(lambda _: reply, finish)
    if reply == b'{"value": 1}':
        assert calls.call("tool", [], {}) == 1  # a reply without a number is to whoever asks
    else:
        with pytest.raises(DecodeError):
            calls.call("tool", [], {})


@dataclasses.dataclass
class Point:
    x: int


def test_arguments_become_no_class_of_the_host():
    seen: list[Any] = []
    _, stubs = serving(tool=seen.append)
    stubs["tool"](Point(3))
    assert [(type(value).__name__, value.x) for value in seen] == [("Record", 3)]


def test_abandoned_call_does_not_disturb_the_next():
    class Interrupted(BaseException):
        pass

    dispatcher = Dispatcher()
    done: list[int] = []
    dispatcher.register({"tool": done.append})
    break_before = break_after = False

    def send(data: bytes) -> bytes:
        if break_before:
            raise Interrupted
        reply = dispatcher.handle(data)
        if break_after:
            raise Interrupted
        return reply

    stub = HostCalls(send, finish).stub(**dispatcher.specs[0].as_data())
    stub(1)
    for break_before, break_after in ((True, False), (False, True)):
        with pytest.raises(Interrupted):
            stub(2)
        break_before = break_after = False
        stub(3)
    assert done == [1, 3, 2, 3]


def test_refused_calls_of_earlier_runs_do_not_end_a_later_one():
    dispatcher = Dispatcher(max_calls=1)
    dispatcher.register({"tool": lambda: 1})
    stub = connected(dispatcher)["tool"]
    for _ in range(3):
        dispatcher.begin_run()
        assert stub() == 1
        for _ in range(60):
            with pytest.raises(RuntimeError, match="more than max_calls=1"):
                stub()


@pytest.mark.parametrize("calling_thread", [True, False])
@pytest.mark.parametrize("reason", ["timeout", "interrupt", "end"])
def test_ended_run_calls_no_tool(reason, calling_thread):
    calls: list[int] = []
    dispatcher = Dispatcher(calling_thread=calling_thread)
    dispatcher.register({"called": calls.append})
    request = b'{"call":%d,"name":"called","args":[%d],"kwargs":{}}'
    assert decode(dispatcher.handle(request % (1, 1))) == {"call": 1, "value": None}
    dispatcher.end_run(reason)
    dispatcher.end_run("end")
    # Not decoded, and not counted.
    for late in (request % (2, 2), b"rubbish", b"[" * 1_000_000):
        assert decode(dispatcher.handle(late)) == {"call": None, "over": reason}
    assert calls == [1]
    dispatcher.begin_run()
    assert decode(dispatcher.handle(request % (2, 2))) == {"call": 2, "value": None}
    assert calls == [1, 2]


def test_at_most_eight_tools_are_left_running():
    dispatcher = Dispatcher(tool_timeout_seconds=0.01)
    released, begun = threading.Event(), []

    def slow() -> None:
        begun.append(1)
        released.wait(60)

    dispatcher.register({"slow": slow})
    stub = connected(dispatcher)["slow"]
    try:
        for number in range(8):
            if number == 4:
                dispatcher.begin_run()  # of all runs together
            with pytest.raises(TimeoutError):
                stub()
        for _ in range(3):
            assert dispatcher.limit is None
            with pytest.raises(RuntimeError, match=RUN_ENDED):
                stub()
            assert str(dispatcher.limit) == (
                "8 tools that were interrupted or ran past tool_timeout_seconds still run on the "
                "host, the most that one executor may leave there; slow() was not called. Give "
                "them a time limit of their own, or an interrupt() method"
            )
            dispatcher.begin_run()
        assert len(begun) == 8
    finally:
        released.set()
    eventually(lambda: dispatcher._thread.abandoned == 0)
    dispatcher.register({"quick": lambda: 1})
    assert connected(dispatcher)["quick"]() == 1


def test_sandbox_stops_an_ended_run():
    class Stopped(BaseException):
        pass

    def stop() -> None:
        raise Stopped

    dispatcher = Dispatcher()
    dispatcher.register({"one": lambda: 1})
    calls = HostCalls(dispatcher.handle, lambda: None, stop=stop)
    assert calls.call("one", [], {}) == 1
    dispatcher.end_run("timeout")
    with pytest.raises(Stopped):
        calls.call("one", [], {})


def test_limit_of_results_is_the_hosts_alone(monkeypatch):
    """No other limit applies inside, such as the codec's default of 256 MiB."""
    monkeypatch.setitem(decode.__kwdefaults__, "max_bytes", 1000)
    dispatcher = Dispatcher(max_value_bytes=100_000)
    (spec,) = dispatcher.register({"text": lambda size: "x" * len(size)})
    calls = HostCalls(lambda *pieces: dispatcher.handle(b"".join(pieces)), lambda: None, 100_000)
    assert calls.stub(**spec.as_data())("x" * 50_000) == "x" * 50_000


def started() -> tuple[ToolThread, threading.Thread]:
    tools = ToolThread()
    returned, thread = tools.run(threading.current_thread, 60, lambda: False)
    assert returned
    return tools, thread


def test_collected_tool_thread_runs_no_python_in_the_thread_that_collects():
    """A signal's handler that runs within a finalizer's Python code cannot raise."""
    tools, thread = started()
    gc.collect()
    events = []
    enabled = gc.isenabled()
    gc.disable()  # what other tests left has finalizers, too
    sys.setprofile(lambda frame, event, value: events.append((event, frame.f_code.co_name)))
    try:
        del tools
    finally:
        sys.setprofile(None)
        if enabled:
            gc.enable()
    assert [name for event, name in events if event == "call"] == []
    assert eventually(lambda: not thread.is_alive())


def test_closed_tool_thread_ends_and_the_next_function_gets_another():
    tools, thread = started()
    tools.close()
    assert eventually(lambda: not thread.is_alive())
    returned, other = tools.run(threading.current_thread, 60, lambda: False)
    assert returned
    assert other is not thread
    tools.close()
    tools.close()
    assert eventually(lambda: not other.is_alive())
