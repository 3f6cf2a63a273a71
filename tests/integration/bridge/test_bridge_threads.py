"""Tools bound to the thread that made them: where they work, and where they do not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from bridge_harness import CLASSES, Sandbox, code_agent
from smolagents import Tool, tool
from sqlalchemy import Column, Float, Integer, MetaData, String, Table, create_engine, insert, text
from sqlalchemy.engine import Engine


@pytest.fixture
def engine_of_receipts() -> Iterator[Engine]:
    """An in-memory database, of which SQLAlchemy gives each thread its own."""
    made = create_engine("sqlite:///:memory:")
    metadata = MetaData()
    receipts = Table(
        "receipts",
        metadata,
        Column("receipt_id", Integer, primary_key=True),
        Column("customer_name", String(16)),
        Column("price", Float),
    )
    metadata.create_all(made)
    rows = [("Alan Payne", 12.06), ("Alex Mason", 23.86), ("Woodrow Wilson", 53.43)]
    with made.begin() as connection:
        for name, price in rows:
            connection.execute(insert(receipts).values(customer_name=name, price=price))
    yield made
    made.dispose()


@pytest.fixture
def sql_engine(engine_of_receipts: Engine) -> Tool:
    @tool
    def sql_engine(query: str) -> str:
        """Queries the table receipts; returns the rows as text.

        Args:
            query: the SQL.
        """
        with engine_of_receipts.connect() as connection:
            return "".join(f"\n{row}" for row in connection.execute(text(query)))

    return sql_engine


PROGRAM = """
rows = sql_engine("SELECT customer_name, MAX(price) FROM receipts")
final_answer(rows)
"""


def test_object_of_the_calling_thread_fails_in_another(sandbox: Sandbox, sql_engine: Tool) -> None:
    executor = sandbox.executor
    executor.send_tools({"sql_engine": sql_engine})
    with pytest.raises(Exception, match="no such table: receipts"):
        asyncio.run(executor.acall(PROGRAM))
    with CLASSES[sandbox.name](timeout_seconds=60, tool_timeout_seconds=60) as limited:
        agent = code_agent(limited, PROGRAM, "final_answer('gave up')", tools=[sql_engine])
        assert agent.run("go") == "gave up"
        told: Any = agent.memory.steps[1].error
    assert "no such table: receipts" in str(told)
