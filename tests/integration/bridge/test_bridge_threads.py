"""A tool bound to the thread that created it: the error and the option that avoids it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from bridge_harness import CLASSES, Sandbox, code_agent
from smolagents import Tool


class Rows(Tool):
    name = "rows"
    description = "Counts the rows of the database."
    inputs: dict[str, Any] = {}  # noqa: RUF012 - upstream's
    output_type = "integer"

    def __init__(self) -> None:
        super().__init__()
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute("create table t as select 1 union select 2")

    def forward(self) -> int:
        return int(self.connection.execute("select count(*) from t").fetchone()[0])


@pytest.fixture
def rows() -> Iterator[Rows]:
    made = Rows()
    yield made
    made.connection.close()


def test_the_error_names_the_option(sandbox: Sandbox, rows: Rows) -> None:
    agent = code_agent(sandbox.executor, "print(rows())", "final_answer('gave up')", tools=[rows])
    assert agent.run("go") == "gave up"
    told = str(agent.memory.steps[1].error)
    assert "SQLite objects created in a thread can only be used in that same thread" in told
    assert "give the executor tools_in_calling_thread=True" in told


def test_the_option_helps(sandbox: Sandbox, rows: Rows) -> None:
    with CLASSES[sandbox.name](timeout_seconds=60, tools_in_calling_thread=True) as executor:
        agent = code_agent(executor, "final_answer(rows())", tools=[rows])
        assert agent.run("go") == 2
