"""Tools of the host, called from the code."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import signal
import sqlite3
import sys
import threading
import time
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from contract_declarations import behaviour
from contract_kinds import printed
from contract_parts import PREFIX, Counter, StoreError, prefixed
from scripted_model import Caller
from smolagents import Tool, ToolCallingAgent, ToolCollection
from smolagents.monitoring import LogLevel

from smolagents_fork.errors import ConfigurationError


def caught(call: str, kind: str, seen: str = "str(error)") -> str:
    """Return a program whose value is an expression about the exception of a call."""
    return f"seen = None\ntry:\n    {call}\nexcept {kind} as error:\n    seen = {seen}\nseen"


def with_tools(contract: Any, given: str, tools: dict[str, Any]) -> Any:
    """Return an executor that was given tools in one of two ways."""
    if given == "send_tools":
        contract.shared.send_tools(tools)
        return contract.shared
    executor = contract.make(additional_functions=tools)
    executor.send_tools({})
    return executor


@behaviour("Tools", "A function tool works, with its module's globals and its defaults.")
def test_function_tool(contract):
    executor = contract.shared
    executor.send_tools({"prefixed": prefixed})
    assert executor("[prefixed('a'), prefixed('b', 2), prefixed(times=3, text='c')]").output == [
        PREFIX + "a",
        PREFIX + "bb",
        PREFIX + "ccc",
    ]


@behaviour("Tools", "A Tool with required arguments keeps its state, on the host.")
def test_tool_with_state(contract):
    executor = contract.shared
    counter = Counter(start=100)
    executor.send_tools({"counter": counter})
    assert executor("counter(1)").output == 101
    assert executor("[counter(step=n) for n in (10, 20)]").output == [111, 131]
    assert counter.total == 131
    counter.total = 0
    assert executor("counter(5)").output == 5


@behaviour("Tools", "Arguments are bound as Python binds them: star, keyword-only, defaults.")
def test_arguments_are_bound_by_python(contract):
    def bound(first: Any, /, second: Any = "2", *rest: Any, key: Any = "k", **more: Any) -> Any:
        return [first, second, list(rest), key, more]

    executor = contract.shared
    executor.send_tools({"bound": bound})
    for call in (
        "bound(1)",
        "bound(1, 2, 3, 4)",
        "bound(1, key=5)",
        "bound(1, 2, 3, key=4, other=5)",
        "bound(*[1, 2], **{'key': 3, 'first': 4})",
    ):
        assert executor(call).output == eval(call, {"bound": bound}), call


@behaviour(
    "Tools",
    "`additional_functions` are callable without any tools, and take precedence over tools with "
    "their names.",
)
def test_additional_functions(contract):
    executor = contract.make(
        additional_functions={"doubled": lambda number: 2 * number, "named": lambda: "function"}
    )
    assert executor("doubled(number=4)").output == 8
    executor.send_tools({"named": lambda: "tool"})
    assert executor("(named(), doubled(1))").output == ("function", 2)
    with pytest.raises(ConfigurationError, match=r"additional_functions\['a'\]=5: pass a function"):
        contract.make(additional_functions={"a": 5})


@behaviour(
    "Tools",
    "Tools of LangChain take arguments by position and by name; a call that does not match the "
    "signature is an error.",
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("given", ["send_tools", "additional_functions"])
def test_langchain_tools(contract, given):
    langchain_tools = pytest.importorskip("langchain_core.tools")

    @langchain_tools.tool
    def multiply(first: int, second: int, plus: int = 0) -> int:
        """Multiplies."""
        return first * second + plus

    @langchain_tools.tool
    def refuses(reason: str) -> str:
        """Refuses."""
        raise PermissionError(reason)

    tools = {one.name: Tool.from_langchain(one) for one in (multiply, refuses)}
    executor = with_tools(contract, given, tools)
    for call in (
        "multiply(6, 7)",
        "multiply(6, second=7)",
        "multiply(second=7, first=6)",
        "multiply({'first': 6, 'second': 7})",
        "multiply(5, 8, 2)",
    ):
        assert executor(call).output == 42, call
    for call, kind, words in (
        ("multiply(6)", "TypeError", "multiply() missing 1 required positional argument: 'second'"),
        (
            "refuses('a', 'b')",
            "TypeError",
            "refuses() takes 1 positional argument but 2 were given",
        ),
        ("refuses('not today')", "PermissionError", "not today"),
    ):
        assert executor(caught(call, kind)).output == words


@pytest.fixture(scope="session")
def mcp_tools() -> Iterator[dict[str, Any]]:
    """Tools of a real MCP server whose schemas are those of TypeScript servers."""
    from mcp import StdioServerParameters  # not while every worker collects

    server = str(Path(__file__).parents[1] / "schema_server.py")
    parameters = StdioServerParameters(command=sys.executable, args=[server], env=dict(os.environ))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of mcpadapt and its libraries, not ours
        with ToolCollection.from_mcp(
            parameters, trust_remote_code=True, structured_output=False
        ) as collection:
            yield {made.name: made for made in collection.tools}


def _required(tool: str, *names: str) -> str:
    listed = " and ".join(map(repr, names))
    plural = "s" * (len(names) > 1)
    return f"{tool}() missing {len(names)} required positional argument{plural}: {listed}"


@behaviour(
    "Tools",
    "Tools of MCP servers require what their schema requires; other arguments are not sent.",
)
@pytest.mark.parametrize(
    ("call", "sent"),
    [
        ("read_text_file(path='n')", {"path": "n"}),
        ("read_text_file('n')", {"path": "n"}),
        ("read_text_file('n', head=3)", {"path": "n", "head": 3}),
        ("read_text_file({'path': 'n', 'tail': 2})", {"path": "n", "tail": 2}),
        ("list_directory(path='n')", {"path": "n"}),
        ("list_directory(1, 'n')", {"depth": 1, "path": "n"}),
        ("send_mail(to='t', **{'from': 'f'})", {"from": "f", "to": "t"}),
        (
            "send_mail('f', 't', **{'Api-Version': '2', 'class': 'c'})",
            {"from": "f", "to": "t", "Api-Version": "2", "class": "c"},
        ),
        ("now()", {}),
        ("read_text_file()", _required("read_text_file", "path")),
        ("list_directory(depth=1)", _required("list_directory", "path")),
        ("send_mail()", _required("send_mail", "from", "to")),
    ],
)
def test_tools_of_mcp_servers(contract, mcp_tools, call, sent):
    executor = contract.shared
    executor.send_tools(mcp_tools)
    if isinstance(sent, str):
        assert executor(caught(call, "TypeError")).output == sent
    else:
        name = call.partition("(")[0]
        assert json.loads(executor(call).output) == {"tool": name, **sent}


@behaviour("Tools", "The code sees the text of an MCP server's error.")
def test_errors_of_mcp_servers(contract, mcp_tools):
    executor = contract.shared
    executor.send_tools(mcp_tools)
    code = (
        "try:\n    seen = fail('out of stock')\nexcept Exception as error:\n"
        "    seen = str(error)\nseen"
    )
    assert "out of stock" in executor(code).output


@behaviour("Tools", "A tool that accepts any arguments requires only those that it declares.")
def test_tool_that_takes_anything(contract):
    class Anything(Tool):
        name = "anything"
        description = "Returns its arguments."
        inputs: ClassVar[dict[str, Any]] = {
            name: {"type": "any", "description": "x"} for name in ("size", "from", "query")
        }
        output_type = "string"
        skip_forward_signature_validation = True

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return [list(args), kwargs]

    executor = contract.shared
    executor.send_tools({"anything": Anything()})
    for call, given in (
        ("anything()", {}),
        ("anything(query=None)", {"query": None}),
        ("anything(1, 2, 3)", {"size": 1, "from": 2, "query": 3}),
        ("anything(**{'from': 1, 'query': 2})", {"from": 1, "query": 2}),
    ):
        assert executor(call).output == [[], given], call
    with pytest.raises(Exception, match=r"anything\(\) got an unexpected keyword argument 'other'"):
        executor("anything(other=1)")


@behaviour("Tools", "Libraries that inspect a tool see its own signature.")
def test_signature_that_libraries_see_is_the_tools(contract):
    class Renamed(Tool):
        name = "renamed"
        description = "Renames."
        inputs: ClassVar[dict[str, Any]] = {
            "old": {"type": "string", "description": "x"},
            "new": {"type": "string", "description": "x", "nullable": True},
        }
        output_type = "string"

        def forward(self, old: str, *, new: str = "n") -> str:
            return old + new

    executor = contract.wide
    executor.send_tools({"renamed": Renamed()})
    code = "import inspect\nstr(inspect.signature(renamed))"
    assert executor(code).output == "(old, *, new='n')"


@behaviour("Tools", "Defaults of any type stay on the host; omitted arguments are not sent.")
def test_defaults_stay_on_the_host(contract):
    class Unsendable:
        pass

    marker, shared = Unsendable(), []

    def defaults(first: Any, second: Any = marker, *, third: Any = shared, last: Any = None) -> Any:
        third.append(first)
        return [second is marker, third is shared, last]

    executor = contract.shared
    executor.send_tools({"defaults": defaults})
    for call, output in (
        ("defaults(1)", [True, True, None]),
        ("defaults(1, None)", [False, True, None]),
        ("defaults(first=1, third=[], last=2)", [True, False, 2]),
    ):
        assert executor(call).output == output, call
    assert shared == [1, 1]


@behaviour("Tools", "A tool that code cannot call is named and omitted; all others are available.")
def test_tool_that_code_cannot_call(contract):
    executor = contract.shared
    tools = {name: (lambda: 5) for name in ("first", "a b", "class", "__name__", "last")}
    with pytest.warns(UserWarning, match="^tool name .*; it is left out$") as warned:
        executor.send_tools(tools)
    texts = [str(warning.message) for warning in warned]
    assert [text.split("'")[1] for text in texts] == ["a b", "class", "__name__"]
    assert executor("first() + last()").output == 10


class Asynchronous(Tool):
    name = "doubled"
    description = "Doubles a number, and the length of a list."
    inputs: ClassVar[dict[str, Any]] = {"number": {"type": "any", "description": "x"}}
    output_type = "any"

    async def forward(self, number: Any) -> Any:
        await asyncio.sleep(0)
        return number * 2


async def counted(number: int) -> AsyncIterator[int]:
    """Yields the numbers below ``number``."""
    for one in range(number):
        await asyncio.sleep(0)
        yield one


async def failing() -> None:
    """Raises an error of the host."""
    await asyncio.sleep(0)
    raise StoreError("shelf 3")


@behaviour(
    "Tools",
    "Asynchronous tools and functions run to completion on the host, also while the caller's event "
    "loop runs.",
)
@pytest.mark.parametrize("given", ["send_tools", "additional_functions"])
def test_asynchronous_tools(contract, given):
    tools = {
        "doubled": Asynchronous(),
        "counted": counted,
        "failing": failing,
        "handed_on": lambda: Asynchronous().forward(4),
    }
    executor = with_tools(contract, given, tools)
    assert executor("[doubled(2), doubled(number=[1]), handed_on()]").output == [4, [1, 1], 8]
    assert executor("sum(counted(4))").output == 6
    with pytest.raises(Exception, match="shelf 3"):
        executor("failing()")

    async def run() -> list[Any]:
        outputs = [executor("doubled(2)")]
        if hasattr(executor, "acall"):
            outputs.append(await executor.acall("doubled(2)"))
        return [output.output for output in outputs]

    assert set(asyncio.run(run())) == {4}


@behaviour(
    "Tools",
    "A call that does not match the signature raises Python's own TypeError, which names the tool.",
)
def test_signature_errors_have_pythons_words(contract):
    def two(first: Any, second: Any = None) -> Any:
        return [first, second]

    executor = contract.shared
    executor.send_tools({"two": two, "counter": Counter(0)})
    missing = "counter() missing 1 required positional argument: 'step'"
    assert executor(caught("counter()", "TypeError")).output == missing
    for call in ("two()", "two(1, 2, 3)", "two(1, nope=2)", "two(1, first=2)"):
        with pytest.raises(TypeError) as expected:
            eval(call, {"two": two})
        words = str(expected.value).rpartition(".")[2]
        assert executor(caught(call, "TypeError")).output.rpartition(".")[2] == words


@behaviour(
    "Tools", "help() shows tools, agents and the code's own functions, without long defaults."
)
def test_help_of_tools_agents_and_own_functions(contract):
    def connect(host: str = "db", password: str = "correct-horse-battery-staple") -> None:
        """Opens it."""

    agent = ToolCallingAgent(
        tools=[], model=Caller(), name="helper", description="Helps.", verbosity_level=0
    )
    executor = contract.shared
    executor.send_tools({"helper": agent, "connect": connect, "prefixed": prefixed})
    logs = executor(
        "def own(first, second=2):\n    'Documented here.'\n\n"
        "help(prefixed)\nhelp(helper)\nhelp(own)\nhelp(connect)"
    ).logs
    for words in (
        "prefixed(text, times=1)",
        "Puts a prefix before a text.",
        "times: how often to say the text.",
        "helper(task, additional_args=None)",
        "Helps.",
        "own(first, second=2)",
        "Documented here.",
        "connect(host='db', password=...)",
    ):
        assert words in logs
    assert "horse" not in logs


@behaviour(
    "Tools",
    "The code catches a tool's exception as the matching builtin type; SystemExit ends the call, "
    "not the host.",
)
def test_exceptions_of_tools_are_builtin(contract):
    raised: list[tuple[BaseException, str, str]] = [
        (KeyError("missing"), "KeyError", "'missing'"),
        (ValueError("bad", 3), "ValueError", "('bad', 3)"),
        (FileNotFoundError(2, "No such file"), "FileNotFoundError", "[Errno 2] No such file"),
        (FileNotFoundError(2, "Gone", "notes"), "OSError", "[Errno 2] Gone: 'notes'"),
        (TimeoutError("late"), "OSError", "late"),
        (StoreError("shelf 3"), "LookupError", "shelf 3"),
        (SystemExit("leaving"), "Exception", "SystemExit: leaving"),
        (GeneratorExit("leaving"), "Exception", "GeneratorExit: leaving"),
    ]

    def failing_tool(number: int) -> None:
        raise raised[number][0]

    executor = contract.shared
    executor.send_tools({"failing_tool": failing_tool})
    for number, (error, kind, words) in enumerate(raised):
        assert words in executor(caught(f"failing_tool({number})", kind)).output
        for name in ("errno", "filename") if isinstance(error, FileNotFoundError) else ():
            code = caught(f"failing_tool({number})", kind, f"error.{name}")
            assert executor(code).output == getattr(error, name)


@behaviour("Tools", "A tool runs in the thread that calls the executor.")
def test_tools_run_in_the_calling_thread(contract):
    executor = contract.shared
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table receipts as select 20 as price union select 22")
        executor.send_tools({"query": lambda sql: connection.execute(sql).fetchall()})
        assert executor("query('select sum(price) from receipts')").output == [(42,)]


@behaviour("Tools", "KeyboardInterrupt in a tool is the user's Ctrl-C: the call raises it.")
def test_ctrl_c_in_a_tool(contract, request):
    # A shell's background jobs are started with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    executor = contract.shared
    executor.send_tools({"sent": lambda: signal.raise_signal(signal.SIGINT), "one": lambda: 1})
    with pytest.raises(KeyboardInterrupt):
        executor("sent()\nprint('ran on')")
    assert "ran on" not in printed(executor)
    assert executor("one()").output == 1


@behaviour("Tools", "A tool that calls the executor which waits for it gets an error.")
def test_a_tool_that_uses_its_own_executor(contract):
    executor = contract.shared
    executor.send_tools({"again": lambda code: executor(code).output})
    with pytest.raises(Exception, match=r"while the code that called it waits|use another one"):
        executor("again('6 * 7')")
    assert executor("6 * 7").output == 42


@behaviour("Tools", "An uncaught exception of a tool names the tool's call, its line and the type.")
def test_uncaught_exception_of_a_tool(contract):
    def archive(key: str) -> str:
        error = KeyError(key)
        error.__notes__ = ["the archive has: a", "and c"]
        raise error

    executor = contract.shared
    executor.send_tools({"archive": archive})
    with pytest.raises(Exception, match="KeyError: 'b'\nthe archive has: a\nand c") as error:
        executor("print('until here')\nvalue = archive('b')")
    assert "archive('b')" in str(error.value)
    assert "line 2" in str(error.value)
    assert "until here" in printed(executor)


@behaviour("Tools", "An exception carries no path, local variable or traceback of the host.")
def test_exceptions_of_tools_do_not_tell_of_the_host(contract):
    here = os.path.abspath(__file__)

    def leaks() -> None:
        secret_local = "hunter2"
        raise RuntimeError(f"cannot read {here}") from ValueError(secret_local)

    executor = contract.shared
    executor.send_tools({"leaks": leaks})
    seen = executor(caught("leaks()", "RuntimeError", "str(error) + repr(error)")).output
    assert "cannot read" in seen
    assert (here in seen) is contract.differs
    with pytest.raises(Exception, match="cannot read") as error:
        executor("leaks()")
    assert "hunter2" not in str(error.value)
    assert "Traceback (most recent call last):\n  File" not in str(error.value)


@behaviour("Tools", "Calls are served in order, each once: three hundred in a loop.")
def test_calls_are_served_in_order(contract):
    seen: list[int] = []
    executor = contract.make(timeout_seconds=600)  # what matters is that it ends, not when
    executor.send_tools({"note": lambda number: seen.append(number) or [number]})
    assert executor("[note(n)[0] for n in range(300)] == list(range(300))").output is True
    assert seen == list(range(300))


@behaviour("Tools", "Calls from threads of the code are all served, each with its own result.")
def test_calls_from_threads(contract):
    code = (
        "import threading\nresults = {}\n"
        "def work(start):\n    results[start] = [double(n) for n in range(start, start + 50)]\n"
        "threads = [threading.Thread(target=work, args=(n * 1000,)) for n in range(4)]\n"
        "for t in threads:\n    t.start()\n"
        "for t in threads:\n    t.join()\n"
        "all(results[s] == [2 * m for m in range(s, s + 50)] for s in range(0, 4000, 1000))"
    )
    executor = contract.shared
    if contract.without_threads(executor):
        return
    executor.send_tools({"double": lambda number: 2 * number})
    assert executor(code).output is True


@behaviour("Tools", "Each call is logged by the agent at level DEBUG, with its duration.")
def test_calls_are_logged(contract, monkeypatch, caplog):
    class Log:
        lines: ClassVar[list[tuple[str, Any]]] = []

        def log(self, message: Any, level: Any = None) -> None:
            self.lines.append((str(message), level))

    def flawed() -> None:
        raise KeyError("sofa")

    executor = contract.shared
    executor.send_tools({"slow": lambda: time.sleep(0.05), "flawed": flawed})
    monkeypatch.setattr(executor, "logger", None, raising=False)
    with caplog.at_level(logging.DEBUG, "smolagents_fork"):
        executor("slow()")
    without_logger = [one.getMessage() for one in caplog.records if "slow()" in one.getMessage()]
    monkeypatch.setattr(executor, "logger", Log(), raising=False)
    executor("slow()\ntry:\n    flawed()\nexcept KeyError:\n    pass")
    if contract.differs:
        assert Log.lines == without_logger == []
        return
    assert len(without_logger) == 1  # to Python's own logger
    (first, level), (second, _) = Log.lines
    if executor.place:  # on a cluster, every line begins with it
        first, second = (line.removeprefix(f"{executor.place}: ") for line in (first, second))
    duration = re.fullmatch(r"slow\(\) returned after (\d+\.\d) ms", first)
    assert duration
    assert float(duration[1]) >= 50
    assert re.fullmatch(r"flawed\(\) raised KeyError: 'sofa' after \d+\.\d ms", second)
    assert level is LogLevel.DEBUG


@behaviour("Tools", "A tool that is no longer sent is removed.")
def test_tools_that_are_not_sent_again(contract):
    executor = contract.shared
    executor.send_tools({"first_tool": lambda: 1, "answer": lambda: 1})
    assert executor("answer()").output == 1
    executor.send_tools({"second_tool": lambda: 2, "answer": lambda text: text + "!"})
    assert executor("answer('two')").output == "two!"
    if contract.differs:
        assert executor("[first_tool(), second_tool()]").output == [1, 2]
        return
    with pytest.raises(Exception, match="NameError"):
        executor("first_tool()")


@behaviour("Tools", "The clock of timeout_seconds is paused while a tool runs.")
def test_the_clock_stops_while_the_host_works(contract):
    executor = contract.limited
    executor.send_tools({"slow": lambda: time.sleep(contract.kind.timeout + 0.5) or "slept"})
    assert executor("words = slow()\nfor n in range(200_000):\n    pass\nwords").output == "slept"


@behaviour(
    "Tools",
    "tool_timeout_seconds ends the wait for a tool, asynchronous or not, with a TimeoutError. At "
    "most eight tools are left running; the next call ends its run.",
)
def test_tools_have_a_time_limit(contract):
    if contract.differs:
        assert not contract.takes("tool_timeout_seconds")
        return
    executor = contract.make(tool_timeout_seconds=0.05)
    begun, release = [], threading.Event()

    def blocks() -> None:
        begun.append(1)
        release.wait(60)

    tools = {"forever": lambda: asyncio.sleep(3600), "blocks": blocks}
    executor.send_tools(tools)
    # More than one run is needed to come to the limit; then each call of a tool ends its run.
    code = "for _ in range({}):\n    try:\n        blocks()\n    except TimeoutError:\n        pass"
    try:
        for name in tools:
            words = f"{name}() ran past tool_timeout_seconds=0.05"
            assert executor(caught(f"{name}()", "TimeoutError")).output.startswith(words)
        executor(code.format(4))
        for _ in range(2):
            with pytest.raises(Exception, match="8 tools that were interrupted or ran past"):
                executor(code.format(10**9))
        assert len(begun) == 7  # beside the asynchronous one
        assert executor("1 + 1").output == 2
    finally:
        release.set()


@behaviour("Tools", "max_tool_calls caps the calls of one run; the next run has its own.")
def test_calls_are_capped(contract):
    if contract.differs:
        assert not contract.takes("max_tool_calls")
        return
    executor = contract.make(max_tool_calls=5)
    executor.send_tools({"capped_tool": lambda: 1})
    with pytest.raises(Exception, match="more than max_calls=5 calls of tools in one run"):
        executor("for n in range(6):\n    capped_tool()")
    assert executor("sum(capped_tool() for n in range(5))").output == 5


@behaviour("Tools", "The code cannot assign to a tool's name.")
def test_names_of_tools_are_kept(contract):
    executor = contract.shared
    executor.send_tools({"kept_tool": lambda: 1})
    if contract.differs:
        assert executor("kept_tool = 2\nkept_tool").output == 2
        return
    with pytest.raises(Exception, match="kept_tool"):
        executor("kept_tool = 2")
    assert executor("kept_tool()").output == 1


@behaviour("Tools", "A tool replaces a variable of the code with its name.")
def test_a_tool_takes_its_name(contract):
    executor = contract.shared
    executor("taken_name = 'mine'")
    executor.send_tools({"taken_name": lambda: 1})
    call, expected = ("taken_name", "mine") if contract.differs else ("taken_name()", 1)
    assert executor(call).output == expected
