"""``max_value_bytes`` limits arguments and results of calls, in every sandbox."""

from __future__ import annotations

from typing import Any

import pytest
from bridge_harness import CLASSES, Sandbox

from smolagents_fork.errors import EncodeError

LIMIT = 100_000
CODE = """
words = []
kept = 'as before'
for call in (
    lambda: take('x' * 200_000),
    lambda: take(text=[1, 'x' * 200_000]),
    lambda: take('x' * 60_000, 'y' * 60_000),
    lambda: give(200_000),
    lambda: final_answer('x' * 200_000),
):
    try:
        call()
    except Exception as error:
        words.append(type(error).__name__ + ': ' + str(error))
words + [take('x' * 90_000), len(give(90_000))]
"""


def test_a_value_over_the_limit_is_an_error_that_names_it(sandbox: Sandbox) -> None:
    taken: list[int] = []

    def take(text: Any, more: Any = "") -> int:
        taken.append(len(text))
        return len(text)

    with CLASSES[sandbox.name](timeout_seconds=60, max_value_bytes=LIMIT) as executor:
        executor.send_tools(
            {"take": take, "give": lambda size: "x" * size, "final_answer": lambda answer: answer}
        )
        *refused, sent, given = executor(CODE).output
        assert (sent, given) == (90_000, 90_000)
        assert taken == [90_000]
        whole = refused.pop(2)
        limit = "over 100000 bytes; raise max_value_bytes="
        assert refused == [
            f"EncodeError: argument 'text' of take(): the encoding is {limit}",
            f"EncodeError: argument 'text' of take()[1]: the encoding is {limit}",
            f"TypeError: result of give(): the encoding is {limit}",
            f"EncodeError: argument 'answer' of final_answer(): the encoding is {limit}",
        ]
        assert whole.startswith("EncodeError: arguments of take(): their encoding of 120")
        assert whole.endswith(f" bytes is {limit}")
        with pytest.raises(EncodeError) as raised:
            executor.send_variables({"large": ["x" * 200_000]})
        assert str(raised.value).splitlines()[0] == f"vars['large'][0]: the encoding is {limit}"
        executor("large = 'x' * 200_000")
        reason = executor.variables().left_out["large"]
        assert reason.endswith(" bytes, which are left for it; raise max_value_bytes=")
        # The value of the last expression is returned as text.
        assert executor("'z' * 200_000").output.startswith("'zzz")
        assert executor("kept").output == "as before"
