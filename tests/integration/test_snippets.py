"""The Python of README.md and docs/: each block compiles, uses existing names, and runs."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import smolagents
from scripted_model import Script
from smolagents import CodeAgent, LocalPythonExecutor, Tool

from smolagents_fork import DockerExecutor, ProcessExecutor, WasmExecutor
from smolagents_fork.executors import registry
from smolagents_fork.executors.pools.sandbox_pool import SandboxPool
from smolagents_fork.executors.session.sandbox_executor import SandboxExecutor
from tools.paths import ROOT

PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = {
    f"{page.relative_to(ROOT)}:{number}": text
    for page in PAGES
    for number, text in enumerate(
        re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL), 1
    )
}
#: Executors of the agents of each block.
RUN: dict[str, list[type]] = {
    "README.md:1": [ProcessExecutor],
    "README.md:2": [DockerExecutor],
    "README.md:3": [DockerExecutor],
    "docs/bridge.md:1": [DockerExecutor],
    "docs/control.md:1": [ProcessExecutor],
    "docs/control.md:2": [],
    "docs/control.md:3": [],
    "docs/executors/agent-sandbox.md:1": [],
    "docs/executors/docker.md:1": [DockerExecutor],
    "docs/executors/docker.md:2": [DockerExecutor],
    "docs/executors/index.md:1": [ProcessExecutor, DockerExecutor],
    "docs/executors/local.md:1": [],
    "docs/executors/process.md:1": [ProcessExecutor],
    "docs/executors/wasm.md:1": [WasmExecutor],
    "docs/index.md:1": [ProcessExecutor],
    "docs/start/choose.md:1": [ProcessExecutor, DockerExecutor],
    "docs/executors/wasm.md:2": [WasmExecutor],
    "docs/figures.md:1": [ProcessExecutor],
    "docs/files.md:1": [],
    "docs/files.md:2": [ProcessExecutor],
    "docs/files.md:3": [],
    "docs/network.md:1": [],
    "docs/network.md:2": [],
}
#: Blocks that need an engine for something else than an executor.
ENGINE = {
    "docs/executors/agent-sandbox.md:1",
    "docs/files.md:3",
    "docs/network.md:1",
    "docs/network.md:2",
}
#: Code that needs a company's service, a GPU or a cluster; a command that needs a wheel and some
#: minutes; settings of a whole process.
COMPILED_ONLY = {
    "docs/executors/hosted.md:1",
    "docs/executors/kubernetes.md:1",
    "docs/executors/ray.md:1",
    "docs/executors/ray.md:2",
    "docs/recipes/gpu.md:1",
    "docs/telemetry.md:1",
}
#: One image of packages serves all tests.
SCIENCE = ["numpy", "pandas", "matplotlib", "PIL"]


def answering() -> Script:
    """Return a model that gives the same final answer in each of some runs."""
    return Script(*["final_answer(6 * 7)"] * 9)


class Orders(Tool):
    """Tool that a reader of the page has."""

    name = "orders"
    description = "Looks an order up."
    inputs: ClassVar[dict[str, Any]] = {"key": {"type": "string", "description": "Its number."}}
    output_type = "string"

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self.dsn = dsn

    def forward(self, key: str) -> str:
        return key


class MyExecutor(LocalPythonExecutor):
    """Executor that a reader of the page has."""


GIVEN: dict[str, Any] = {
    "Orders": Orders,
    "MyExecutor": MyExecutor,
    "secret": "dsn",
    "send_mail": Orders("dsn"),
}
MADE: list[CodeAgent] = []


class Kept(CodeAgent):
    """Agent that is recorded, so that the test can run it and clean it up."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "verbosity_level": 0})
        self.answers: list[Any] = []
        MADE.append(self)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        self.answers.append(super().run(*args, **kwargs))
        return self.answers[-1]


