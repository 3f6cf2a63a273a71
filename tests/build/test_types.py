"""Type checkers' view of the installed wheel, in an environment without the repository."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import sys
from pathlib import Path

import pytest
import smolagents

import smolagents_fork
from smolagents_fork import errors
from tools.command import run as run_command
from tools.paths import ROOT
from tools.uv import Uv

USES = ROOT / "tests" / "build" / "typed_uses.py"
#: Programs that the maintainers' environment has beside Python.
PROGRAMS = Path(sys.executable).parent


def run(*command: str, cwd: Path) -> str:
    return run_command(command, timeout_seconds=300, cwd=cwd, env=os.environ, accepted=(0, 1))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an environment that has nothing else; give its Python."""
    uv, folder = Uv(), tmp_path_factory.mktemp("user")
    python = uv.environment(folder / "venv")
    uv.install(python, "--no-deps", uv.wheel(ROOT, folder / "wheel"))
    return python


def wrong_lines() -> list[int]:
    lines = USES.read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if line.endswith("# wrong")]


@pytest.mark.network
@pytest.mark.slow
def test_mypy_refuses_wrong_uses_and_no_others(environment, tmp_path):
    program = tmp_path / USES.name
    program.write_bytes(USES.read_bytes())
    command = ("-m", "mypy", "--strict", "--python-executable", str(environment), program.name)
    answer = run(sys.executable, *command, cwd=tmp_path)
    errors = re.findall(rf"^{program.name}:([0-9]+): error: ", answer, re.MULTILINE)
    assert sorted(set(map(int, errors))) == wrong_lines(), answer


@pytest.mark.network
@pytest.mark.slow
def test_pyright_refuses_wrong_uses_and_no_others(environment, tmp_path):
    program = tmp_path / USES.name
    program.write_bytes(USES.read_bytes())
    command = ("--outputjson", "--pythonpath", str(environment), program.name)
    answer = json.loads(run(str(PROGRAMS / "pyright"), *command, cwd=tmp_path))
    errors = {
        entry["range"]["start"]["line"] + 1
        for entry in answer["generalDiagnostics"]
        if entry["severity"] == "error"
    }
    assert sorted(errors) == wrong_lines(), answer


@pytest.mark.network
@pytest.mark.slow
def test_modules_of_upstream_are_found_as_without_the_stubs(environment, tmp_path):
    """Pyright reads upstream's source; mypy takes what has no types for ``Any``."""
    program = tmp_path / "program.py"
    program.write_text(
        "from smolagents import Tool\nfrom smolagents.agents import ToolCallingAgent\n"
        "reveal_type(Tool)\nreveal_type(ToolCallingAgent)\n"
    )
    mypy = ("-m", "mypy", "--strict", "--python-executable", str(environment), program.name)
    assert run(sys.executable, *mypy, cwd=tmp_path).count('Revealed type is "Any"') == 2
    command = ("--pythonpath", str(environment), program.name)
    answer = run(str(PROGRAMS / "pyright"), *command, cwd=tmp_path)
    assert 'Type of "Tool" is "type[Tool]"' in answer
    assert 'Type of "ToolCallingAgent" is "type[ToolCallingAgent]"' in answer


def lazy_packages() -> list[Path]:
    """List the packages that look names up on first use."""
    found = (ROOT / "smolagents_fork").rglob("__init__.py")
    return [path for path in found if "def __getattr__" in path.read_text()]


def test_lazy_names_are_those_that_type_checkers_see():
    assert lazy_packages() == [ROOT / "smolagents_fork" / "__init__.py"]
    tree = ast.parse(Path(smolagents_fork.__file__).read_text())
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    seen = {}
    for statement in block.body:
        assert isinstance(statement, ast.ImportFrom)
        seen |= {name.name: statement.module for name in statement.names}
    assert seen == smolagents_fork._EXPORTS
    names = sorted([*seen, "fork_revision", "upstream_version"])
    assert smolagents_fork.__all__ == [*names, *errors.__all__]


def test_stub_has_the_parameters_of_the_class():
    tree = ast.parse((ROOT / "stubs" / "__init__.pyi").read_text())
    (agent,) = (node for node in tree.body if getattr(node, "name", "") == "CodeAgent")
    arguments = agent.body[0].args
    by_name = [argument.arg for argument in arguments.kwonlyargs]
    stubbed = [argument.arg for argument in arguments.args] + by_name + [arguments.kwarg.arg]
    parameters = inspect.signature(smolagents.CodeAgent.__init__).parameters
    assert stubbed == list(parameters)
    assert by_name == [one.name for one in parameters.values() if one.kind is one.KEYWORD_ONLY]
