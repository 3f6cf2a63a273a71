"""Every test that takes ``contract`` runs on every executor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_engines import close, is_usual, lead_to_service, start_service
from contract_kinds import KINDS, Contract, Shared
from whole_contract import WHOLE

#: Executor -> the fixture that says whether its machinery is here; a marker has its name.
NEEDS = {
    "ray-docker": "ray_cluster",
    "ray-process": "ray_cluster",
}
#: The first user of a Ray cluster starts it, and waits for each of its nodes.
_CLUSTER_LIMIT = pytest.mark.limit(1800)
#: Marks of an executor's tests.
MARKS = {
    "local": (),
    "process": pytest.mark.slow,
    "docker": pytest.mark.docker,
    "kubernetes": (pytest.mark.docker, pytest.mark.kubernetes),
    "hosted": (pytest.mark.slow, pytest.mark.hosted),
    "wasm": pytest.mark.wasm,
    "ray-process": (pytest.mark.slow, pytest.mark.ray, _CLUSTER_LIMIT),
    "ray-docker": (pytest.mark.docker, pytest.mark.ray, _CLUSTER_LIMIT),
}

HERE = Path(__file__).parent
#: Executors that have one of three sets of parameters of a test with :data:`MANY` sets or more.
THINNED = ("docker", "wasm")
MANY = 6


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on every executor, and on clusters as far as this run does."""
    if "contract" in metafunc.fixturenames:
        on_clusters = is_usual(metafunc.function.__name__)
        names = [name for name, kind in KINDS.items() if on_clusters or not kind.column]
        columns = [pytest.param(name, marks=MARKS[name]) for name in names]
        metafunc.parametrize("contract", columns, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out two of three sets of parameters in containers and in Wasm.

    The code of a test with many sets differs, and the mechanism that it meets does not.
    ``WHOLE_CONTRACT=1`` leaves out nothing.
    """
    sets: dict[tuple[Path, str, str], list[pytest.Item]] = {}
    for item in items if not WHOLE else ():
        column = getattr(item, "callspec", None) and item.callspec.params.get("contract")
        if column in THINNED and HERE in item.path.parents:
            sets.setdefault((item.path, item.originalname, column), []).append(item)
    many = (found for found in sets.values() if len(found) >= MANY)
    # Of a table, too, in which every third set would be in the same rows.
    left_out = {id(one) for found in many for i, one in enumerate(found) if (i + i // 3) % 3}
    config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
    items[:] = [item for item in items if id(item) not in left_out]


@pytest.fixture(scope="session")
def shared_executors() -> Iterator[Shared]:
    shared = Shared()
    yield shared
    with pytest.MonkeyPatch.context() as patch:
        if start_service.cache_info().currsize:
            lead_to_service(patch)
        shared.close()
    close()


@pytest.fixture
def contract(
    request: pytest.FixtureRequest, shared_executors: Shared, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Contract]:
    """One executor, and whether it differs in this test."""
    if request.param == "hosted":
        lead_to_service(monkeypatch)
    if request.param in NEEDS:
        found = request.getfixturevalue(NEEDS[request.param])
        if request.param.startswith("ray-"):
            # The helper process reads them when it starts.
            for name, value in {**found.environment, "RAY_ADDRESS": found.address}.items():
                monkeypatch.setenv(name, value)
    made = Contract(KINDS[request.param], request.function.__name__, shared_executors)
    yield made
    made.close()
    if made.declared is not None and not made.asked:
        pytest.fail(f"{request.param} is declared to differ, and the test does not hold that")
