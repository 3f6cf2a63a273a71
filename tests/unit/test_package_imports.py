"""What the package imports in each place, and the programs that it starts."""

from __future__ import annotations

import ast
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from background import run_python

import smolagents_fork
from smolagents_fork import upstream
from smolagents_fork.wasm.worker_archive import worker_archive

#: Hidden names, guards and meters.
OF_LOCAL = "interpreter.guarded"
CHILD = """
import sys
from smolagents_fork.guest import guest_worker
from smolagents_fork.interpreter import plain
from smolagents_fork.process import fork_server, worker

guest_worker.warm_up()
print(*sorted(name for name in sys.modules if name.startswith("smolagents_fork.")))
"""


def test_child_has_no_guards():
    names = [name.removeprefix("smolagents_fork.") for name in run_python(CHILD).split()]
    assert "interpreter.plain.plain_engine" in names
    assert [name for name in names if name.startswith(OF_LOCAL)] == []


def test_wasm_has_no_guards():
    files = zipfile.ZipFile(io.BytesIO(worker_archive())).namelist()
    names = [name.removeprefix("smolagents_fork/").replace("/", ".") for name in files]
    assert "interpreter.plain.plain_engine.py" in names
    assert [name for name in names if name.startswith(OF_LOCAL)] == []


def test_archive_of_a_guest_has_all_that_it_imports(tmp_path):
    path = tmp_path / "sources.zip"
    path.write_bytes(worker_archive())
    program = (
        "import sys\nsys.path.insert(0, sys.argv[1])\n"
        "from smolagents_fork.wasm import wasm_worker\n"
        "from smolagents_fork.guest.guest_worker import warm_up\n"
        "assert wasm_worker.__file__.startswith(sys.argv[1])\nwarm_up()\n"
    )
    run_python(program, str(path), switches=["-I"])


PACKAGE = Path(smolagents_fork.__file__).parent
# Module -> the program, and where it runs.
TABLE = {
    "system/host_pipe": "pip, Deno's npm client and version, by find_program or sys.executable",
    "process/spawn": "sys.executable as a fork server",
    "wasm/deno_process": "Deno as a guest, by find_program",
    "ray_cluster/placer_process": "sys.executable as Ray's placer",
    "agent_sandbox/supervisor": "sys.executable in a container",
    "jupyter/kernel/kernel_packages": "pip in a container",
}
_STARTS = {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"}
_OTHERS = ("system", "popen", "startfile", "spawn", "posix_spawn", "create_subprocess", "fork_exec")


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each module of the package."""
    return {
        path.relative_to(PACKAGE).with_suffix("").as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def _calls(trees: dict[str, ast.Module]) -> Iterator[tuple[str, ast.Call]]:
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            name, owner = node.func.attr, node.func.value
            of = owner.id if isinstance(owner, ast.Name) else ""
            if (of == "subprocess" and name in _STARTS) or (
                of in ("os", "asyncio", "pty") and name.startswith(_OTHERS)
            ):
                yield module, node


@pytest.fixture(scope="module")
def calls(trees) -> list[tuple[str, ast.Call]]:
    return list(_calls(trees))


def test_every_module_that_starts_programs_is_named(calls):
    assert {module for module, _ in calls} == set(TABLE)


def test_program_gets_an_input_and_an_environment_that_are_chosen(calls):
    for module, call in calls:
        keywords = {keyword.arg for keyword in call.keywords}
        assert {"stdin", "stdout", "stderr", "env"} <= keywords, module
        assert "shell" not in keywords, module
        assert ast.unparse(call.func) in ("subprocess.Popen", "subprocess.run"), module
        if ast.unparse(call.func) == "subprocess.run":
            assert "timeout" in keywords, module


def test_modules_do_not_import_names_of_subprocess(trees):
    for module, tree in trees.items():
        for node in ast.walk(tree):
            assert not (isinstance(node, ast.ImportFrom) and node.module == "subprocess"), module


def test_every_imported_name_is_upstreams(trees) -> None:
    names = {
        alias.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1] == "upstream"
        for alias in node.names
    }
    assert len(names) > 20
    assert [name for name in sorted(names) if not hasattr(upstream, name)] == []
