"""docs/architecture.md: its rewritten program is exact, and it names every interpreter file."""

from __future__ import annotations

import ast
import re

from smolagents_fork.interpreter.guarded import Interpreter
from smolagents_fork.interpreter.guarded.compiling.ast_builders import (
    TYPE_CONSTANTS,
    load,
    tree_below,
)
from smolagents_fork.interpreter.guarded.compiling.facts import Facts
from smolagents_fork.interpreter.guarded.compiling.rewriter import Rewriter
from tools.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
WALK = PAGE.split("## One program through the guarded interpreter")[1].split("\n## ")[0]
_ROOMS, PROGRAM, REWRITTEN = re.findall(r"^```text\n(.*?)^```$", WALK, re.MULTILINE | re.DOTALL)


def _joined(text: str) -> str:
    """Remove line breaks and indentation."""
    return "".join(text.split())


class _Named(ast.NodeTransformer):
    """Shows the constants that stand for types by the names of the types."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        kind = TYPE_CONSTANTS.get(node.value)
        return node if kind is None else load(f"@{kind.__name__}")


def test_program_becomes_the_fragment_that_is_shown() -> None:
    tree = ast.parse(PROGRAM)
    facts = Facts(tree, tree_below(tree), frozenset(), frozenset(), trust_globals=True)
    rewriter = Rewriter(
        facts, frozenset(), frozenset(), max_while=1_000_000, max_operations=10_000_000
    )
    tree.body = rewriter.statements(tree.body)
    shown = _Named().visit(ast.fix_missing_locations(tree))
    assert _joined(ast.unparse(shown)) == _joined(REWRITTEN)


def test_program_runs() -> None:
    interpreter = Interpreter()
    interpreter.run("class Order: _price = 14\norder = Order()")
    assert interpreter.run(PROGRAM).logs == "42\n"


def test_every_file_of_the_interpreter_is_named() -> None:
    folder = ROOT / "smolagents_fork" / "interpreter" / "guarded"
    files = {path.name for path in folder.rglob("*.py")} - {"__init__.py"}
    assert {name for name in files if name not in WALK} == set()
