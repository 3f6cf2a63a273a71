"""Pages of the documentation: programs, names and files on them are those of the package."""

from __future__ import annotations

import ast
import re

import pytest

from smolagents_fork.command_line.main import main
from smolagents_fork.interpreter.guarded import Interpreter
from smolagents_fork.interpreter.guarded.compiling.ast_builders import load
from smolagents_fork.interpreter.guarded.compiling.rewriter import Rewriter
from tools.paths import ROOT

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text("utf-8")
SECURITY = (ROOT / "SECURITY.md").read_text("utf-8")
PACKAGE = ROOT / "smolagents_fork"
WALK = ARCHITECTURE.split("## One program through the guarded interpreter")[1].split("\n## ")[0]
_ROOMS, PROGRAM, REWRITTEN = re.findall(r"^```text\n(.*?)^```$", WALK, re.MULTILINE | re.DOTALL)
CALL = ARCHITECTURE.split("## One call from the agent to the kernel and back")[1].split("\n## ")[0]
SECTIONS = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", COMMAND_LINE, re.MULTILINE | re.DOTALL))
COMMANDS = [name for name in SECTIONS if name != "smolagent"]


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
    folder = PACKAGE / "interpreter" / "guarded"
    files = {path.name for path in folder.rglob("*.py")} - {"__init__.py"}
    assert {name for name in files if name not in WALK} == set()


def test_names_of_the_picture_of_a_call_are_in_the_files_beside_them() -> None:
    checked = 0
    for line in CALL.split("```")[1].splitlines():
        files = re.findall(r"[\w/]+/\w+\.py", line)
        for file in files:
            folder = ROOT if file.startswith("docker/") else PACKAGE
            text = (folder / file).read_text("utf-8")
            for name, method in re.findall(r"\b([A-Z]\w+)\.(\w+)", line):
                if f"class {name}" in text:
                    assert f"def {method}(" in text, line
                    checked += 1
        named = re.match(r"[ |]*([A-Z]\w+)\.", line)
        if named and files:
            texts = [(PACKAGE / file).read_text("utf-8") for file in files]
            assert any(f"class {named[1]}" in text for text in texts), line
    assert checked >= 9


def test_rooms_named_on_the_page_exist():
    rooms = ARCHITECTURE.split("## The rooms")[1].split("```text\n")[1].split("```")[0]
    named = re.findall(r"\b(\w+)/", rooms)
    folders = {path.name for path in PACKAGE.rglob("*") if path.is_dir()}
    top = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert set(named) <= folders
    assert top <= set(named)


def test_files_named_on_the_page_exist():
    named = re.findall(r"\b((?:bridge|docker|executors|jupyter|sandboxes)/[\w/]+\.py)\b", CALL)
    assert len(named) > 10
    for name in named:
        assert (PACKAGE / name).is_file() or (ROOT / name).is_file(), name


def help_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit):
        main([*arguments, "--help"])
    return capsys.readouterr().out


def test_each_command_has_a_section(capsys):
    shown = help_of(capsys)
    assert re.findall(r"^    (\w+)  ", shown, re.MULTILINE) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_options_of_a_command_are_described(capsys, command):
    options = set(re.findall(r"--[\w-]+", help_of(capsys, command)))
    known = set(re.findall(r"--[\w-]+", SECTIONS[command] + COMMAND_LINE.split("\n## ")[0]))
    assert options <= known
    assert {"--json", "--help"} <= options


def test_option_of_upstreams_command_is_described():
    assert "--executor NAME" in SECTIONS["smolagent"]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md"])
def test_every_file_that_the_page_names_exists(page: str):
    text = (ROOT / page).read_text("utf-8")
    named = re.findall(r"`([\w./-]+\.py|(?:tests|codec|executors|sandboxes)/[\w./-]+)`", text)
    assert len(named) > 15
    known = [*ROOT.glob("smolagents_fork/**/*"), *ROOT.glob("tests/**/*")]
    files = {path.relative_to(ROOT).as_posix() for path in known}
    missing = [
        name
        for name in named
        if not (ROOT / name).exists() and not any(path.endswith(f"/{name}") for path in files)
    ]
    assert missing == []


def test_every_rule_says_what_it_does_not_promise_and_how_it_is_tested():
    section = SECURITY.split("## Protection of the host and of other tenants")[1].split("\n## ")[0]
    rules = section.split("\n### ")[1:]
    assert [rule.split(".")[0] for rule in rules] == [str(number) for number in range(1, 8)]
    for rule in rules:
        text = " ".join(rule.split())
        assert "*Not promised:*" in text
        assert "Tests: " in text
