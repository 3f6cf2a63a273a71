"""Record of the images that a build makes, so that none of them outlives it without need.

The engine's builder makes an image at each step. They have no names, and nobody can tell whose
they are. So a build writes their ids into a file that it has a lock on. When it has ended, however
it ended, they are removed: by itself, or by the next process of this user that finds the file
without a lock. Ids alone are not enough, because a step of the build may print what looks like one:
an image also has to be younger than the build, and nothing may need it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....deadline import Deadline
from ....folders.user_folder import abandoned_files, locked_file, user_folder
from ...containers.listed_entries import read_entries
from ..engine import engine_time
from ..engine_address import EngineAddress
from ..list_fields import entry_id

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["BuildRecord", "recorded_build", "remove_unfinished"]

_STEP_MADE = re.compile(r" ---> ([0-9a-f]{12,64})")
_MOST_IMAGES = 1000
_REMOVE_SECONDS, _PAUSE_SECONDS = 5.0, 0.1
_NO_NAME = "<none>"


class BuildRecord:
    """Ids of images, also in a file."""

    def __init__(self) -> None:
        self._number = -1
        self.images: set[str] = set()

    def begin(self, number: int, started: int) -> None:
        """Write to a file from now on.

        Args:
            number: Number of the open file; negative: none.
            started: when the build began, in seconds of the epoch by the engine's clock.
        """
        self._number = number
        self._write(str(started))

    def take(self, line: str) -> None:
        """Take one line of the builder, which may have the beginning of an image's id."""
        made = _STEP_MADE.fullmatch(line)
        if made is not None and len(self.images) < _MOST_IMAGES:
            self.images.add(made[1])
            self._write(made[1])

    def _write(self, line: str) -> None:
        if self._number >= 0:
            os.write(self._number, f"{line}\n".encode())


@contextlib.contextmanager
def recorded_build(client: DockerClient, address: EngineAddress) -> Iterator[BuildRecord]:
    """Record a build, and remove the images that it leaves without need.

    Args:
        client: docker-py client.
        address: Address of its engine.
    """
    started = int(engine_time(client))
    name = f"{_prefix(address)}{secrets.token_hex(8)}"
    record, removed = BuildRecord(), False
    try:
        with locked_file(name, Deadline(1.0)) as number:
            record.begin(number, started)
            try:
                yield record
            finally:
                removed = _remove_soon(client, record.images, started)
    finally:
        if not removed:
            later = [str(started), *record.images]
            Path(user_folder(), name).write_text("\n".join(later), "utf-8")


def _remove_soon(client: DockerClient, images: Collection[str], started: int) -> bool:
    deadline = Deadline(_REMOVE_SECONDS)
    while not deadline.expired():
        with contextlib.suppress(Exception):  # the engine does not answer any more
            if _remove(client, images, started):
                return True
        time.sleep(_PAUSE_SECONDS)  # the engine ends the last step
    return False


def remove_unfinished(client: DockerClient, address: EngineAddress) -> None:
    """Remove the images of builds of this user whose processes were killed.

    Args:
        client: docker-py client.
        address: Address of its engine.
    """
    for path in abandoned_files(_prefix(address)):
        started, *images = path.read_text().split() or ["0"]
        if _remove(client, images, int(started)):
            path.unlink()


def _prefix(address: EngineAddress) -> str:
    return f"images-{sha256(address.url.encode()).hexdigest()[:16]}-"


@dataclass(frozen=True)
class _Image:
    """An image as the engine lists it."""

    id: str
    parent: str
    created: float
    named: bool


def _image(entry: Mapping[str, Any]) -> _Image:
    names = [*(entry.get("RepoTags") or ()), *(entry.get("RepoDigests") or ())]
    named = any(not name.startswith(_NO_NAME) for name in names)
    return _Image(entry_id(entry), str(entry.get("ParentId") or ""), entry["Created"], named)


def _remove(client: DockerClient, begins: Collection[str], started: int) -> bool:
    """Remove images that a build has made, if nothing needs them; return whether all are removed.

    Args:
        client: docker-py client.
        begins: beginnings of their ids.
        started: when the build began, in seconds of the epoch by the engine's clock.
    """
    import docker

    images = {one.id: one for one in read_entries("image", client.api.images(all=True), _image)}
    made = {
        one.id
        for one in images.values()
        if one.created >= started
        and any(one.id.removeprefix("sha256:").startswith(beginning) for beginning in begins)
    }
    order = sorted(images.values(), key=lambda one: len(_line(images, one.id)))
    needed = {
        above for one in order if one.named or one.id not in made for above in _line(images, one.id)
    }
    removed = True
    for one in reversed(order):
        if one.id in made - needed:
            try:
                client.api.remove_image(one.id, noprune=True)
            except docker.errors.ImageNotFound:
                continue
            except docker.errors.APIError:
                removed = False  # a container uses it
    return removed


def _line(images: Mapping[str, _Image], image: str) -> list[str]:
    """Return an image and those that it was made from."""
    line: list[str] = []
    while image in images and image not in line:
        line.append(image)
        image = images[image].parent
    return line
