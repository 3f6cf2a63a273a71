"""Output of the code."""

from __future__ import annotations

import threading
import traceback

import pytest
from contract_declarations import behaviour
from contract_kinds import OUTPUT_LIMIT, printed
from scripted_model import Script
from smolagents import CodeAgent

from smolagents_fork.errors import InterpreterError
from smolagents_fork.executors.agents.lifecycle import text_of_output


@behaviour("Output", "Printed text arrives unchanged, with sep, end and other alphabets.")
def test_prints(contract):
    logs = contract.shared("print('a', 1, sep='-', end=';')\nprint('äß 日本 🙂')\nprint()").logs
    assert logs == "a-1;äß 日本 🙂\n\n"
    for length in (0, 1, 4096, 49_000):  # around a buffer, and below the limit
        assert contract.shared(f"print('y' * {length})").logs == "y" * length + "\n"
    assert contract.shared("print('no warning of the compiler')\n1 is 1").logs.count("warning") == 1


NOTE = "\n..._This content has been truncated to stay below {} characters_...\n"


@behaviour(
    "Output",
    "Each call has its own output; past the limit the first and last half are kept, with a note. "
    "Text printed before an error is kept in the state, once, with the same note.",
)
@pytest.mark.parametrize("lines", [20, 50, 100_000])
def test_first_and_last_half_of_the_output_are_kept(contract, lines):
    executor = contract.limited
    code = f"print('begin')\nprint(('x' * 49 + '\\n') * {lines}, end='')\nprint('end')"
    half = OUTPUT_LIMIT // 2
    line = "x" * 49 + "\n"
    first, last = "begin\n" + line * 20, line * 20 + "end\n"
    kept = first[:half] + NOTE.format(OUTPUT_LIMIT) + last[-half:]
    assert executor(code).logs == kept
    assert executor("print('short')").logs == "short\n"
    with pytest.raises(Exception, match="division by zero") as caught:
        executor(f"{code}\n1 / 0")
    assert printed(executor) == kept
    assert "xxx" not in str(caught.value)


@behaviour("Output", "Endless output neither hangs nor fills the host.")
def test_a_flood_of_output(contract):
    result = contract.shared(
        "block = 'x' * 1_000_000\nfor n in range(30):\n    print(block)\n'done'"
    )
    assert result.output == "done"
    assert len(result.logs) < 2_000_000


@behaviour("Output", "on_output receives output while the code runs, in the thread of the call.")
def test_prints_are_streamed(contract):
    executor, pieces = contract.shared, contract.listener.pieces
    pieces.clear()
    executor.send_tools({"arrived": lambda: "".join(pieces)})
    # The code waits until its first line has arrived, in any pieces.
    result = executor(
        "import time\nprint('first')\nend = time.time() + 40\n"
        "while arrived() != 'first\\n' and time.time() < end:\n    time.sleep(0.05)\n"
        "seen = arrived()\nprint('second')\nseen"
    )
    assert result.output == "first\n"
    assert "".join(pieces) == result.logs == "first\nsecond\n"
    assert contract.listener.thread == threading.get_ident()


@behaviour("Output", "A print is one write: on_output gets no part of it.")
def test_prints_are_whole(contract):
    executor, pieces = contract.shared, contract.listener.pieces
    pieces.clear()
    executor(
        "for number in range(2000):\n"
        "    print(number, 'of', 2.5, None, [1])\n"
        "    print('a', 'b', sep='\\n', end='|\\n', flush=True)"
    )
    lines = [f"{number} of 2.5 None [1]\na\nb|\n" for number in range(2000)]
    assert "".join(pieces) == "".join(lines)
    assert {piece[-2:] for piece in pieces} <= {"]\n", "|\n"}
    with pytest.raises(Exception, match="sep must be None or a string, not int"):
        executor("print(1, sep=2)")
    with pytest.raises(Exception, match="keyword argument"):
        executor("print(1, seb=2)")


