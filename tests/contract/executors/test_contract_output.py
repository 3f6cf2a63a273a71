"""Output of the code."""

from __future__ import annotations

import pytest
from contract_declarations import behaviour
from contract_kinds import OUTPUT_LIMIT


@behaviour("Output", "Printed text arrives unchanged, with sep, end and other alphabets.")
def test_prints(contract):
    logs = contract.shared("print('a', 1, sep='-', end=';')\nprint('äß 日本 🙂')\nprint()").logs
    assert logs == "a-1;äß 日本 🙂\n\n"


@behaviour("Output", "Each call has its own output.")
def test_output_is_of_one_call(contract):
    assert contract.shared("print('first')").logs == "first\n"
    assert contract.shared("1 + 1").logs == ""


@behaviour("Output", "Output past the limit is cut, with a marker; the beginning is kept.")
def test_output_is_cut_with_a_marker(contract):
    executor = contract.limited
    logs = executor("print('begin')\nfor n in range(50):\n    print('x' * 50)").logs
    assert logs.startswith("begin\n")
    assert len(logs) < OUTPUT_LIMIT + 200
    assert "..." in logs
    assert executor("print('short')").logs == "short\n"


@behaviour("Output", "Endless output neither hangs nor fills the host.")
def test_a_flood_of_output(contract):
    result = contract.shared(
        "block = 'x' * 1_000_000\nfor n in range(30):\n    print(block)\n'done'"
    )
    assert result.output == "done"
    assert len(result.logs) < 2_000_000


@behaviour("Output", "on_output receives output while the code runs.")
def test_prints_are_streamed(contract):
    executor, pieces = contract.shared, contract.streamed
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


@behaviour(
    "Output",
    "An on_output that raises is not called again in that call, which goes on; its logs say so.",
)
def test_stream_that_raises(contract):
    executor, pieces = contract.shared, contract.streamed
    # Each print waits until the host has received the one before.
    executor.send_tools({"received": lambda: len(pieces)})
    pieces.clear()
    with contract.faulty_stream(ValueError("no more")):
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


@behaviour("Output", "Text of any length up to the limit arrives complete.")
@pytest.mark.parametrize("length", [0, 1, 4096, 49_000])
def test_lengths_around_a_buffer(contract, length):
    assert contract.shared(f"print('y' * {length})").logs == "y" * length + "\n"
