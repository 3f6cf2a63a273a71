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
