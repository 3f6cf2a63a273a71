"""docs/architecture.md: its rewritten program is exact, and it names every interpreter file."""

from __future__ import annotations

import ast
import re

from smolagents_fork.interpreter.guarded import Interpreter
from smolagents_fork.interpreter.guarded.compiling.ast_builders import (
    load,
)
from smolagents_fork.interpreter.guarded.compiling.rewriter import Rewriter
from tools.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
WALK = PAGE.split("## One program through the guarded interpreter")[1].split("\n## ")[0]
_ROOMS, PROGRAM, REWRITTEN = re.findall(r"^```text\n(.*?)^```$", WALK, re.MULTILINE | re.DOTALL)


def _joined(text: str) -> str:
    """Remove line breaks and indentation."""
    return "".join(text.split())


class _Named(ast.NodeTransformer):
    """Shows the constants that stand for guards by the names of the guards."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        names = [name for inner in node.value for name in inner] if is_guard(node) else []
        return load(f"@{names[0]}") if names else node


def is_guard(node: ast.Constant) -> bool:
    return isinstance(node.value, frozenset)


def test_program_becomes_the_fragment_that_is_shown() -> None:
    tree = ast.parse(PROGRAM)
    rewriter = Rewriter(frozenset(), frozenset(), max_while=1_000_000)
    tree.body = rewriter.statements(tree.body)
    shown = _Named().visit(ast.fix_missing_locations(tree))
    assert _joined(ast.unparse(shown)) == _joined(REWRITTEN)


def test_program_runs() -> None:
    interpreter = Interpreter()
    interpreter.run("class Order: _price, _count = 14, 3\norder = Order()")
    assert interpreter.run(PROGRAM).logs == "42\n"


def test_every_file_of_the_interpreter_is_named() -> None:
    folder = ROOT / "smolagents_fork" / "interpreter" / "guarded"
    files = {path.name for path in folder.rglob("*.py")} - {"__init__.py"}
    assert {name for name in files if name not in WALK} == set()


def test_names_of_the_picture_of_a_call_are_in_the_files_beside_them() -> None:
    picture = PAGE.split("## One call from the agent to the kernel and back")[1].split("```")[1]
    checked = 0
    for line in picture.splitlines():
        files = re.findall(r"[\w/]+/\w+\.py", line)
        for file in files:
            folder = ROOT if file.startswith("docker/") else ROOT / "smolagents_fork"
            text = (folder / file).read_text("utf-8")
            for name, method in re.findall(r"\b([A-Z]\w+)\.(\w+)", line):
                if f"class {name}" in text:
                    assert f"def {method}(" in text, line
                    checked += 1
        named = re.match(r"[ |]*([A-Z]\w+)\.", line)
        if named and files:
            assert any(
                f"class {named[1]}" in (ROOT / "smolagents_fork" / file).read_text("utf-8")
                for file in files
            ), line
    assert checked >= 9
