"""Plan of the image in which whole agents run."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...agent_sandbox.installed_wheel import installed_wheel
from ...sandboxes.docker.images.image_definitions import image_folder
from ...sandboxes.docker.images.image_plans import (
    BASE_IMAGE_VARIABLE,
    DEFAULT_BASE_IMAGE,
    ImagePlan,
    addressed,
)

__all__ = ["agent_image_plan"]

_REPOSITORY = "smolagents-fork-agent"


def agent_image_plan(
    *, image: str | None, base_image: str | None, requirements: Sequence[str]
) -> ImagePlan:
    """Plan the image without asking an engine.

    Args:
        image: an image to take as it is.
        base_image: what the image is built on; ``None``: ``SMOLAGENTS_FORK_BASE_IMAGE`` of the
            environment, else ``python:3.12-slim``.
        requirements: what pip adds to it.

    Raises:
        ExecutorStartError: this installation gives no wheel.
    """
    if image is not None:
        return ImagePlan(image, {}, {})
    base = base_image or os.environ.get(BASE_IMAGE_VARIABLE) or DEFAULT_BASE_IMAGE
    folder = image_folder("agent")
    wheel_name, wheel = installed_wheel()
    files = {
        "Dockerfile": folder.joinpath("Dockerfile").read_bytes(),
        "requirements.txt": folder.joinpath("requirements.txt").read_bytes(),
        "extra.txt": "".join(f"{line}\n" for line in requirements).encode(),
        wheel_name: wheel,
    }
    return addressed(_REPOSITORY, files, {"BASE_IMAGE": base})
