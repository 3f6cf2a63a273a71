"""Plans of images named by their content, so that a second start builds nothing.

The tag is a digest of everything that decides what is in the image: the files of its build, its
base, the requirements. A CA file and index settings, which only the build needs, are neither in the
digest nor in the image.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ....distributions.requirements import parse_requirement
from ....errors import ConfigurationError
from .build_errors import BASE_IMAGE_VARIABLE
from .image_definitions import image_folder
from .installed_wheel import installed_wheel

__all__ = [
    "BASE_IMAGE_VARIABLE",
    "CONFIG",
    "DEFAULT_BASE_IMAGE",
    "DOCKERFILE",
    "SCRIPT",
    "ImagePlan",
    "addressed",
    "is_address",
    "plan",
    "with_fewer",
    "with_packages",
]

DEFAULT_BASE_IMAGE = "python:3.12-slim"
REPOSITORY, _AGENT_REPOSITORY = "smolagents-fork-jupyter", "smolagents-fork-agent"
# Images of the fork: Jupyter's, those of users' Dockerfiles, and those of agents.
_IS_ADDRESS = re.compile(r"(?:.*/)?smolagents-fork-(?:jupyter|jupyter-custom|agent):[0-9a-f]{20}")
#: Name of the script that installs, among the files of a plan.
SCRIPT = "install.sh"
#: Name of the file with the instructions that configure the image, in a Dockerfile's form.
CONFIG = "config"
#: Name of the file of a plan that the engine's builder builds.
DOCKERFILE = "Dockerfile"


@dataclass(frozen=True)
class ImagePlan:
    """Plan of one image: its name and its content.

    Attributes:
        tag: name of the image.
        files: of its build, by name: a Dockerfile, or a script that installs on ``base``. Without
            files, an image to use as it is.
        base: plan of the image to build on.
        requirements: that the script adds, its arguments. An image on the same base with fewer of
            them can take the place of ``base``.
    """

    tag: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    base: ImagePlan | None = None
    requirements: tuple[str, ...] = ()


def plan(
    *,
    base_image: str | None = None,
    dockerfile_content: str | None = None,
    image: str | None = None,
    requirements: Sequence[str] = (),
    with_smolagents: bool = False,
) -> ImagePlan:
    """Plan the images for these settings without asking an engine.

    Args:
        base_image: base of the default image; ``None``: ``SMOLAGENTS_FORK_BASE_IMAGE`` of the
            environment, else ``python:3.12-slim``.
        dockerfile_content: a Dockerfile in place of the fork's own image.
        image: an existing image to use as it is.
        requirements: pip requirements to add.
        with_smolagents: whether the fork's own image has smolagents, from this installation.

    Returns:
        the plan; without files it names an image to pull.

    Raises:
        ExecutorStartError: no wheel can be made of this installation.
    """
    if image is not None and dockerfile_content is not None:
        raise ConfigurationError("image= and dockerfile_content= exclude one another: give one")
    if image is not None:
        core = ImagePlan(image)
    elif dockerfile_content is not None:
        core = addressed(REPOSITORY + "-custom", {DOCKERFILE: dockerfile_content.encode()})
    else:
        folder = image_folder("jupyter")
        names = (SCRIPT, CONFIG, "requirements.txt", "kernel_server.py")
        files = {name: folder.joinpath(name).read_bytes() for name in names}
        base = base_image or os.environ.get(BASE_IMAGE_VARIABLE) or DEFAULT_BASE_IMAGE
        core = addressed(REPOSITORY, files, ImagePlan(base))
        if with_smolagents:
            core = _agent_plan(core)
    own = image is None and dockerfile_content is None
    repository = _AGENT_REPOSITORY if own and with_smolagents else REPOSITORY
    return with_packages(repository, core, requirements, known_layout=own)


def _agent_plan(kernel: ImagePlan) -> ImagePlan:
    """Plan the image of agents, in which smolagents is added to the kernel's."""
    folder = image_folder("agent")
    files = {name: folder.joinpath(name).read_bytes() for name in (SCRIPT, "requirements.txt")}
    # The wheel changes more often than what it requires, so it has a layer of its own.
    required = addressed(_AGENT_REPOSITORY, files, kernel)
    wheel_name, wheel = installed_wheel()
    files = {SCRIPT: folder.joinpath("wheel.sh").read_bytes(), wheel_name: wheel}
    return addressed(_AGENT_REPOSITORY, files, required)


def with_packages(
    repository: str, base: ImagePlan, requirements: Sequence[str], *, known_layout: bool
) -> ImagePlan:
    """Plan an image with packages added.

    Args:
        repository: the name before the tag.
        base: Base of the image.
        requirements: Requirements of pip; none: ``base`` itself.
        known_layout: whether ``base`` is the fork's, with a virtual environment.

    Raises:
        ConfigurationError: one is not a requirement.
    """
    if not requirements:
        return base
    script = image_folder("jupyter").joinpath("packages.sh" if known_layout else "packages-any.sh")
    parsed = tuple(str(parse_requirement(one)) for one in requirements)
    return addressed(repository, {SCRIPT: script.read_bytes()}, base, parsed)


def with_fewer(wanted: ImagePlan, requirements: Sequence[str]) -> ImagePlan:
    """Plan an image as ``wanted``, with other packages.

    Args:
        wanted: plan with packages.
        requirements: Requirements of pip.
    """
    repository = wanted.tag.rpartition(":")[0]
    return addressed(repository, wanted.files, wanted.base, tuple(requirements))


def is_address(name: str) -> bool:
    """Tell whether a name of an image is a digest of its content, as the fork's are.

    Args:
        name: Name with its tag.

    Example:
        >>> is_address("smolagents-fork-jupyter:latest")
        False
    """
    return _IS_ADDRESS.fullmatch(name) is not None


def addressed(
    repository: str,
    files: Mapping[str, bytes],
    base: ImagePlan | None = None,
    requirements: tuple[str, ...] = (),
) -> ImagePlan:
    """Plan an image whose tag is a digest of its content.

    Args:
        repository: the name before the tag.
        files: Files of its build, by name.
        base: plan of the image to build on.
        requirements: Requirements that the build adds.
    """
    digest = hashlib.sha256(f"base {base.tag if base else ''}\n".encode())
    for name in sorted(files):
        # Lengths keep "ab" + "c" apart from "a" + "bc".
        digest.update(f"file {name} {len(files[name])}\n".encode())
        digest.update(files[name])
    for requirement in requirements:
        digest.update(f"requirement {len(requirement)} {requirement}\n".encode())
    return ImagePlan(f"{repository}:{digest.hexdigest()[:20]}", files, base, requirements)
