"""Programs that the package starts: each is named here, with where it is found."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import smolagents_fork

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


def _calls() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).with_suffix("").as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            name, owner = node.func.attr, node.func.value
            of = owner.id if isinstance(owner, ast.Name) else ""
            if (of == "subprocess" and name in _STARTS) or (
                of in ("os", "asyncio", "pty") and name.startswith(_OTHERS)
            ):
                yield module, node


@pytest.fixture(scope="module")
def calls() -> list[tuple[str, ast.Call]]:
    return list(_calls())


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


def test_modules_do_not_import_names_of_subprocess():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.module == "subprocess"), path
