"""Every test that takes ``contract`` runs on every executor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contract_clusters import close as close_clusters
from contract_clusters import is_usual
from contract_declarations import fault
from contract_kinds import KINDS, Contract, Shared

#: Executor -> the fixture that says whether its machinery is here; a marker has its name.
NEEDS = {
    "docker": "engine",
    "kubernetes": "engine",
    "ray-process": "ray_cluster",
    "wasm": "wasm_machine",
}
#: Marks of an executor's tests.
MARKS = {
    "local": (),
    "process": pytest.mark.slow,
    "docker": pytest.mark.docker,
    "kubernetes": pytest.mark.docker,
    "wasm": pytest.mark.wasm,
    "ray-process": (pytest.mark.slow, pytest.mark.ray),
}


@pytest.fixture(scope="session")
def shared_executors() -> Iterator[Shared]:
    shared = Shared()
    yield shared
    shared.close()
    close_clusters()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what a usual run does not have on clusters."""
    items[:] = [item for item in items if not _is_left_out(item)]


def _is_left_out(item: pytest.Item) -> bool:
    called = getattr(item, "callspec", None)
    column = None if called is None else called.params.get("contract")
    kind = KINDS.get(column) if isinstance(column, str) else None
    test = getattr(item, "originalname", item.name)
    return kind is not None and bool(kind.column) and not is_usual(test)


@pytest.fixture(params=[pytest.param(name, marks=MARKS[name]) for name in KINDS])
def contract(
    request: pytest.FixtureRequest, shared_executors: Shared, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Contract]:
    """One executor, and whether it differs in this test."""
    if request.param in NEEDS:
        found = request.getfixturevalue(NEEDS[request.param])
        if request.param.startswith("ray-"):
            # The helper process reads them when it starts.
            for name, value in {**found.environment, "RAY_ADDRESS": found.address}.items():
                monkeypatch.setenv(name, value)
    known = fault(KINDS[request.param].name, request.function.__name__)
    if known is not None:
        request.applymarker(pytest.mark.xfail(reason=known.text, strict=True))
    made = Contract(KINDS[request.param], request.function.__name__, shared_executors)
    yield made
    made.close()
    if made.declared is not None and not made.asked:
        pytest.fail(f"{request.param} is declared to differ, and the test does not hold that")