@behaviour(
    "Output",
    "An on_output that raises is not called again in that call, which continues; its logs say so.",
)
def test_stream_that_raises(contract):
    executor, pieces = contract.shared, contract.listener.pieces
    # Each print waits until the host has received the one before.
    executor.send_tools({"received": lambda: len(pieces)})
    pieces.clear()
    with contract.listener.failing(ValueError("no more")):
        code = "print('first')\nreceived()\nprint('second')\nreceived()\nprint('third')\n5"
        result = executor(code)
        assert result.output == 5
        note = "[on_output raised ValueError: no more; not called again]"
        assert result.logs == f"first\nsecond\nthird\n\n{note}"
        assert len(pieces) == 1
        with pytest.raises(Exception, match="division by zero"):
            executor("print('first')\n1 / 0")
    pieces.clear()
    assert executor("print('next call')").logs == "".join(pieces) == "next call\n"


@behaviour("Output", "An on_output that ends the host, as Ctrl-C does, ends the call.")
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_stream_that_ends_the_host(contract, kind):
    executor = contract.shared
    executor("kept = 1")
    raised = InterpreterError if contract.differs else kind
    with contract.listener.failing(kind("of the user")), pytest.raises(raised, match="of the user"):
        executor("print('x', flush=True)\nimport time\ntime.sleep(50)")
    assert executor("kept").output == 1


@behaviour(
    "Output",
    "An agent's max_print_outputs_length reaches its executor, unless its kwargs override it.",
)
def test_limit_of_the_agent(contract):
    options = {"tools": [], "verbosity_level": 0, "max_steps": 2, "max_print_outputs_length": 100}
    code = "print('x' * 3000)\n1 / 0"
    for kwargs, limit in (({}, 100), ({"max_print_outputs_length": 200}, 200)):
        model = Script(code, "final_answer(1)")
        made = CodeAgent(model=model, **options, **contract.agent_options(**kwargs))
        agent = contract.keep(made)
        agent.run("go")
        step = agent.memory.steps[1]
        # What the model is sent of it: once, although the call has failed.
        sent = "".join(str(message.content) for message in step.to_messages())
        assert sent.count("This content has been truncated") == 1
        assert f"stay below {limit} characters" in sent
        assert "x" * (limit // 2) in sent
        assert "x" * (limit // 2 + 1) not in sent


CUT = """import json
cut = json.loads('"cut \\\\ud83d here"')
"""


@behaviour(
    "Output",
    "Printed text, errors and displays can be encoded: a lone surrogate becomes U+FFFD.",
)
def test_lone_surrogate_is_printed(contract):
    executor = contract.wide
    logs = executor(f"{CUT}print('before')\nprint(cut)\nprint('after')").logs
    assert logs.splitlines() == ["before", "cut \ufffd here", "after"]
    with pytest.raises(Exception, match="cut \ufffd here") as caught:
        executor(f"{CUT}print('before')\nraise ValueError(cut)")
    "".join(traceback.format_exception(caught.value)).encode()
    assert printed(executor).splitlines() == ["before"]
    class_ = "class Odd:\n    def _repr_html_(self):\n        return f'<b>{cut}</b>'\n"
    executor(f"{CUT}{class_}display(Odd())")
    for display in executor.displays:
        for text in display.forms.values():
            str(text).encode()


@behaviour("Output", "A value keeps its lone surrogates both ways, and its text can be encoded.")
def test_lone_surrogate_is_in_a_value(contract):
    executor = contract.wide
    executor.send_tools({"same": lambda value: value})
    executor.send_variables({"sent": "cut \ud83d here"})
    output = executor(f"{CUT}[same(cut) == cut == sent, cut]").output
    assert output == [True, "cut \ud83d here"]
    agent = CodeAgent(tools=[], model=Script(), executor=executor, verbosity_level=0)
    assert text_of_output(agent, output[1]) == "cut \ufffd here"
    odd = executor("class Odd:\n    def __repr__(self):\n        return cut\nOdd()").output
    assert text_of_output(agent, odd) == "cut \ufffd here"