class Filled(ast.NodeTransformer):
    """Transformer that fills in ``...`` like a reader, and packages that are already built."""

    def visit_List(self, node: ast.List) -> ast.AST:
        texts = [item.value for item in node.elts if isinstance(item, ast.Constant)]
        if "numpy" in texts:
            return ast.parse(repr(SCIENCE), mode="eval").body
        return ast.List([item for item in node.elts if not _is_gap(item)], node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if any(map(_is_gap, node.args)):
            given = ast.parse("f(tools=[], model=model)", mode="eval").body
            assert isinstance(given, ast.Call)
            names = {keyword.arg for keyword in node.keywords}
            node.args = [arg for arg in node.args if not _is_gap(arg)]
            node.keywords += [word for word in given.keywords if word.arg not in names]
        return node


def _is_gap(node: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def imported(tree: ast.Module) -> dict[str, Any]:
    """Return the names that the block imports."""
    names: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(str(node.module))
            names |= {
                alias.asname or alias.name: getattr(module, alias.name) for alias in node.names
            }
        elif isinstance(node, ast.Import):
            names |= {alias.name: importlib.import_module(alias.name) for alias in node.names}
    return names


def accepted(target: Any) -> set[str] | None:
    """Keywords that a constructor or function takes; nothing where it takes any."""
    names: set[str] = set()
    while True:
        parameters = inspect.signature(target).parameters
        names |= set(parameters)
        if not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
            return names
        if target is LocalPythonExecutor:
            return names - {"unknown"}  # which are refused
        if not inspect.isclass(target) or not issubclass(target, smolagents.MultiStepAgent):
            return None
        target = target.__mro__[1]


@pytest.mark.parametrize("block", BLOCKS)
def test_block_names_what_there_is(block):
    tree = ast.parse(BLOCKS[block])
    known = imported(tree)
    given = {*GIVEN, "model", *dir(builtins)}
    stored = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    defined = {
        part.arg if isinstance(part, ast.arg) else part.name
        for part in ast.walk(tree)
        if isinstance(part, (ast.arg, ast.FunctionDef, ast.AsyncFunctionDef))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            assert node.id in {*known, *stored, *defined, *given}, f"{block} imports no {node.id}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            takes = accepted(known[node.func.id]) if node.func.id in known else None
            told = {word.arg: word.value for word in node.keywords}
            assert takes is None or told.keys() <= takes
            options = told.get("executor_kwargs")
            if isinstance(options, ast.Dict):
                if "executor_type" in told:
                    target: Any = registry.built_in(ast.literal_eval(told["executor_type"]))
                else:
                    target = known[ast.unparse(told["executor_class"])]
                chosen = accepted(target)
                assert chosen is not None
                assert {ast.literal_eval(key) for key in options.keys if key} <= chosen


def test_every_block_is_run_or_said_not_to_be():
    assert BLOCKS.keys() == RUN.keys() | COMPILED_ONLY


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The reader's folder and names; agents are remembered, and models scripted."""
    monkeypatch.chdir(tmp_path)
    CodeAgent(
        tools=[], model=smolagents.InferenceClientModel(token="none"), executor_class=MyExecutor
    ).save("agent", relative_path="")
    monkeypatch.setattr(smolagents, "CodeAgent", Kept)
    monkeypatch.setattr(smolagents, "InferenceClientModel", answering)
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_0123456789abcdef")
    MADE.clear()
    names = {**GIVEN, "model": answering()}
    yield names
    for agent in MADE:
        agent.cleanup()
    for value in names.values():
        if isinstance(value, SandboxPool):
            value.close()
        elif isinstance(value, SandboxExecutor):
            value.cleanup()


@pytest.fixture(scope="module")
def unchanged_checkout() -> Iterator[None]:
    """Check that the blocks write nothing into the top folder of the repository."""
    before = checkout_names()
    yield
    assert checkout_names() == before


def checkout_names() -> set[str]:
    """Return the names in the top folder, without those of other commands' output."""
    output = {"build", "dist", "reports"}
    return {path.name for path in ROOT.iterdir() if not path.name.startswith(".")} - output


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(
            block,
            marks=[pytest.mark.docker] * (DockerExecutor in executors or block in ENGINE)
            + [pytest.mark.wasm] * (WasmExecutor in executors),
        )
        for block, executors in RUN.items()
    ],
)
def test_block_runs(block, reader, unchanged_checkout):
    tree = ast.fix_missing_locations(Filled().visit(ast.parse(BLOCKS[block])))
    last = tree.body[-1]
    result = re.search(r"  # (.+)\n\Z", BLOCKS[block])
    if result and isinstance(last, ast.Expr):
        tree.body[-1] = ast.Assign([ast.Name("_last", ast.Store())], last.value)
        ast.fix_missing_locations(tree)
    exec(compile(tree, block, "exec"), reader)
    if result:
        assert reader["_last"] == ast.literal_eval(result[1])
    assert len(MADE) == len(RUN[block])
    for agent, executor in zip(MADE, RUN[block], strict=True):
        if not agent.answers:
            agent.model = answering()
            agent.run("go")
        assert isinstance(agent.python_executor, executor)
        assert agent.answers == [42]


def test_commands_of_the_pages_are_there():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    for page in PAGES:
        text = page.read_text("utf-8")
        named = re.findall(r"`make ([a-z-]+)|^make ([a-z-]+)", text, re.MULTILINE)
        assert {"".join(both) for both in named} <= targets, page
