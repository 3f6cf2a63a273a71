"""Agents stream what the sandbox prints, and the calls of tools."""

from __future__ import annotations

from bridge_harness import code_agent


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
