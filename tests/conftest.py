"""Rules of every run: order and time limits; and the shared engine."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import gc
import importlib.util
import os
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ray_nodes.cluster import RayCluster

with contextlib.suppress(ImportError):  # environments with pytest only
    import hypothesis

    # An example may take as long as a busy machine needs, and every run tries the same ones: what
    # fails, fails again. "--hypothesis-profile=search" draws others, by "--hypothesis-seed".
    patient = hypothesis.settings(
        deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.register_profile("repeatable", patient, derandomize=True, max_examples=120)
    hypothesis.settings.register_profile("search", patient, max_examples=200)
    hypothesis.settings.load_profile("repeatable")

# Image that `.ci/run` builds on a machine without access to a registry.
LOCAL_BASE = "smolagents-fork-base:bookworm"

#: Files and folders, longest first: a long file begun last would run alone at the end.
LONGEST_FIRST = (
    "unit/executors/jupyter/test_hostile_gateway.py",
    "contract/faults/",
    "tools/test_rebase_rehearsal.py",
    "tools/test_rebase.py",
    "build/test_front_ends.py",
    "integration/ray/test_ray_faults.py",
    "hostile/",
    "tools/test_regression_end_to_end.py",
    "integration/ray/",
    "integration/docker/test_docker_cleanup.py",
    "integration/docker/test_docker_deadlines.py",
    "integration/test_pyodide.py",
    "site/test_getting_started.py",
    "site/test_service.py",
    "contract/executors/test_contract_tools.py",
    "contract/executors/test_contract_values.py",
    "tools/",
    "build/",
    "integration/",
    "contract/",
)
#: Workers beside one for each core: that many wait for an engine, an installer or a clock.
WAITING_WORKERS = 3
#: The same for ``-n logical``, where there is only a clock to wait for.
FEW_WAITING_WORKERS = 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Resolve ``-n auto`` and ``-n logical``."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    few = config.getoption("numprocesses") == "logical"
    return (cores or 1) + (FEW_WAITING_WORKERS if few else WAITING_WORKERS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Have the files that share executors run on few workers, with ``--dist loadfile``."""
    if config.getoption("dist") == "loadfile":
        with contextlib.suppress(ImportError):  # a copy of this file may stand alone
            from file_scheduling import SharingFiles

            return SharingFiles(config, log)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the files for ``--dist loadfile --no-loadscope-reorder``, and keep their own order."""
    here = Path(__file__).parent

    @functools.cache
    def place(path: Path) -> int:
        name = path.relative_to(here).as_posix() if here in path.parents else ""
        found = (n for n, start in enumerate(LONGEST_FIRST) if name.startswith(start))
        return next(found, len(LONGEST_FIRST))

    items.sort(key=lambda item: place(item.path))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, which would look at all that grows here again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Spare the garbage collector the collected tests and what they import.

    Each full collection would look at all of it: half of the time of a test that collects.
    """
    gc.collect()
    gc.freeze()


#: Seconds for one test with its fixtures, after which the process that runs it is ended.
TEST_SECONDS = int(os.environ.get("TEST_SECONDS", "120"))
#: The same for tests with a marker that they build, install or start something.
SLOW_TEST_SECONDS = max(600, TEST_SECONDS)
SLOW_MARKERS = ("slow", "docker", "network", "ray", "wasm")

