"""Agents without a model behind them, for the contract tests."""

from __future__ import annotations

import pytest
from recording import RecordingExecutor, ScriptedModel
from smolagents import CodeAgent
from smolagents.models import MODEL_REGISTRY


@pytest.fixture(autouse=True)
def _no_executors_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordingExecutor, "made", [])
    monkeypatch.setitem(MODEL_REGISTRY, "ScriptedModel", ScriptedModel)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel("<code>1 + 1</code>", "<code>2 + 2</code>")


@pytest.fixture
def managed(model: ScriptedModel) -> CodeAgent:
    return CodeAgent(tools=[], model=model, name="helper", description="helps", verbosity_level=0)
