"""Plan of the image in which whole agents run."""

from __future__ import annotations

from collections.abc import Sequence

from ...agent_sandbox.installed_wheel import installed_wheel
from ...sandboxes.docker.images.image_definitions import image_folder
from ...sandboxes.docker.images.image_plans import (
    CONFIG,
    SCRIPT,
    ImagePlan,
    addressed,
    base_plan,
    with_packages,
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
        return ImagePlan(image)
    folder = image_folder("agent")
    names = (SCRIPT, CONFIG, "requirements.txt")
    files = {name: folder.joinpath(name).read_bytes() for name in names}
    # The wheel changes more often than what it requires, so it has a layer of its own.
    required = addressed(_REPOSITORY, files, base_plan(base_image))
    wheel_name, wheel = installed_wheel()
    files = {SCRIPT: folder.joinpath("wheel.sh").read_bytes(), wheel_name: wheel}
    installed = addressed(_REPOSITORY, files, required)
    return with_packages(_REPOSITORY, installed, requirements, known_layout=True)
