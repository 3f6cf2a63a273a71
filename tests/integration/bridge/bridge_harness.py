"""Executors that tests share, and a scripted model for agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripted_model import Script
from smolagents import CodeAgent

from smolagents_fork import DockerExecutor, ProcessExecutor

CLASSES = {"process": ProcessExecutor, "docker": DockerExecutor}


class Sandbox:
    """Executor of the test session, and the lines received by its ``on_output``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.streamed: list[str] = []
        self.on_output: Callable[[str], None] = self.streamed.append
        self.executor: Any = CLASSES[name](
            ["time"],
            timeout_seconds=60,
            interrupt_grace_seconds=10,  # long, so that a busy machine fails no test
            on_output=lambda text: self.on_output(text),
        )


def code_agent(executor: Any, *steps: str, **more: Any) -> CodeAgent:
    """Return an agent that runs ``steps`` in ``executor``."""
    options: dict[str, Any] = {"tools": [], "verbosity_level": 0, "max_steps": 5, **more}
    return CodeAgent(model=Script(*steps), executor=executor, **options)
