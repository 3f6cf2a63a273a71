"""Managed agents of the host, called from the code."""

from __future__ import annotations

from typing import Any

import pytest
from contract_declarations import behaviour
from contract_parts import Counter
from scripted_model import Caller, Script
from smolagents import CodeAgent, ToolCallingAgent


def code_agent(executor: Any, *steps: str, **more: Any) -> CodeAgent:
    options: dict[str, Any] = {"tools": [], "verbosity_level": 0, "max_steps": 5, **more}
    return CodeAgent(model=Script(*steps), executor=executor, **options)


def helper_of(executor: Any, *steps: str, **more: Any) -> CodeAgent:
    """Return an agent for another one to manage."""
    return code_agent(executor, *steps, **{"name": "helper", "description": "Helps.", **more})


@behaviour("Managed agents", "A managed ToolCallingAgent works with its tools on the host.")
def test_managed_tool_calling_agent(contract):
    counter = Counter(start=40)
    web = ToolCallingAgent(
        tools=[counter],
        model=Caller(("counter", {"step": 2}), ("final_answer", {"answer": "it is 42"})),
        name="web",
        description="Searches.",
        verbosity_level=0,
    )
    boss = code_agent(
        contract.shared, "words = web('count')\nfinal_answer('42' in words)", managed_agents=[web]
    )
    assert boss.run("go") is True
    assert counter.total == 42


@behaviour("Managed agents", "Managed CodeAgents can manage others, each with its own executor.")
def test_managed_agents_two_deep(contract):
    steps = "mark = 'inner'\nfinal_answer('deep ' + str(6 * 7))"
    inner = helper_of(contract.limited, steps, name="calculator")
    middle = helper_of(
        contract.science,
        "mark = 'middle'\nreport = calculator(task='six times seven')",
        "final_answer(report + mark)",
        managed_agents=[inner],
    )
    boss = code_agent(
        contract.shared,
        "mark = 'boss'\nwords = helper('count')\nprint(words)",
        "final_answer(['deep 42' in words, 'middle' in words, mark])",
        managed_agents=[middle],
    )
    assert boss.run("go") == [True, True, "boss"]
    assert "deep 42" in str(boss.memory.steps[1].observations)


@behaviour(
    "Managed agents", "An agent creates its own executor from executor_class, and closes it."
)
def test_agent_with_its_own_executor(contract):
    options = contract.agent_options(timeout_seconds=30)
    with helper_of(None, "final_answer('helped')", **options) as helper:
        boss = code_agent(
            contract.shared, "final_answer('helped' in helper('please'))", managed_agents=[helper]
        )
        assert type(helper.python_executor) is contract.kind.cls
        assert boss.run("go") is True
        executor = helper.python_executor
    if contract.differs:
        assert not hasattr(executor, "closed")
    else:
        assert executor.closed


@behaviour("Managed agents", "A managed agent can be called again, and keeps its own state.")
def test_a_managed_agent_is_called_twice(contract):
    steps = "kept = 1\nfinal_answer('first')", "final_answer('second' + str(kept))"
    boss = code_agent(
        contract.shared,
        "kept = 2\nanswers = [helper('one'), helper('two')]\n"
        "final_answer(['first' in answers[0], 'second1' in answers[1]])",
        managed_agents=[helper_of(contract.limited, *steps)],
    )
    assert boss.run("go") == [True, True]
    assert contract.shared("kept").output == 2


@behaviour(
    "Managed agents", "They accept task and additional_args, and no other arguments of run()."
)
def test_signature_of_a_managed_agent(contract):
    helper = helper_of(contract.limited, "final_answer(sum(numbers))", "final_answer('by keyword')")
    boss = code_agent(
        contract.shared,
        "words = [helper('add', additional_args={'numbers': [40, 2]}), helper(task='add')]\n"
        "for call in (lambda: helper('add', max_steps=50), lambda: helper(), "
        "lambda: helper('add', stream=True)):\n"
        "    try:\n        call()\n    except TypeError as error:\n"
        "        words.append(str(error))",
        "final_answer(words)",
        managed_agents=[helper],
    )
    added, keyword, *refused = boss.run("go")
    assert "42" in added
    assert "by keyword" in keyword
    assert refused == [
        "helper() got an unexpected keyword argument 'max_steps'",
        "helper() missing 1 required positional argument: 'task'",
        "helper() got an unexpected keyword argument 'stream'",
    ]


@behaviour("Managed agents", "The variables of a call end with it, and their names are checked.")
def test_variables_of_a_call_end_with_it(contract):
    helper = helper_of(
        contract.limited,
        "final_answer(secret_of_a + kept)",
        "try:\n    found = secret_of_a\nexcept NameError:\n    found = 'no secret'\n"
        "final_answer(found + kept)",
    )
    helper.state["kept"] = " of the agent"
    boss = code_agent(
        contract.shared,
        "words = [helper('one', {'secret_of_a': 'told', 'kept': ' of the call'}), helper('two')]\n"
        "for name in ('__builtins__', 'final_answer'):\n"
        "    try:\n        helper('three', {name: 5})\n    except ValueError as error:\n"
        "        words.append(str(error))",
        "final_answer(words)",
        managed_agents=[helper],
    )
    first, second, *refused = boss.run("go")
    assert "told of the call" in first
    assert "no secret of the agent" in second
    assert refused == [
        "helper(): additional_args has the name '__builtins__', which Python reserves; use another",
        "helper(): additional_args has the name 'final_answer' of a tool of that agent; "
        "use another",
    ]
    assert helper.state == {"kept": " of the agent"}


@behaviour("Managed agents", "The code can catch an error of a managed agent.")
def test_error_of_a_managed_agent(contract):
    helper = ToolCallingAgent(
        tools=[], model=Caller(), name="helper", description="Helps.", verbosity_level=0
    )
    boss = code_agent(
        contract.shared,
        "try:\n    helper('please')\nexcept Exception as error:\n    caught = str(error)\n"
        "final_answer(caught)",
        managed_agents=[helper],
    )
    assert "pop from empty list" in boss.run("go")


@behaviour(
    "Managed agents",
    "A run with stream=True yields calls of the interpreter, steps and the answer.",
)
def test_streamed_runs(contract):
    boss = code_agent(
        contract.shared,
        "words = helper('please')\nprint('helped' in words)",
        "final_answer('streamed')",
        managed_agents=[helper_of(contract.limited, "final_answer('helped')")],
    )
    events = list(boss.run("go", stream=True))
    names = [type(event).__name__ for event in events]
    assert names.count("ActionStep") == 2
    calls = [event.name for event in events if type(event).__name__ == "ToolCall"]
    assert calls == ["python_interpreter"] * 2
    assert names[-1] == "FinalAnswerStep"
    assert events[-1].output == "streamed"


@behaviour("Managed agents", "additional_args reach the code as variables.")
def test_additional_args(contract):
    agent = code_agent(contract.shared, "final_answer(sorted(table)[0] + extra)")
    answer = agent.run("go", additional_args={"table": {"b": 1, "a": 2}, "extra": "!"})
    assert answer == "a!"
    with pytest.raises(IndexError):
        agent.model.answers[0]
