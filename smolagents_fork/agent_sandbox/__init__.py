"""Agent programs in a sandbox: the kernel runs them, and the model stays on the host."""

from __future__ import annotations

from typing import Any

__all__ = ["ADDRESS_VARIABLE", "ANSWER_FILE", "PROGRAM_FILE", "host_model"]

#: Names the socket in the sandbox on which a program calls the host's model.
ADDRESS_VARIABLE = "SMOLAGENTS_FORK_HOST_MODEL"
#: Files of a job: the program, and the encoded answer that it may leave beside it.
PROGRAM_FILE, ANSWER_FILE = "program.py", "answer"


def host_model(model_id: str | None = None) -> Any:
    """Return the model that ``model_on_host=`` of the sandbox names, for the agents in it.

    Args:
        model_id: what the model is called in the agent's log.

    Raises:
        ConfigurationError: this process does not run in such a sandbox.
    """
    from .inside_model import HostModel

    return HostModel(model_id=model_id)
