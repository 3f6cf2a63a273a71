"""Upstream's agents on the process executor: tools, managed agents, the final answer, secrets."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from functools import partial
from typing import Any

import PIL.Image
import pytest
from background import acting, at_once
from process_harness import executor
from smolagents import CodeAgent, Tool, ToolCallingAgent, tool
from smolagents.models import ChatMessage, MessageRole, Model
from smolagents.monitoring import AgentLogger, LogLevel

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import (
    ExecutorClosedError,
    InterpreterError,
    ProgramFailedError,
)

SECRET = "".join(["postgres://", "user:", "hunter2", "-correct-horse", "@db"])


class Scripted(Model):
    """Model with scripted steps."""

    def __init__(self, *steps: str) -> None:
        super().__init__(model_id="scripted")
        self._steps = list(steps)
        self.seen: list[str] = []

    def generate(self, messages: list[Any], **_: Any) -> ChatMessage:
        self.seen.append(str(messages[-1].content if hasattr(messages[-1], "content") else ""))
        text = f"Thought: next\n<code>\n{self._steps.pop(0)}\n</code>"
        return ChatMessage(role=MessageRole.ASSISTANT, content=text)


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


PREFIX = "global-"


@tool
def prefixed(text: str) -> str:
    """Uses a global of its module.

    Args:
        text: what to put the prefix before.
    """
    return PREFIX + text


def agent_with(steps: list[str], ex: ProcessExecutor, **more: Any) -> CodeAgent:
    options: dict[str, Any] = {"tools": [], "verbosity_level": LogLevel.OFF, "max_steps": 5}
    return CodeAgent(model=Scripted(*steps), executor=ex, **{**options, **more})


def test_an_agent_runs_with_tools_that_stay_on_the_host():
    with executor() as ex:
        agent = agent_with(
            ["found = archive('a')\nprint(found)", "final_answer([found, prefixed(text=found)])"],
            ex,
            tools=[Archive(SECRET), prefixed],
        )
        assert agent.run("look it up") == ["first", "global-first"]
        assert "first" in str(agent.memory.steps[1].observations)


def test_tool_error_names_the_tool_and_the_line():
    with executor() as ex:
        ex.send_tools({"archive": Archive(SECRET)})
        with pytest.raises(
            ProgramFailedError, match=r"'x = archive\('b'\)' \(line 2\) due to: IndexE"
        ):
            ex("y = 1\nx = archive('b')")
        assert ex("try:\n    archive('b')\nexcept IndexError as e:\n    r = str(e)\nr").output == (
            "list index out of range"
        )


def test_managed_agents_work_two_deep_each_with_its_own_child():
    with executor() as outer, executor() as middle, executor() as inner:
        innermost = agent_with(
            ["final_answer('deep ' + str(7 * 6))"], inner, name="calculator", description="Counts."
        )
        helper = agent_with(
            ["report = calculator('six times seven')", "final_answer(report)"],
            middle,
            name="helper",
            description="Asks the calculator.",
            managed_agents=[innermost],
        )
        boss = agent_with(
            ["words = helper(task='count')\nprint(words)", "final_answer('deep 42' in words)"],
            outer,
            managed_agents=[helper],
        )
        assert boss.run("go") is True
        assert len({outer.pid, middle.pid, inner.pid}) == 3


def test_a_managed_tool_calling_agent_is_called_like_a_function():
    class Answering(Model):
        def generate(self, messages: list[Any], **_: Any) -> ChatMessage:
            from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

            function = ChatMessageToolCallFunction(
                name="final_answer", arguments={"answer": "found"}
            )
            call = ChatMessageToolCall(id="1", type="function", function=function)
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])

    with executor() as ex:
        web = ToolCallingAgent(
            tools=[], model=Answering(model_id="a"), name="web", description="Searches.",
            verbosity_level=LogLevel.OFF,
        )  # fmt: skip
        boss = agent_with(["final_answer('found' in web('search'))"], ex, managed_agents=[web])
        assert boss.run("go") is True


def test_variables_of_the_run_reach_the_child():
    with executor() as ex:
        image = PIL.Image.new("RGB", (3, 2), (1, 2, 3))
        agent = agent_with(["final_answer((number + 1, picture.size))"], ex)
        assert agent.run("go", additional_args={"number": 1, "picture": image}) == (2, (3, 2))


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


def test_input_gives_a_clear_error_at_once():
    with executor(timeout_seconds=30) as ex, pytest.raises(InterpreterError, match="input"):
        ex("input('?')")


def test_calls_from_threads_of_the_program_are_all_served():
    code = (
        "import threading\nresults = {}\n"
        "def work(start):\n    results[start] = [double(n) for n in range(start, start + 100)]\n"
        "threads = [threading.Thread(target=work, args=(n * 1000,)) for n in range(4)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()\n"
        "all(results[s] == [2 * m for m in range(s, s + 100)] for s in range(0, 4000, 1000))"
    )
    with executor(["threading"]) as ex:
        ex.send_tools({"double": lambda n: 2 * n})
        assert ex(code).output is True


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


def test_the_number_of_calls_in_a_run_is_capped():
    with executor(max_tool_calls=5) as ex:
        ex.send_tools({"one": lambda: 1})
        with pytest.raises(
            ProgramFailedError, match="more than max_calls=5 calls of tools in one run"
        ):
            ex("for i in range(6): one()")
        assert ex("one()").output == 1


def test_a_tool_past_its_time_is_an_error_of_the_program():
    release = threading.Event()
    with executor(tool_timeout_seconds=0.2) as ex:
        ex.send_tools({"slow": lambda: release.wait(300)})
        try:
            assert ex(
                "try:\n    slow()\nexcept TimeoutError as e:\n    r = str(e)\nr"
            ).output.startswith("slow() ran past tool_timeout_seconds=0.2")
        finally:
            release.set()


def test_interrupt_reaches_an_agent_that_works_for_the_program():
    class Working:
        def __init__(self) -> None:
            self.started, self.stopped = threading.Event(), threading.Event()

        def __call__(self, task: str) -> str:
            self.started.set()
            return "stopped" if self.stopped.wait(300) else "ran on"

        def interrupt(self) -> None:
            self.stopped.set()

    with executor(timeout_seconds=300) as ex:
        working = Working()
        ex.send_tools({"agent": working})
        with (
            acting(working.started.is_set, ex.interrupt),
            pytest.raises(InterpreterError, match="interrupted"),
        ):
            ex("answer = agent('x')\nfor i in range(10**12): pass")
        assert working.stopped.is_set()


def test_executors_in_threads_are_independent():
    def work(number: int) -> int:
        with executor() as ex:
            ex.send_tools({"add": lambda a, b: a + b})
            return sum(ex(f"add({number}, {n})").output for n in range(20))

    calls = [partial(work, number) for number in range(8)]
    assert at_once(*calls) == [20 * n + 190 for n in range(8)]


def test_tool_using_its_own_executor_is_an_error_not_a_deadlock():
    with executor(timeout_seconds=30) as ex:
        ex.send_tools({"again": lambda: ex("1 + 1")})
        with pytest.raises(ProgramFailedError, match="call from within a tool that its own code"):
            ex("again()")
        assert ex("2").output == 2


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
