"""docs/command-line.md describes each command and each option that there is."""

from __future__ import annotations

import re

import pytest

from smolagents_fork.command_line.main import main
from tools.paths import ROOT

PAGE = (ROOT / "docs" / "command-line.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
COMMANDS = [name for name in SECTIONS if name != "smolagent"]


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
    known = set(re.findall(r"--[\w-]+", SECTIONS[command] + PAGE.split("\n## ")[0]))
    assert options <= known
    assert {"--json", "--help"} <= options


def test_option_of_upstreams_command_is_described():
    assert "--executor NAME" in SECTIONS["smolagent"]
