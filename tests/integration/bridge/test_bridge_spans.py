"""Spans and metrics of executors, beside OpenInference's spans of agents and tools."""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
import threading
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from background import acting, eventually
from bridge_harness import code_agent
from opentelemetry import trace
from prometheus_client import REGISTRY, generate_latest
from smolagents import LocalPythonExecutor
from span_records import Price, Recorded

from smolagents_fork import DockerExecutor, DockerPool, ProcessExecutor, telemetry
from smolagents_fork.errors import SandboxDiedError, SandboxTimeoutError
from tools.paths import ROOT

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
DASHBOARD = ROOT / "docs" / "grafana" / "smolagents-fork.json"


def test_lines_of_the_record_are_events_without_code(recorded):
    with ProcessExecutor(audit=lambda _line: None) as executor:
        executor("secret_name = 1")
    (call,) = recorded.spans("smolagents_fork.call")
    names = [event.name for event in call.events]
    assert names == ["smolagents_fork.run.begin", "smolagents_fork.run.end"]
    assert len(call.events[0].attributes["smolagents_fork.sha256"]) == 64
    assert "secret_name" not in str([dict(event.attributes) for event in call.events])


def test_lines_about_connections_are_events_of_the_call(recorded):
    code = "import urllib.request\nurllib.request.urlopen('http://evil.example')"
    options = {"allowed_hosts": ["api.example"], "audit": lambda _line: None}
    with (
        ProcessExecutor(["urllib.request"], **options) as executor,
        pytest.raises(Exception, match="urllib"),
    ):
        executor(code)
    events = [event.name for event in recorded.spans("smolagents_fork.call")[-1].events]
    assert "smolagents_fork.connection.refused" in events


def test_line_after_the_end_of_the_call_is_no_event(recorded, caplog):
    span = recorded.tracers.get_tracer("test").start_span("call")
    span.end()
    with trace.use_span(span):
        telemetry.add_event("connection", "end", {"host": "a.example"})
    assert caplog.text == ""


#: Spans around a call of a tool or agent by the code of a step, the nearest first.
STEP = ["smolagents_fork.call", "Step 1"]


def test_spans_have_their_parents(sandbox, recorded):
    inner = code_agent(
        None,
        "final_answer(price_of('lamp'))",
        name="shop",
        description="Knows prices.",
        tools=[Price()],
    )
    boss = code_agent(
        sandbox.executor,
        "words = shop('lamp?')\nown = price_of('desk')",
        "final_answer([own, '40' in words])",
        tools=[Price()],
        managed_agents=[inner],
    )
    assert boss.run("go") == [40, True]
    finished = recorded.exporter.get_finished_spans()
    assert len({span.context.trace_id for span in finished}) == 1, "one trace"
    runs = {span.name: span for span in finished if span.name.endswith(".run")}
    assert set(runs) == {"CodeAgent.run", "shop.run"}
    assert recorded.ancestors(runs["CodeAgent.run"]) == []
    assert recorded.ancestors(runs["shop.run"]) == [
        "execute_tool shop", *STEP, "CodeAgent.run",
    ]  # fmt: skip
    tools = [span for span in finished if span.name == "Price"]
    own, theirs = sorted(tools, key=lambda span: len(recorded.ancestors(span)))
    assert recorded.ancestors(own) == ["execute_tool price_of", *STEP, "CodeAgent.run"]
    assert recorded.ancestors(theirs) == [
        "execute_tool price_of", *STEP, "shop.run",
        "execute_tool shop", *STEP, "CodeAgent.run",
    ]  # fmt: skip
    executors = [call.attributes for call in recorded.spans("smolagents_fork.call")]
    assert {"smolagents_fork.executor": type(sandbox.executor).__name__} in executors
    assert {"smolagents_fork.executor": "LocalPythonExecutor"} in executors
    called = recorded.spans("execute_tool price_of")[0].attributes
    assert called["gen_ai.operation.name"] == "execute_tool"
    assert called["gen_ai.tool.name"] == "price_of"
    kinds = {span.name: span.attributes.get("openinference.span.kind") for span in finished}
    assert (kinds["Price"], kinds["shop.run"], kinds["CodeAgent.run"]) == ("TOOL", "AGENT", "AGENT")


def test_tool_in_a_thread_of_its_own_keeps_its_parents(recorded):
    with ProcessExecutor(tool_timeout_seconds=30) as executor:
        agent = code_agent(executor, "final_answer(price_of('desk'))", tools=[Price()])
        assert agent.run("go") == 40
        (span,) = recorded.spans("Price")
        assert recorded.ancestors(span) == ["execute_tool price_of", *STEP, "CodeAgent.run"]
    assert [len(recorded.spans(f"smolagents_fork.{name}")) for name in ("start", "end")] == [1, 1]


def test_interruption_from_another_thread_is_under_the_call(recorded):
    begun = threading.Event()
    with ProcessExecutor(timeout_seconds=600) as executor:
        executor.send_tools({"begin": begun.set})
        with acting(begun.is_set, executor.interrupt), pytest.raises(ValueError, match="interrupt"):
            executor("import time\nbegin()\ntime.sleep(1000)")
    (span,) = recorded.spans("smolagents_fork.interrupt")
    assert recorded.ancestors(span) == ["smolagents_fork.call"]
    (call,) = recorded.spans("smolagents_fork.call")
    assert call.attributes["error.type"] == "smolagents_fork.errors.ProgramInterruptedError"


