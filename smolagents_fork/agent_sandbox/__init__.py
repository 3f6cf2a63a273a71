"""Agent programs in a sandbox: the supervisor inside, the model on the host, and their frames."""

from __future__ import annotations

from typing import Any

__all__ = ["host_model"]


def host_model(model_id: str | None = None) -> Any:
    """Return the model that ``model_on_host=`` of the sandbox names, for the agents in it.

    Args:
        model_id: what the model is called in the agent's log.

    Raises:
        ConfigurationError: this process does not run in such a sandbox.
    """
    from .inside_model import HostModel

    return HostModel(model_id=model_id)
