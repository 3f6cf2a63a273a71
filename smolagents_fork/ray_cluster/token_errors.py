"""Recognition of a refused token: Ray says so in the text of its errors and of its log."""

from __future__ import annotations

from ..errors import EngineUnavailableError

__all__ = ["names_token", "token_refused"]

#: Parts of those texts. Ray has no class for the error.
_TEXTS = ("InvalidAuthToken", "Unauthenticated", "Authentication token")


def names_token(text: str) -> bool:
    """Return whether a text of Ray says that the head refused the token."""
    return any(part in text for part in _TEXTS)


def token_refused(address: str) -> EngineUnavailableError:
    """Make the error for a refused token.

    Args:
        address: of the cluster's head.
    """
    return EngineUnavailableError(
        f"the Ray cluster at {address} refused the token of this process: set RAY_AUTH_MODE=token, "
        "and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH to the cluster's token"
    )
