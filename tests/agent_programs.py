"""What an agent sandbox does on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripted_model import Script
from smolagents import CodeAgent

from smolagents_fork import AgentSandbox
from smolagents_fork.errors import AgentProgramError, SandboxTimeoutError


def check_agents(folder: Path, **keywords: Any) -> None:
    """Run agents on the host's model, and programs past their limits.

    Args:
        folder: for a saved agent.
        **keywords: of the sandbox.
    """
    manager = (
        "from smolagents import CodeAgent\n"
        "helper = CodeAgent(tools=[], model=model, name='helper', description='Helps.')\n"
        "manager = CodeAgent(tools=[], model=model, managed_agents=[helper])\n"
        "print('answer:', manager.run('Who?'))"
    )
    model = Script("print(helper(task='find'))", "final_answer('found')", "final_answer('Ada')")
    with AgentSandbox(model_on_host=model, timeout_seconds=240, **keywords) as box:
        assert "answer: Ada" in box.run_code(manager)
        model.answers = ["final_answer(6 * 7)"]
        CodeAgent(tools=[], model=model).save(folder)
        assert box.run_agent(folder, "6 times 7?") == 42
        box.put_file(b"kept", "file")
        with pytest.raises(SandboxTimeoutError, match="its processes were killed"):
            box.run_code("while True: pass", timeout_seconds=5)
        with pytest.raises(AgentProgramError, match="exit code 7"):
            box.run_code("import sys; sys.exit(7)")
        assert box.run_code("print(open('file').read())") == "kept\n"
