"""``smolagent --executor``: the option that the fork adds to upstream's console command."""

from __future__ import annotations

import sys

import pytest
from scripted_model import Script
from smolagents import cli

from smolagents_fork.executors.agents.selection import VARIABLE


@pytest.fixture
def smolagent(monkeypatch, capsys):
    """Run the command as its entry point does, with a scripted model; return what it printed."""
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr(cli, "load_model", lambda *args, **kwargs: Script("final_answer(6 * 7)"))

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["smolagent", *arguments])
        cli.main()
        return capsys.readouterr().out

    return run


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines a process")
def test_named_executor_runs_the_code(smolagent):
    shown = smolagent("6 * 7?", "--executor", "process", "--tools")
    assert f"Code runs in ProcessExecutor: {VARIABLE}=process" in shown
    assert "42" in shown


def test_command_without_the_option_is_upstreams(smolagent):
    shown = smolagent("6 * 7?", "--tools")
    assert "Code runs in" not in shown
    assert "42" in shown


def test_unknown_name_ends_with_the_names(smolagent, capsys):
    with pytest.raises(SystemExit) as ended:
        smolagent("6 * 7?", "--executor", "dokcer")
    assert ended.value.code == 2
    said = capsys.readouterr().err
    for name in ("docker", "e2b", "kubernetes", "local", "process", "ray", "wasm"):
        assert name in said.partition("choose from")[2]


def test_agent_without_code_takes_no_executor(smolagent, capsys):
    with pytest.raises(SystemExit) as ended:
        smolagent("6 * 7?", "--executor", "process", "--action-type", "tool_calling")
    assert ended.value.code == 2
    assert "an agent with --action-type tool_calling runs no code" in capsys.readouterr().err


def test_help_names_the_option(smolagent, capsys):
    with pytest.raises(SystemExit) as ended:
        smolagent("--help")
    assert ended.value.code == 0
    assert "--executor NAME" in capsys.readouterr().out