def test_raising_tool_is_an_error_of_its_span(sandbox, recorded):
    executor = sandbox.executor

    def refuse() -> None:
        raise LookupError("none left")

    executor.send_tools({"refuse": refuse})
    executor("try:\n    refuse()\nexcept LookupError:\n    pass")
    (span,) = recorded.spans("execute_tool refuse")
    assert span.attributes["error.type"] == "LookupError"
    (call,) = recorded.spans("smolagents_fork.call")
    assert call.status.is_unset


def test_timeouts_and_deaths_are_counted_by_cause(recorded):
    timeouts, deaths = timeouts_of(recorded), deaths_of(recorded)
    with ProcessExecutor(timeout_seconds=0.5) as executor, pytest.raises(SandboxTimeoutError):
        executor("import time\ntime.sleep(1000)")
    ends = (
        "os.abort()",
        "os.abort()",
        "ctypes.CDLL(None).exit(7)",
        "os.close(1000)\ntime.sleep(600)",
    )
    with ProcessExecutor(["ctypes", "os"], timeout_seconds=600) as executor:
        for end in ends:
            with pytest.raises(SandboxDiedError):
                executor(f"import ctypes, os, time\n{end}")
    assert timeouts_of(recorded) == timeouts + 1
    assert deaths_of(recorded) - deaths == {
        "signal": 2, "exit": 1, "connection": 1,
    }  # fmt: skip
    assert {call.attributes["error.type"] for call in recorded.spans("smolagents_fork.call")} == {
        "smolagents_fork.errors.SandboxTimeoutError",
        "smolagents_fork.errors.SandboxDiedError",
    }


def timeouts_of(recorded: Recorded) -> int:
    """Return the time limits that child processes have reached since the process began."""
    return sum(
        point.value
        for point in recorded.points("smolagents_fork.timeouts")
        if point.attributes["smolagents_fork.executor"] == "ProcessExecutor"
    )


def deaths_of(recorded: Recorded) -> Counter[str]:
    """Return the deaths of child processes since the process began, by cause."""
    return Counter(
        {
            point.attributes["smolagents_fork.death.cause"]: point.value
            for point in recorded.points("smolagents_fork.deaths")
            if point.attributes["smolagents_fork.executor"] == "ProcessExecutor"
        }
    )


@pytest.mark.docker
def test_pool_of_containers_is_read_at_export(recorded, engine):
    before = pooled(recorded)
    with DockerPool(min_size=0, max_size=1, startup_timeout_seconds=180) as pool:
        with DockerExecutor(pool=pool):
            assert pooled(recorded) == {**before, "in_use": before["in_use"] + 1}
        assert eventually(lambda: pooled(recorded) == before)


def pooled(recorded: Recorded) -> dict[str, int]:
    """Return the figures of all pools of the process, those of other tests included."""
    return {"ready": 0, "starting": 0, "in_use": 0, "waiting": 0} | {
        point.attributes.get("smolagents_fork.pool.state", "waiting"): point.value
        for name in ("sandboxes", "waiting")
        for point in recorded.points(f"smolagents_fork.pool.{name}")
    }


class Busy:
    """A pool's figures."""

    def stats(self) -> Any:
        return SimpleNamespace(ready=2, starting=1, in_use=5, waiting=3)


def test_pools_are_read_at_export_and_forgotten_when_collected(recorded):
    LocalPythonExecutor([])("1")  # the first operation makes the metrics
    gc.collect()  # pools of other tests
    before = Counter(pooled(recorded))
    pool = Busy()
    telemetry.watch_pool(pool)
    figures = Counter(pooled(recorded))
    assert figures - before == {"ready": 2, "starting": 1, "in_use": 5, "waiting": 3}
    del pool
    assert Counter(pooled(recorded)) == before


def test_every_metric_of_the_dashboard_is_exported(recorded):
    with ProcessExecutor(["os"], timeout_seconds=0.5) as executor:
        executor.send_tools({"ping": lambda: 1})
        executor("ping()")
        with pytest.raises(SandboxTimeoutError):
            executor("import time\ntime.sleep(1000)")
        with pytest.raises(SandboxDiedError):
            executor("import os\nos.abort()")
    exported = generate_latest(REGISTRY).decode()
    series = set(re.findall(r"^(\w+)", exported, re.MULTILINE))
    labels = set(re.findall(r"(\w+)=\"", exported))
    used = {
        name
        for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]
        for target in panel["targets"]
        for name in re.findall(r"smolagents_fork_\w+|gen_ai_\w+", target["expr"])
    }
    assert used <= series | labels
    assert len(used & series) == 8


IDLE = """
import sys
from smolagents import LocalPythonExecutor
assert LocalPythonExecutor([])("1 + 1").output == 2
print([name for name in sys.modules if name.split(".")[0] == "opentelemetry"])
"""


@pytest.mark.slow
def test_nothing_of_opentelemetry_is_imported_for_an_application_without_it():
    run = subprocess.run([sys.executable, "-c", IDLE], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
