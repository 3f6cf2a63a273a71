"""Records of an agent's steps, which ``return_full_result=True`` gives, fail on no value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from smolagents.memory import ActionStep, ToolCall
from smolagents.monitoring import Timing

NESTED = "[" * 100_000 + "]" * 100_000
DIGITS = f"[{'7' * 5000}]"


def record_of(output: Any) -> Any:
    call = ToolCall("python_interpreter", output, "1")
    record = ActionStep(1, Timing(0.0, 1.0), tool_calls=[call], action_output=output).dict()
    json.dumps(record["tool_calls"])
    return record["action_output"]


@pytest.mark.parametrize("text", [NESTED, DIGITS, "[1", "{]}"], ids=["nested", "digits", "1", "2"])
def test_text_that_is_not_json_stays_text(text):
    assert record_of(text) == text


def test_key_without_a_text_says_why():
    (key,) = record_of({10**5000: 1})
    assert key.startswith("<int whose str() raised ValueError: Exceeds the limit (4300")


def test_ordinary_values_are_recorded_as_they_were():
    assert record_of({"a": [1, (2,)], 3: '{"b": 4}'}) == {"a": [1, [2]], "3": {"b": 4}}
    assert record_of({1, 2}) == "{1, 2}"
