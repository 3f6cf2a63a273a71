"""docs/architecture.md: its rewritten program is exact, and it names every interpreter file."""

from __future__ import annotations

import ast
import re

from smolagents_fork.interpreter import Interpreter
from smolagents_fork.interpreter.compiling.ast_builders import walk
from smolagents_fork.interpreter.compiling.facts import Facts
from smolagents_fork.interpreter.compiling.rewriter import Rewriter
from tools.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
WALK = PAGE.split("## One program through the interpreter")[1].split("\n## ")[0]
_ROOMS, PROGRAM, REWRITTEN = re.findall(r"^```text\n(.*?)^```$", WALK, re.MULTILINE | re.DOTALL)


def _joined(text: str) -> str:
    """Remove line breaks and indentation."""
    return "".join(text.split())


def test_program_becomes_the_fragment_that_is_shown() -> None:
    tree = ast.parse(PROGRAM)
    facts = Facts(tree, walk(tree), frozenset(), trust_globals=True)
    rewriter = Rewriter(
        facts, frozenset(), frozenset(), max_while=1_000_000, max_operations=10_000_000
    )
    tree.body = rewriter.statements(tree.body)
    assert _joined(ast.unparse(ast.fix_missing_locations(tree))) == _joined(REWRITTEN)


def test_program_runs() -> None:
    interpreter = Interpreter()
    interpreter.run("class Order: _price = 14\norder = Order()")
    assert interpreter.run(PROGRAM).logs == "42\n"


def test_every_file_of_the_interpreter_is_named() -> None:
    folder = ROOT / "smolagents_fork" / "interpreter"
    files = {path.name for path in folder.rglob("*.py")} - {"__init__.py"}
    assert {name for name in files if name not in WALK} == set()
