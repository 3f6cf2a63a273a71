"""Plans of images named by their content, so that a second start builds nothing.

The tag is a digest of everything that decides what is in the image: the files of its build, its
base, the requirements. A CA file and index settings, which only the build needs, are neither in the
digest nor in the image.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import io
import os
import re
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from ....distributions.requirements import parse_requirement
from ....errors import ExecutorStartError, ImageBuildError

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

__all__ = [
    "BASE_IMAGE_VARIABLE",
    "CONFIG",
    "DEFAULT_BASE_IMAGE",
    "DOCKERFILE",
    "SCRIPT",
    "ImagePlan",
    "archive_installation",
    "image_folder",
    "is_address",
    "plan",
    "plan_addressed",
]

BASE_IMAGE_VARIABLE, DEFAULT_BASE_IMAGE = "SMOLAGENTS_FORK_BASE_IMAGE", "python:3.12-slim"
REPOSITORY, _AGENT_REPOSITORY = "smolagents-fork-jupyter", "smolagents-fork-agent"
# Images of the fork: Jupyter's, those of users' Dockerfiles, and those of agents.
_IS_ADDRESS = re.compile(r"(?:.*/)?smolagents-fork-(?:jupyter|jupyter-custom|agent):[0-9a-f]{20}")
#: Name of the script that installs, among the files of a plan.
SCRIPT = "install.sh"
#: Name of the file with the instructions that configure the image, in a Dockerfile's form.
CONFIG = "config"
#: Name of the file of a plan that the engine's builder builds.
DOCKERFILE = "Dockerfile"
# What is copied of this installation.
_DISTRIBUTION, _PACKAGES = "smolagents", ("smolagents", "smolagents_fork")
_METADATA = ("METADATA", "entry_points.txt")
# The same bytes from the same files: a zip archive cannot have an earlier time.
_TIME = (1980, 1, 1, 0, 0, 0)


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


def image_folder(name: str) -> Traversable:
    """Return the folder of image ``name``: a script and the files it installs.

    It is that of the installed package, or of the repository's ``docker/``.

    Raises:
        ImageBuildError: the installation is incomplete.
    """
    packaged = resources.files("smolagents_fork").joinpath("_images").joinpath(name)
    if packaged.joinpath("install.sh").is_file():
        return packaged
    repository = Path(__file__).resolve().parents[4] / "docker" / name
    if (repository / "install.sh").is_file():
        return repository
    raise ImageBuildError(
        f"the definition of image {name!r} is missing: neither smolagents_fork/_images/{name} nor "
        f"{repository} has an install.sh; reinstall the package"
    )


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
        dockerfile_content: a Dockerfile in place of the fork's own image; without ``image``.
        image: an existing image to use as it is.
        requirements: pip requirements to add.
        with_smolagents: whether the fork's own image has smolagents, from this installation.

    Returns:
        the plan; without files it names an image to pull.

    Raises:
        ConfigurationError: a requirement is not one.
        ExecutorStartError: this installation cannot be copied.
    """
    if image is not None:
        core = ImagePlan(image)
    elif dockerfile_content is not None:
        core = plan_addressed(REPOSITORY + "-custom", {DOCKERFILE: dockerfile_content.encode()})
    else:
        folder = image_folder("jupyter")
        names = (SCRIPT, CONFIG, "requirements.txt", "kernel_server.py")
        files = {name: folder.joinpath(name).read_bytes() for name in names}
        base = base_image or os.environ.get(BASE_IMAGE_VARIABLE) or DEFAULT_BASE_IMAGE
        core = plan_addressed(REPOSITORY, files, ImagePlan(base))
        if with_smolagents:
            core = _agent_plan(core)
    if not requirements:
        return core
    own = image is None and dockerfile_content is None
    repository = _AGENT_REPOSITORY if own and with_smolagents else REPOSITORY
    # Only the fork's own image is known to have a virtual environment.
    script = image_folder("jupyter").joinpath("packages.sh" if own else "packages-any.sh")
    parsed = tuple(str(parse_requirement(requirement)) for requirement in requirements)
    return plan_addressed(repository, {SCRIPT: script.read_bytes()}, core, parsed)


def _agent_plan(kernel: ImagePlan) -> ImagePlan:
    """Plan the image of agents, in which smolagents is added to the kernel's."""
    folder = image_folder("agent")
    files = {name: folder.joinpath(name).read_bytes() for name in (SCRIPT, "requirements.txt")}
    # smolagents changes more often than what it requires, so it has a layer of its own.
    required = plan_addressed(_AGENT_REPOSITORY, files, kernel)
    script = folder.joinpath("smolagents.sh").read_bytes()
    files = {SCRIPT: script, "smolagents.zip": archive_installation()}
    return plan_addressed(_AGENT_REPOSITORY, files, required)


def archive_installation() -> bytes:
    """Return the installed smolagents as a zip archive of what belongs into a ``site-packages``.

    So an image has the same code as this process, and no index is asked for it. The packages are
    those that this process imports, also of an editable installation.

    Raises:
        ExecutorStartError: a package or the metadata is not where it can be read.
    """
    try:
        installed = importlib.metadata.distribution(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        raise ExecutorStartError(
            f"the distribution {_DISTRIBUTION!r} is not installed, so it cannot be copied into the "
            "image: install the fork with pip"
        ) from None
    folder = f"{_DISTRIBUTION}-{installed.version}.dist-info"
    entries = {f"{folder}/{name}": installed.read_text(name) or "" for name in _METADATA}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(zipfile.ZipInfo(name, _TIME), text, zipfile.ZIP_DEFLATED)
        for package in _PACKAGES:
            module_spec = importlib.util.find_spec(package)
            if module_spec is None or not module_spec.submodule_search_locations:
                raise ExecutorStartError(f"the package {package!r} cannot be found for the image")
            root = Path(next(iter(module_spec.submodule_search_locations)))
            for path in sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    name = f"{package}/{path.relative_to(root).as_posix()}"
                    entry = zipfile.ZipInfo(name, _TIME)
                    archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target.getvalue()


def is_address(name: str) -> bool:
    """Tell whether a name of an image is a digest of its content, as the fork's are.

    Example:
        >>> is_address("smolagents-fork-jupyter:latest")
        False
    """
    return _IS_ADDRESS.fullmatch(name) is not None


def plan_addressed(
    repository: str,
    files: Mapping[str, bytes],
    base: ImagePlan | None = None,
    requirements: tuple[str, ...] = (),
) -> ImagePlan:
    """Plan an image whose tag is a digest of its content.

    Args:
        repository: the name before the tag.
    """
    digest = hashlib.sha256(f"base {base.tag if base else ''}\n".encode())
    for name in sorted(files):
        # Lengths keep "ab" + "c" apart from "a" + "bc".
        digest.update(f"file {name} {len(files[name])}\n".encode())
        digest.update(files[name])
    for requirement in requirements:
        digest.update(f"requirement {len(requirement)} {requirement}\n".encode())
    return ImagePlan(f"{repository}:{digest.hexdigest()[:20]}", files, base, requirements)
