"""Packages that Ray brings to the nodes, which need only Ray themselves."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..folders.removal import remove_tree
from ..folders.user_folder import temporary_folder
from ..sandboxes.docker.images.image_plans import image_folder

__all__ = ["sent_packages"]

_PACKAGE = Path(__file__).parents[1]
_IMAGES = "_images"
# Its own requirements are Ray's, too.
_DOCKER = "docker"


@contextlib.contextmanager
def sent_packages() -> Iterator[list[str]]:
    """Yield folders with this package and, where it is installed, docker-py.

    They are copies, without compiled files: their content is that of the versions alone.
    """
    folder = Path(temporary_folder("ray-packages-"))
    try:
        sent = [_copy(_PACKAGE, folder)]
        if not (sent[0] / _IMAGES).exists():
            _copy(Path(str(image_folder("jupyter"))).parent, sent[0], _IMAGES)
        spec = importlib.util.find_spec(_DOCKER)
        if spec is not None and spec.origin is not None:
            sent.append(_copy(Path(spec.origin).parent, folder))
        yield [str(path) for path in sent]
    finally:
        remove_tree(str(folder))


def _copy(source: Path, folder: Path, name: str = "") -> Path:
    target = folder / (name or source.name)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target
