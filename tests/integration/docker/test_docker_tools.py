"""Tools and managed agents of the host, called from the container; the final answer."""

from __future__ import annotations

import io
import time
from textwrap import dedent

import PIL.Image
import pytest
from docker_agents import Script
from rich.console import Console
from smolagents import CodeAgent, FinalAnswerTool, Tool, tool
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.utils import AgentError

from smolagents_fork.errors import ConfigurationError


class Counter(Tool):
    name = "counter"
    description = "Counts its calls."
    inputs = {"step": {"type": "integer", "description": "How far to count."}}  # noqa: RUF012 - as upstream
    output_type = "integer"

    def __init__(self, start: int):
        self.total = start
        super().__init__()

    def forward(self, step: int) -> int:
        self.total += step
        return self.total


@tool
def shout(text: str, times: int = 1) -> str:
    """Makes text loud.

    Args:
        text: what to shout
        times: how often
    """
    return text.upper() * times


@tool
def fails(key: str) -> str:
    """Always fails.

    Args:
        key: what is missing
    """
    raise KeyError(key)


@pytest.fixture
def tooled(shared):
    shared.send_tools(
        {
            "counter": Counter(100),
            "shout": shout,
            "fails": fails,
            "final_answer": FinalAnswerTool(),
        }
    )
    return shared


def test_tool_with_state_stays_on_the_host(tooled):
    assert tooled("counter(1)").output == 101
    assert tooled("counter(step=5)").output == 106


def test_arguments_bind_as_python_binds_them(tooled):
    assert tooled("shout('a'), shout(text='b', times=2)").output == ("A", "BB")
    with pytest.raises(AgentError, match="missing 1 required positional argument: 'text'"):
        tooled("shout()")
    with pytest.raises(AgentError, match="unexpected keyword argument 'nope'"):
        tooled("shout('a', nope=1)")


def test_help_shows_signature_and_documentation(tooled):
    logs = tooled("help(shout)").logs
    assert "shout(text" in logs
    assert "Makes text loud." in logs


def test_exception_of_a_tool_can_be_caught_by_its_type(tooled):
    code = "try:\n    fails('k')\nexcept KeyError as error:\n    caught = error.args\ncaught"
    assert tooled(code).output == ("k",)
    with pytest.raises(AgentError, match="KeyError: 'k'") as caught:
        tooled("fails('k')")
    assert __file__ not in str(caught.value)


def test_tool_called_from_threads(tooled):
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    results = list(pool.map(shout, [str(n) for n in range(40)]))\n"
        "results == [str(n) for n in range(40)]"
    )
    assert tooled(code).output is True


def test_clock_stops_while_the_host_works(make):
    def slow() -> str:
        time.sleep(5)
        return "slept"

    executor = make(timeout_seconds=4)
    executor.send_tools({"slow": slow})
    execution = executor.run("slow()")
    assert execution.output == "slept"
    assert execution.seconds < 4


def test_tool_that_calls_its_own_executor_is_an_error_and_no_hang(make):
    executor = make()
    executor.send_tools({"again": lambda: executor("1+1").output})
    with pytest.raises(AgentError, match="from within a tool that its own code has called"):
        executor("again()")
    assert executor("2").output == 2


def test_large_values_through_tools(science):
    science.send_tools({"twice": lambda value: value + value, "size": lambda value: len(value)})
    assert science("len(twice('x' * 5_000_000))").output == 10_000_000
    assert science("import numpy as np\nsize(np.zeros(2_000_000))").output == 2_000_000


def test_final_answer(tooled):
    result = tooled("print('logs')\nfinal_answer('This is the final answer')\nprint('never')")
    assert result.is_final_answer
    assert result.output == "This is the final answer"
    assert result.logs == "logs\n"


def test_final_answer_is_freed_in_the_container(tooled):
    tooled("import gc, weakref\ngc.disable()\nvalue = {1, 2}\nanswer = weakref.ref(value)")
    code = "def f(x):\n    y = x\n    final_answer(y)\nf(value)"
    assert tooled(code).output == {1, 2}
    assert tooled("del value\nanswer() is None").output is True
    tooled("gc.enable()")


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    final_answer(1)\nexcept BaseException:\n    pass\nprint('on')",
        "try:\n    final_answer(1)\nfinally:\n    print('finally')",
        "def f():\n    for n in range(10):\n        final_answer(1)\nf()",
        "import threading as t\nx = t.Thread(target=final_answer, args=(1,))\nx.start()\nx.join()",
        "while True:\n    try:\n        final_answer(1)\n    except BaseException:\n        pass",
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_final_answer_ends_the_run_from_anywhere(tooled, code):
    result = tooled(code)
    assert (result.output, result.is_final_answer) == (1, True)
    assert tooled("'next call'").output == "next call"


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ('final_answer("""a\nb""")', "a\nb"),
        ("text = '''\nfinal_answer(5)\n'''\nfinal_answer(text)", "\nfinal_answer(5)\n"),
        ("num = 2\nif num == 1:\n    final_answer('One')\nelse:\n    final_answer('Two')", "Two"),
    ],
)
def test_final_answer_patterns_of_upstream(tooled, code, answer):
    result = tooled(dedent(code))
    assert (result.output, result.is_final_answer) == (answer, True)


