"""Prints and tool calls are streamed."""

from __future__ import annotations

import threading

from bridge_harness import code_agent


def test_prints_arrive_before_the_call_that_follows_them(sandbox):
    executor = sandbox.executor
    executor.send_tools({"arrived": lambda: "".join(sandbox.streamed)})
    # The code continues when its print has arrived, in any number of pieces.
    result = executor(
        "import time\nseen = []\nprinted = ''\nend = time.monotonic() + 40\n"
        "for n in range(3):\n    print('line', n)\n    printed += f'line {n}\\n'\n"
        "    while arrived() != printed and time.monotonic() < end:\n        time.sleep(0.05)\n"
        "    seen.append(arrived())\nseen"
    )
    lines = ["line 0\n", "line 1\n", "line 2\n"]
    assert result.output == ["".join(lines[:count]) for count in (1, 2, 3)]
    assert "".join(sandbox.streamed) == result.logs == "".join(lines)


def test_output_arrives_while_the_code_runs(sandbox):
    """The host releases the code after seeing its print, which must arrive during the run."""
    seen = threading.Event()
    sandbox.on_output = lambda text: seen.set() if "ready" in text else None
    executor = sandbox.executor
    executor.send_tools({"is_seen": seen.is_set})
    code = (
        "import time\nprint('ready')\nend = time.monotonic() + 40\n"
        "while not is_seen() and time.monotonic() < end:\n    time.sleep(0.1)\nis_seen()"
    )
    assert executor(code).output is True


def test_an_agent_with_stream_outputs(sandbox):
    agent = code_agent(
        sandbox.executor,
        "print('from the sandbox')\nword = shout('a')",
        "final_answer(word)",
        stream_outputs=True,
    )
    sandbox.executor.send_tools({"shout": str.upper})
    events = list(agent.run("go", stream=True))
    names = [type(event).__name__ for event in events]
    assert names.count("ActionStep") == 2
    assert "ChatMessageStreamDelta" in names
    assert names.index("ChatMessageStreamDelta") < names.index("ActionStep")
    assert events[-1].output == "A"
    assert "from the sandbox\n" in "".join(sandbox.streamed)