_stacks = pytest.StashKey[int]()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Note where a dying process writes its stacks: pytest redirects stderr while a test runs."""
    config.stash[_stacks] = os.dup(2)
    if "KUBERNETES_CLUSTER" in os.environ:
        # Python's own module leaves a socket open that is reset before its handshake, as tests of
        # faults do. The garbage collector may find it in any test.
        config.addinivalue_line("filterwarnings", "ignore:unclosed <ssl:ResourceWarning")


def _start_watchdog(item: pytest.Item) -> None:
    """Restart the timer of ``item``.

    The timer is a thread without Python: it also ends a call of C that keeps the interpreter's
    lock. It writes every thread's stack, and ends the process.
    """
    slow = any(item.get_closest_marker(name) for name in SLOW_MARKERS)
    seconds = SLOW_TEST_SECONDS if slow else TEST_SECONDS
    if (marker := item.get_closest_marker("limit")) is not None:
        (seconds,) = marker.args
    faulthandler.dump_traceback_later(seconds, exit=True, file=item.config.stash[_stacks])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Give every test its time limit."""
    _start_watchdog(item)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Restart the timer after a failure, because pytest's plugin has stopped it."""
    if isinstance(node, pytest.Item):
        _start_watchdog(node)


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    """Give a client of a real Docker engine; set a base image that needs no registry if one exists.

    Without an engine: a skip that says why, or a failure when ``REQUIRE_DOCKER=1``.
    """
    from smolagents_fork.errors import EngineUnavailableError
    from smolagents_fork.sandboxes.docker.engine import connect, image_id
    from smolagents_fork.sandboxes.docker.images.image_plans import BASE_IMAGE_VARIABLE

    try:
        client = connect(timeout=60)
    except EngineUnavailableError as error:
        if os.environ.get("REQUIRE_DOCKER") == "1":
            pytest.fail(f"REQUIRE_DOCKER=1, but {error}")
        pytest.skip(str(error))
    if BASE_IMAGE_VARIABLE not in os.environ and image_id(client, LOCAL_BASE):
        os.environ[BASE_IMAGE_VARIABLE] = LOCAL_BASE
    yield client
    client.close()


@pytest.fixture(scope="session")
def wasm_machine() -> None:
    """Have what Wasm executors start from, in the user's own cache.

    Without Deno or Pyodide: a skip that says why, or a failure when ``REQUIRE_WASM=1``.
    """
    from smolagents_fork import WasmExecutor
    from smolagents_fork.errors import ExecutorStartError

    try:
        WasmExecutor.setup()
    except ExecutorStartError as error:
        if os.environ.get("REQUIRE_WASM") == "1":
            pytest.fail(f"REQUIRE_WASM=1, but {error}")
        pytest.skip(str(error))


@pytest.fixture(autouse=True)
def _machinery(request: pytest.FixtureRequest) -> None:
    """Have what the markers of a test name."""
    for marker, fixture in (("docker", "engine"), ("wasm", "wasm_machine")):
        if request.node.get_closest_marker(marker) is not None:
            request.getfixturevalue(fixture)


@pytest.fixture(autouse=True)
def _pictures_in_the_runs_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Have upstream's ``AgentImage``, which removes none of its files, write where the run does."""
    if (module := sys.modules.get("smolagents.agent_types")) is not None:
        make = functools.partial(tempfile.mkdtemp, dir=tmp_path_factory.getbasetemp())
        monkeypatch.setattr(module, "tempfile", SimpleNamespace(mkdtemp=make))


def _run_folder(factory: pytest.TempPathFactory) -> Path:
    """Return the temporary folder that all workers of a run share."""
    base = factory.getbasetemp()
    return base.parent if base.name.startswith("popen-") else base


@pytest.fixture(scope="session")
def ray_installed() -> None:
    """Have the package ``ray``.

    Without: a skip that says why, or a failure when ``REQUIRE_RAY=1``.
    """
    if importlib.util.find_spec("ray") is None:
        if os.environ.get("REQUIRE_RAY") == "1":
            pytest.fail("REQUIRE_RAY=1, but the package ray is not installed")
        pytest.skip("the package ray is not installed")


@pytest.fixture(scope="session")
def ray_cluster(
    ray_installed: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RayCluster]:
    """Give the run's Ray cluster, which no test damages. It has one node where links need root."""
    from ray_nodes.sharing import using_cluster  # a copy of this file may stand alone

    with using_cluster(_run_folder(tmp_path_factory) / "ray") as cluster:
        yield cluster
