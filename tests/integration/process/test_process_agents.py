"""Tools of the host called from a child: secrets, threads, the log, and a tool that ends it."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from functools import partial
from typing import Any

import pytest
from background import at_once
from process_harness import executor
from smolagents import Tool
from smolagents.monitoring import AgentLogger, LogLevel

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import (
    ExecutorClosedError,
    InterpreterError,
)

SECRET = "".join(["postgres://", "user:", "hunter2", "-correct-horse", "@db"])


class Archive(Tool):
    name = "archive"
    description = "Looks something up."
    inputs = {"key": {"type": "string", "description": "What."}}  # noqa: RUF012 - upstream's
    output_type = "string"

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self._dsn = dsn
        self._rows = {"a": ["first"]}
        self._threads: set[int] = set()

    def forward(self, key: str) -> str:
        # A database connection is bound to the thread that opened it.
        self._threads.add(threading.get_ident())
        assert len(self._threads) == 1
        return self._rows.get(key, [])[0]


def test_no_secret_is_in_the_child(monkeypatch):
    """The environment, the folder and all readable memory pages are searched."""
    monkeypatch.setenv("DATABASE_URL", SECRET)
    with executor() as ex:
        ex.send_tools({"archive": Archive(SECRET)})
        ex("marker = 'in the' + ' child'\narchive('a')")
        assert ex.pid is not None
        assert found_in_memory(ex.pid, b"in the child")  # the search finds existing text
        assert not found_in_memory(ex.pid, SECRET.encode())
        with open(f"/proc/{ex.pid}/environ", "rb") as file:
            assert SECRET.encode() not in file.read()
        assert ex.folder is not None
        assert os.listdir(ex.folder) == []


def found_in_memory(pid: int, text: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/maps") as file:
            ranges = re.findall(r"^(\w+)-(\w+) r\S* \S+ \S+ \S+ *(\S*)", file.read(), re.MULTILINE)
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for start, end, name in ranges:
                if name in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
                    continue
                memory.seek(int(start, 16))
                if text in memory.read(int(end, 16) - int(start, 16)):
                    return True
    except PermissionError as error:
        pytest.skip(f"this system does not let a parent read its child: {error}")
    return False


def test_threads_call_tools_while_their_run_lasts_and_not_after_it():
    called: list[int] = []
    code = (
        "import threading, time\ngate = threading.Event()\n"
        "def late(n, wait):\n    wait()\n    note(n)\n"
        "threading.Thread(target=late, args=({n}, {wait}), daemon={daemon}).start()"
    )
    with executor(["threading"]) as ex:
        ex.send_tools({"note": called.append})
        ex(code.format(n=1, wait="lambda: None", daemon=False) + "\ntime.sleep(0.3)")
        assert called == [1]
        ex(code.format(n=2, wait="gate.wait", daemon=True))
        # A remaining thread would continue now, in a run that serves calls.
        ex("gate.set()\ntime.sleep(0.3)\nnote(3)")
        assert called == [1, 3]


def test_each_call_is_logged_with_its_duration():
    lines: list[str] = []

    class Logger(AgentLogger):
        def log(self, *args: Any, level: Any = LogLevel.INFO, **_: Any) -> None:
            lines.append(f"{int(level)} {args[0]}")

    with ProcessExecutor([], Logger(level=LogLevel.DEBUG)) as ex:
        ex.send_tools({"double": lambda n: 2 * n})
        ex("double(2)")
        with pytest.raises(InterpreterError):
            ex("double('x', 2)\ndouble(None)")
        with pytest.raises(InterpreterError):
            ex("double(None)")
    # At DEBUG if all measures are in force, at INFO if one is missing.
    level = 2 if lines[0].endswith("; not in force: nothing") else 1
    assert lines[0].startswith(f"{level} ProcessExecutor: in force: session, memory, cpu, files")
    assert re.fullmatch(r"2 double\(\) returned after \d+\.\d ms", lines[1])
    assert re.fullmatch(r"2 double\(\) raised TypeError: .* after \d+\.\d ms", lines[-1])


def test_executors_in_threads_are_independent():
    def work(number: int) -> int:
        with executor() as ex:
            ex.send_tools({"add": lambda a, b: a + b})
            return sum(ex(f"add({number}, {n})").output for n in range(20))

    calls = [partial(work, number) for number in range(8)]
    assert at_once(*calls) == [20 * n + 190 for n in range(8)]


def test_a_tool_may_clean_up_its_executor():
    with executor(timeout_seconds=30) as ex:
        ex.send_tools({"finish": ex.cleanup})
        folder = ex.folder
        with pytest.raises(ExecutorClosedError, match="ended by cleanup"):
            ex("finish()\nfor i in range(10**12): pass")
        assert folder is not None
        assert not os.path.exists(folder)


def test_code_that_sees_the_end_before_the_kill_ends_the_same(monkeypatch):
    """Another process kills the child, possibly late."""
    with executor(timeout_seconds=30) as ex:
        ex.send_tools({"finish": ex.cleanup})
        monkeypatch.setattr(ex._session.guest, "kill", lambda: None)
        with pytest.raises(ExecutorClosedError, match="ended by cleanup"):
            ex("finish()\nfor i in range(10**12): pass")
        monkeypatch.undo()


def test_calls_can_be_awaited():
    async def both() -> list[Any]:
        with executor() as one, executor() as two:
            results = await asyncio.gather(one.acall("1 + 1"), two.acall("2 + 2"))
            return [result.output for result in results]

    assert asyncio.run(both()) == [2, 4]
