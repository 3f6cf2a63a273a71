"""Tools of MCP servers and of LangChain, and the telemetry that watches, over the bridge."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from process_harness import executor
from smolagents import CodeAgent, Tool, ToolCollection, tool
from smolagents.monitoring import LogLevel
from test_process_agents import Scripted

from smolagents_fork.errors import ProgramFailedError

SERVER = str(Path(__file__).with_name("mcp_server.py"))


def calls_of_a_servers_tool(collection: ToolCollection) -> None:
    with executor() as ex:
        ex.send_tools({each.name: each for each in collection.tools})
        assert ex("shout('a'), shout(text='b', times=3), shout('c', 4)").output == (
            "AA",
            "BBB",
            "CCCC",
        )
        assert ex("shout({'text': 'd'})").output == "DD"
        with pytest.raises(
            ProgramFailedError, match="missing 1 required positional argument: 'text'"
        ):
            ex("shout()")


@pytest.mark.filterwarnings("ignore")  # of the packages' own
def test_tools_of_an_mcp_server_over_stdio():
    pytest.importorskip("mcpadapt.smolagents_adapter", reason="mcp and mcpadapt are not installed")
    from mcp import StdioServerParameters

    parameters = StdioServerParameters(
        command=sys.executable, args=[SERVER, "stdio"], env=dict(os.environ)
    )
    with ToolCollection.from_mcp(
        parameters, trust_remote_code=True, structured_output=False
    ) as collection:
        calls_of_a_servers_tool(collection)


@pytest.mark.filterwarnings("ignore")  # of the packages' own
def test_tools_of_an_mcp_server_over_http():
    pytest.importorskip("mcpadapt.smolagents_adapter", reason="mcp and mcpadapt are not installed")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, SERVER, "streamable-http", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            wait_for(port)
            with ToolCollection.from_mcp(
                {"url": f"http://127.0.0.1:{port}/mcp", "transport": "streamable-http"},
                trust_remote_code=True,
                structured_output=False,
            ) as collection:
                calls_of_a_servers_tool(collection)
        finally:
            server.kill()


def wait_for(port: int, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), 1):
                return
        except OSError:
            assert time.monotonic() < end, "the server did not come up"
            time.sleep(0.1)


@pytest.mark.filterwarnings("ignore")  # of the package's own
def test_tools_of_langchain():
    langchain = pytest.importorskip(
        "langchain_core.tools", reason="langchain-core is not installed"
    )

    @langchain.tool
    def repeat(text: str, times: int = 2) -> str:
        """Says it again."""
        return text * times

    with executor() as ex:
        ex.send_tools({"repeat": Tool.from_langchain(repeat)})
        assert ex("repeat('a'), repeat('b', 3), repeat(text='c', times=4)").output == (
            "aa", "bbb", "cccc"
        )  # fmt: skip


@tool
def look_up(key: str) -> str:
    """Looks something up.

    Args:
        key: what.
    """
    return f"value of {key}"


def test_telemetry_sees_tools_and_managed_agents_under_the_step_that_called_them():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip(
            "openinference.instrumentation.smolagents",
            reason="the instrumentation is not installed",
        )
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = module.SmolagentsInstrumentor()
    instrumentor.instrument(tracer_provider=provider, skip_dep_check=True)
    try:
        with executor() as outer, executor() as inner:
            options: dict[str, Any] = {"verbosity_level": LogLevel.OFF, "max_steps": 3}
            helper = CodeAgent(
                tools=[look_up], model=Scripted("final_answer(look_up('x'))"), executor=inner,
                name="helper", description="Looks up.", **options,
            )  # fmt: skip
            boss = CodeAgent(
                tools=[], model=Scripted("final_answer(helper(task='x'))"), executor=outer,
                managed_agents=[helper], **options,
            )  # fmt: skip
            assert "value of x" in boss.run("go")
    finally:
        instrumentor.uninstrument()
    spans = exporter.get_finished_spans()
    by_id = {span.context.span_id: span for span in spans}

    def ancestry(span: Any) -> list[str]:
        chain = [span.name]
        while span.parent is not None:
            span = by_id[span.parent.span_id]
            chain.append(span.name)
        return chain

    tools = [
        (s.attributes["tool.name"], ancestry(s)[1:]) for s in spans if "tool.name" in s.attributes
    ]
    inner_chain = ["Step 1", "helper.run", "Step 1", "CodeAgent.run"]
    assert tools == [
        ("look_up", inner_chain),
        ("final_answer", inner_chain),
        ("final_answer", ["Step 1", "CodeAgent.run"]),
    ]
