"""Ready containers: handed out once, refilled, fair, bounded, calm when the engine is broken."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest
from background import acting, at_once, eventually
from docker_waiting import PATIENT, gone
from scripted_model import Script
from smolagents import CodeAgent
from smolagents.utils import AgentError

from smolagents_fork.errors import (
    ConfigurationError,
    EngineUnavailableError,
    ExecutorStartError,
    SandboxDiedError,
)
from smolagents_fork.executors.docker import DockerExecutor, DockerPool
from smolagents_fork.executors.jupyter.connection import KernelConnection
from smolagents_fork.sandboxes import removals


@pytest.fixture(scope="module")
def pool(image):
    """One whose containers are free and ready between two tests."""
    with DockerPool(min_size=1, max_size=3, **PATIENT) as made:
        yield made


def test_container_is_never_used_twice(pool):
    seen, handed_out = set(), pool.stats().handed_out
    for _ in range(2):
        assert pool.wait_until_ready(timeout=150)
        with DockerExecutor(pool=pool) as executor:
            with pytest.raises(AgentError, match="NameError"):
                executor("left_behind")
            executor("left_behind = 1")
            seen.add(executor.container.id)
            assert pool.stats().in_use == 1
    assert len(seen) == 2
    assert pool.wait_until_ready(timeout=150)
    stats = pool.stats()
    assert (stats.in_use, stats.ready, stats.handed_out - handed_out) == (0, 1, 2)


def test_executor_of_a_pool_gets_its_files_and_again_after_a_death(pool, tmp_path):
    (tmp_path / "sales.csv").write_text("1,2\n")
    files = {"data.csv": tmp_path / "sales.csv", "in/b": b"b"}
    with DockerExecutor(pool=pool, files=files) as executor:
        assert [one.path for one in executor.list_files()] == ["data.csv", "in/b"]
        executor("open('data.csv', 'w').write('changed')\nopen('made', 'w').write('x')")
        assert executor.get_file("made") == b"x"
        executor.container.kill()
        with pytest.raises(SandboxDiedError):
            executor("1")
        assert executor.get_file("data.csv") == b"1,2\n"
        assert executor("open('data.csv').read()").output == "1,2\n"
        assert [one.path for one in executor.list_files()] == ["data.csv", "in/b"]
    with DockerExecutor(pool=pool) as another:
        assert another.list_files() == []
    assert pool.wait_until_ready(timeout=150)


def test_full_pool_makes_wait_and_says_what_it_is_doing(image):
    with DockerPool(min_size=0, max_size=1, **PATIENT) as pool, DockerExecutor(pool=pool) as first:
        with pytest.raises(ExecutorStartError) as caught:
            pool.acquire(timeout=0.5)
        assert "acquire_timeout_seconds=0.5" in str(caught.value)
        assert "in_use=1" in str(caught.value)
        assert "of max_size=1 containers): raise max_size=1, or close exec" in str(caught.value)
        # Not one more than max_size was started for the one who waited, nor would be.
        assert not eventually(lambda: pool.stats().starting or pool.stats().started > 1, 0.5)
        with (
            acting(lambda: pool.stats().waiting == 1, first.cleanup),
            DockerExecutor(pool=pool) as second,
        ):
            assert second("'mine'").output == "mine"


@pytest.mark.parametrize("ending", ["with", "dropped"])
def test_requests_with_managers_do_not_use_up_a_pool(image, ending):
    """Each request makes a manager and a worker: two containers of three."""
    with DockerPool(min_size=0, max_size=3, **PATIENT) as pool:

        def agent(*codes, **options):
            return CodeAgent(
                tools=[],
                model=Script(*codes),
                executor_type="docker",
                executor_kwargs={"pool": pool},
                verbosity_level=0,
                **options,
            )

        def answer():
            worker = agent("1 / 0", "final_answer(1)", name="worker", description="Works.")
            manager = agent("final_answer(len(worker('go')) > 0)", managed_agents=[worker])
            if ending == "with":
                with manager:
                    return manager.run("go")
            return manager.run("go")

        # One that left its two would be all that the pool has room for.
        assert [answer() for _ in range(2)] == [True] * 2
        assert eventually(lambda: pool.stats().in_use == 0)


def test_bounded_under_contention(image, monkeypatch):
    lock = threading.Lock()
    opening = most_opening = most = 0
    results = []
    original = KernelConnection.open
    environment = {"POOL_OF": "test_bounded_under_contention"}

    def counted(connection, timeout, **options):
        nonlocal opening, most_opening
        if connection.spec.environment != environment:
            # A start that the pool of another test had begun when it was closed.
            original(connection, timeout, **options)
            return
        with lock:
            opening += 1
            most_opening = max(most_opening, opening)
        try:
            # Two at a time is what is allowed; let the first wait until there are.
            assert eventually(lambda: most_opening >= 2)
            original(connection, timeout, **options)
        finally:
            with lock:
                opening -= 1

    monkeypatch.setattr(KernelConnection, "open", counted)
    options = {"environment": environment, **PATIENT}
    with DockerPool(min_size=1, max_size=4, concurrent_starts=2, **options) as pool:

        def work(number):
            nonlocal most
            with DockerExecutor(pool=pool) as executor:
                with lock:
                    stats = pool.stats()
                    most = max(most, stats.in_use + stats.ready + stats.starting)
                results.append(executor(f"{number} * 2").output)

        at_once(*[lambda n=n: work(n) for n in range(6)])
        assert pool.stats().handed_out == 6
        assert pool.stats().waiting == 0
    assert sorted(results) == [n * 2 for n in range(6)]
    assert most <= 4
    assert most_opening == 2


def test_idle_containers_above_the_minimum_are_removed(image, engine, monkeypatch):
    names = []
    original = KernelConnection.open

    def noted(connection, timeout, **options):
        original(connection, timeout, **options)
        names.append(connection.sandbox.name)

    monkeypatch.setattr(KernelConnection, "open", noted)
    with DockerPool(min_size=0, max_size=1, idle_seconds=1, **PATIENT) as pool:
        # Started for somebody who gives up: then there is one more than is wanted.
        while not (pool.stats().starting or pool.stats().ready):
            with contextlib.suppress(ExecutorStartError):
                connection = pool.acquire(timeout=0.1)
                connection.close()
                pool.release(connection)
        assert eventually(lambda: pool.stats().discarded == 1)
        assert pool.stats().ready == 0
        assert pool.stats().failed == 0
        assert eventually(lambda: names and all(gone(engine, name) for name in names))


def test_broken_engine_is_told_and_not_hammered_and_the_pool_recovers(image, proxy):
    proxy.reset(refuse=True)
    with DockerPool(min_size=2, max_size=4, **PATIENT) as pool:
        started = time.monotonic()
        with pytest.raises(EngineUnavailableError):
            DockerExecutor(pool=pool)
        time.sleep(max(0, 2.5 - (time.monotonic() - started)))
        assert pool.stats().failed >= 1
        # Pauses of 0.5, 1, 2 ... seconds: three rounds of two starts, a few connections each, and
        # on a busy machine a round or two more. Without pauses there are hundreds a second.
        assert proxy.accepted <= 40 + 10 * (time.monotonic() - started)
        proxy.heal()
        assert pool.wait_until_ready(2, timeout=150)
        with DockerExecutor(pool=pool) as executor:
            assert executor("1+1").output == 2
        assert pool.wait_until_ready(2, timeout=150)
        assert removals.wait_until_tried(120)

        def at_rest():
            asked = len(proxy.requests)
            time.sleep(1)
            return len(proxy.requests) == asked

        # At rest nothing is asked of the engine; the last may be on its way still.
        assert eventually(at_rest, 20)


def test_executor_may_not_ask_for_other_imports(pool):
    with pytest.raises(ConfigurationError, match="numpy: not in the pool's additional_imports"):
        DockerExecutor(["numpy"], pool=pool)
    with DockerExecutor(["json"], pool=pool) as executor:
        assert executor("6 * 7").output == 42
