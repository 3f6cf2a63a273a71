"""Parts of a pool that need no sandbox."""

from __future__ import annotations

import multiprocessing
from typing import Any

import pytest

from smolagents_fork import DockerPool, WasmPool
from smolagents_fork.errors import ExecutorError


def _used(pool: Any, results: Any) -> None:
    try:
        pool.acquire(timeout=30)
    except ExecutorError as error:
        results.put(str(error))
    pool.close()
    results.put(pool._closed)


@pytest.mark.parametrize("cls", [DockerPool, WasmPool])
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_forked_child_gets_an_error_and_leaves_the_pool_as_it_is(cls):
    context = multiprocessing.get_context("fork")
    with cls(min_size=0) as pool:
        results = context.Queue()
        child = context.Process(target=_used, args=(pool, results))
        child.start()
        assert "forked from the one that made it" in results.get(timeout=60)
        assert results.get(timeout=60) is False
        child.join(60)
        assert pool.stats().waiting == 0
