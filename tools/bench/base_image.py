"""The base of all images of a run: the machine's own one where no registry is reached."""

from __future__ import annotations

import os
from typing import Any

from smolagents_fork.sandboxes.docker.engine import image_id
from smolagents_fork.sandboxes.docker.images.image_plans import (
    BASE_IMAGE_VARIABLE,
    DEFAULT_BASE_IMAGE,
)

__all__ = ["base_image"]

# What .ci/run makes on a machine that reaches no registry.
_LOCAL_BASE = "smolagents-fork-base:bookworm"


def base_image(client: Any) -> str:
    """Return the base's name; the environment is set so that the fork's images are built on it.

    Args:
        client: docker-py's.
    """
    if not os.environ.get(BASE_IMAGE_VARIABLE) and image_id(client, _LOCAL_BASE):
        os.environ[BASE_IMAGE_VARIABLE] = _LOCAL_BASE
    return os.environ.get(BASE_IMAGE_VARIABLE) or DEFAULT_BASE_IMAGE
