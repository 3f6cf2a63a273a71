"""Every test that takes ``contract`` runs on every executor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contract_declarations import fault
from contract_kinds import KINDS, Contract, Shared

#: Executor -> the fixture that says whether its machinery is here; a marker has its name.
NEEDS = {"docker": "engine", "wasm": "wasm_machine", "ray-process": "ray_cluster"}
#: Marks of an executor's tests.
MARKS = {
    "local": (),
    "process": pytest.mark.slow,
    "docker": pytest.mark.docker,
    "wasm": pytest.mark.wasm,
    "ray-process": (pytest.mark.slow, pytest.mark.ray),
}


@pytest.fixture(scope="session")
def shared_executors() -> Iterator[Shared]:
    shared = Shared()
    yield shared
    shared.close()


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
