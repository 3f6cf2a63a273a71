"""Ready guests: handed out once, replaced, refused where an executor asks for another one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from background import running

from smolagents_fork import WasmExecutor, WasmPool
from smolagents_fork.errors import (
    ExecutorClosedError,
    ExecutorStartError,
    ImportRefusedError,
    ProgramFailedError,
    SandboxTimeoutError,
)

PATIENT = {"acquire_timeout_seconds": 400, "startup_timeout_seconds": 180}


@pytest.fixture(scope="module")
def pool(wasm_machine: None) -> Iterator[WasmPool]:
    with WasmPool(min_size=1, max_size=3, additional_imports=["os"], **PATIENT) as made:
        yield made


def test_ready_guest_is_handed_out_once_and_replaced(pool: WasmPool):
    pids, before = set(), pool.stats().handed_out
    for _ in range(2):
        assert pool.wait_until_ready(timeout=180)
        with WasmExecutor(pool=pool) as executor:
            with pytest.raises(ProgramFailedError, match="left_behind"):
                executor("left_behind")
            executor("left_behind = 1")
            pids.add(executor.pid)
            assert pool.stats().in_use == 1
    assert len(pids) == 2
    assert (pool.stats().in_use, pool.stats().handed_out) == (0, before + 2)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_ready_guest_belongs_to_the_executors_limits(pool: WasmPool):
    with WasmExecutor(["os"], pool=pool, timeout_seconds=0.5) as executor:
        with pytest.raises(SandboxTimeoutError, match=r"timeout_seconds=0\.5"):
            executor("while True: pass")
        assert executor("import os\nos.getcwd()").output == "/home/pyodide"
    with (
        WasmExecutor(pool=pool) as executor,
        pytest.raises(ImportRefusedError, match="Import of os is not allowed"),
    ):
        executor("import os")


def test_guest_that_is_killed_is_replaced_within_its_executor(pool: WasmPool):
    with WasmExecutor(pool=pool) as executor:
        executor.send_variables({"kept": 5})
        first = executor.pid
        executor.restart()
        assert executor("kept").output == 5
        assert executor.pid != first


def test_asyncio_user_waits_for_a_guest_without_a_thread(wasm_machine: None):
    async def main(pool: WasmPool) -> object:
        first = await WasmExecutor.acreate(pool=pool)
        pending = asyncio.ensure_future(WasmExecutor.acreate(pool=pool))
        while pool.stats().waiting != 1:
            await asyncio.sleep(0.01)
        first.cleanup()
        second = await pending
        try:
            return (await second.acall("1 + 1")).output
        finally:
            second.cleanup()

    with WasmPool(min_size=0, max_size=1, **PATIENT) as pool:
        assert asyncio.run(main(pool)) == 2
        assert pool.stats().handed_out == 2


def test_full_pool_says_what_it_is_doing(wasm_machine: None):
    with WasmPool(min_size=0, max_size=1, **PATIENT) as pool, WasmExecutor(pool=pool):
        with pytest.raises(ExecutorStartError, match=r"no guest became free in .*in_use=1"):
            pool.acquire(timeout=0.2)
        with running(lambda: WasmExecutor(pool=pool)) as waiting:
            waiting.until(lambda: pool.stats().waiting == 1)
            pool.close()
            assert isinstance(waiting.error(), ExecutorClosedError)


def test_closed_pool_leaves_no_process_and_no_file(wasm_machine: None):
    pool = WasmPool(min_size=1, max_size=1, **PATIENT)
    assert pool.wait_until_ready(timeout=180)
    guest = pool._ready[0][0]
    stop_file = Path(guest._stop_file)
    assert stop_file.exists()
    pool.close()
    pool.close()
    with pytest.raises(ExecutorClosedError):
        pool.acquire()
    assert guest.ended
    assert not stop_file.exists()
    assert pool.stats().ready == 0


def test_guest_that_cannot_start_is_an_error_of_the_executor(tmp_path: Path):
    with (
        WasmPool(min_size=0, deno=str(tmp_path / "deno")) as pool,
        pytest.raises(ExecutorStartError, match="there is no such program"),
    ):
        WasmExecutor(pool=pool)
