"""Text forms of executors that have not started, and of pools; others are in the contract."""

from __future__ import annotations

import re

from smolagents_fork import AgentSandbox, DockerExecutor, ProcessExecutor, WasmExecutor
from smolagents_fork.executors.hosted import E2BExecutor


def test_half_made_executors_have_a_text_form() -> None:
    for cls in (AgentSandbox, DockerExecutor, ProcessExecutor, WasmExecutor, E2BExecutor):
        assert repr(cls.__new__(cls)) == f"<{cls.__name__}: not started>"


def test_pool_says_what_it_has() -> None:
    from counting_pool import CountingPool

    with CountingPool(3) as pool:
        pool.acquire()
        assert re.fullmatch(
            r"<CountingPool: open, 0 ready, 0 starting and 1 in use of max_size=3, 0 waiting.*>",
            repr(pool),
        )
    assert repr(pool).startswith("<CountingPool: closed")
