"""Arguments of ``acreate``, checked as the constructor checks them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from smolagents_fork import DockerExecutor, WasmExecutor
from smolagents_fork.errors import ConfigurationError

EXECUTORS = {DockerExecutor: "DockerPool", WasmExecutor: "WasmPool"}


@pytest.mark.parametrize("cls", EXECUTORS)
@pytest.mark.parametrize("pool", ["x", 5, False, object])
def test_pool_of_another_type_is_refused(cls: Any, pool: Any) -> None:
    message = rf"pool={pool!r}: pass a {EXECUTORS[cls]}, or None"
    with pytest.raises(ConfigurationError) as of_constructor:
        cls(pool=pool)
    with pytest.raises(ConfigurationError) as of_acreate:
        asyncio.run(cls.acreate(pool=pool))
    assert str(of_acreate.value) == str(of_constructor.value) == message


@pytest.mark.parametrize("cls", EXECUTORS)
@pytest.mark.parametrize(
    "arguments",
    [
        {"tenant": 5},
        {"tenant": "a\n"},
        {"timeout_seconds": -1},
        {"tmeout": 3},
        {"logger": 5},
        {"additional_authorized_imports": 5},
    ],
)
def test_error_is_the_constructors(cls: Any, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as of_constructor:  # noqa: PT011 - compared below
        cls(**arguments)
    with pytest.raises(type(of_constructor.value)) as of_acreate:
        asyncio.run(cls.acreate(**arguments))
    assert str(of_acreate.value) == str(of_constructor.value)
