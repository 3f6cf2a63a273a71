"""Image definitions, from the installed package or the repository's ``docker/``."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from ....errors import ImageBuildError

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

__all__ = ["image_folder"]


def image_folder(name: str) -> Traversable:
    """Return the folder of image ``name``: a script and the files it installs.

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