def test_custom_final_answer(make):
    class Custom(FinalAnswerTool):
        inputs = {  # noqa: RUF012 - as upstream
            "answer1": {"type": "string", "description": "First part."},
            "answer2": {"type": "string", "description": "Second part."},
        }

        def forward(self, answer1: str, answer2: str) -> str:
            return answer1 + "CUSTOM" + answer2

    executor = make()
    executor.send_tools({"final_answer": Custom()})
    result = executor("final_answer(\n    answer1='answer1_',\n    answer2='_answer2'\n)")
    assert result.is_final_answer
    assert result.output == "answer1_CUSTOM_answer2"


def test_final_answer_of_a_picture(science):
    science.send_tools({"final_answer": FinalAnswerTool()})
    result = science("from PIL import Image\nfinal_answer(Image.new('RGB', (10, 10), (255, 0, 0)))")
    assert result.is_final_answer
    assert isinstance(result.output, PIL.Image.Image)


def test_unregistered_and_forged_calls_are_errors(tooled):
    with pytest.raises(AgentError, match="the host has no tool called 'system'"):
        tooled("__smolagents_fork__.calls.call('system', ['id'], {})")
    for forged in ("b'rubbish'", "b''", "b'[' * 5000", "b'{}'"):
        code = f"bytes(__smolagents_fork__.exchange({forged}))"
        assert isinstance(tooled(code).output, bytes)
    assert tooled("shout('ok')").output == "OK"


def test_tools_survive_a_new_kernel(make):
    executor = make()
    executor.send_tools({"counter": Counter(0)})
    assert executor("counter(1)").output == 1
    with pytest.raises(Exception, match="exit code 1"):
        executor("import os; os._exit(1)")
    assert executor("counter(1)").output == 2


def test_placement_in_the_sandbox_sends_source(make):
    executor = make(tool_placement={"shout": "sandbox"})
    executor.send_tools({"shout": shout, "final_answer": FinalAnswerTool()})
    assert executor("shout('a', times=2)").output == "AA"
    assert executor("final_answer(shout('b'))").output == "B"
    with pytest.raises(ConfigurationError, match="final_answer"):
        make(tool_placement={"final_answer": "sandbox"}).send_tools(
            {"final_answer": FinalAnswerTool()}
        )


def test_agent_runs_with_state_tools_and_answer(make):
    executor = make()
    agent = CodeAgent(
        tools=[Counter(10)],
        model=Script("x = counter(5)\nprint(x)", "final_answer(x * given)"),
        executor=executor,
        verbosity_level=0,
    )
    assert agent.run("go", additional_args={"given": 3}) == 45


def test_failed_step_shows_the_model_its_output(make):
    agent = CodeAgent(
        tools=[],
        model=Script("print('seen by the model')\n1/0", "final_answer('done')"),
        executor=make(),
        verbosity_level=0,
    )
    assert agent.run("go") == "done"
    step = agent.memory.steps[1]
    assert "seen by the model" in step.observations
    assert "ZeroDivisionError" in str(step.error)


def test_failed_step_shows_the_user_its_error_once(tooled, monkeypatch):
    shown = io.StringIO()
    logger = AgentLogger(level=LogLevel.DEBUG, console=Console(file=shown, width=200))
    monkeypatch.setattr(tooled, "logger", logger)
    agent = CodeAgent(
        tools=[],
        model=Script("print('before')\n1/0", "final_answer('done')"),
        executor=tooled,
        logger=logger,
    )
    assert agent.run("go") == "done"
    assert shown.getvalue().count("ZeroDivisionError: division by zero") == 1


def test_managed_agent_is_called_on_the_host(make):
    inner = CodeAgent(
        tools=[],
        model=Script("final_answer('inner ' + str(6 * 7))"),
        name="helper",
        description="Helps.",
        executor=make(),
        verbosity_level=0,
    )
    outer = CodeAgent(
        tools=[],
        model=Script("reply = helper('please')\nfinal_answer(reply)"),
        managed_agents=[inner],
        executor=make(),
        verbosity_level=0,
    )
    assert "inner 42" in outer.run("go")


def test_interrupt_just_before_the_run_is_not_lost(tooled, monkeypatch):
    begin = tooled._bindings.calls.begin_run

    def begin_and_interrupt():
        begin()
        tooled.interrupt()

    monkeypatch.setattr(tooled._bindings.calls, "begin_run", begin_and_interrupt)
    assert tooled("shout(text='a')").output == "A"
