"""Agents without a model behind them, for the contract tests."""

from __future__ import annotations

import importlib
import sys
import textwrap

import pytest
from recording import RecordingExecutor
from scripted_model import ScriptedModel
from smolagents import CodeAgent
from smolagents.models import MODEL_REGISTRY

#: Module of a plug-in.
PLUG_IN = """
    from smolagents.local_python_executor import PythonExecutor

    class Plugged(PythonExecutor):
        def __init__(self, imports, logger, **kwargs):
            self.arguments = (imports, logger, kwargs)
        def send_tools(self, tools): ...
        def send_variables(self, variables): ...
        def __call__(self, code): ...

    Alias = Plugged

    def factory(imports, logger, **kwargs):
        return Plugged(imports, logger, made_by="factory", **kwargs)

    def broken(imports, logger):
        return "no executor"
"""


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


@pytest.fixture
def plug_ins(tmp_path, monkeypatch):
    """Installs made-up distributions, as real metadata on a real path."""

    def install(*entries: str, name: str = "plugins", source: str = PLUG_IN) -> None:
        info = tmp_path / name / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = "\n".join(entries)
        (info / "entry_points.txt").write_text(f"[smolagents.executors]\n{lines}\n")
        (tmp_path / name / f"{name}_module.py").write_text(textwrap.dedent(source))
        monkeypatch.syspath_prepend(str(tmp_path / name))
        importlib.invalidate_caches()

    yield install
    for name in [name for name in sys.modules if name.endswith("_module")]:
        del sys.modules[name]
