"""Record of the images that a build makes, so that none of them outlives it without need.

The engine's builder makes an image at each step. They have no names, and nobody can tell whose
they are. So a build writes their ids into a file that it has a lock on. They are removed at its
end, or by the next process of this user that finds the file without a lock. Ids alone are not
enough, because a step of the build may print what looks like one: an image also has to be without
a name and younger than the build, and the engine keeps what an image or a container needs.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from ....deadline import Deadline
from ....folders.user_folder import abandoned_files, locked_file
from ..engine import engine_time
from ..engine_address import EngineAddress

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["BuildRecord", "recorded_build", "remove_unfinished", "remove_unnamed"]

_STEP_MADE = re.compile(r" ---> ([0-9a-f]{12,64})")
_MOST_IMAGES = 1000
# Time for the engine to end the last step of a build that was cut short.
_REMOVE_SECONDS, _PAUSE_SECONDS = 15.0, 0.1


class BuildRecord:
    """Ids of images, also in a file.

    Args:
        number: Number of the open file; negative: none.
        started: when the build began, as the engine writes times.
    """

    def __init__(self, number: int, started: str) -> None:
        self._number = number
        self.images: list[str] = []
        self._write(started)

    def take(self, line: str) -> None:
        """Take one line of the builder, which may have the beginning of an image's id."""
        match = _STEP_MADE.fullmatch(line)
        if match is not None and len(self.images) < _MOST_IMAGES:
            self.images.append(match[1])
            self._write(match[1])

    def _write(self, line: str) -> None:
        if self._number >= 0:
            os.write(self._number, f"{line}\n".encode())


@contextlib.contextmanager
def recorded_build(client: DockerClient, address: EngineAddress) -> Iterator[BuildRecord]:
    """Record a build, and remove the images that it leaves without need."""
    started = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(engine_time(client)))
    with locked_file(f"{_prefix(address)}{secrets.token_hex(8)}", Deadline(1.0)) as number:
        record = BuildRecord(number, started)
        try:
            yield record
        finally:
            deadline = Deadline(_REMOVE_SECONDS)
            with contextlib.suppress(Exception):  # the engine does not answer any more
                while not remove_unnamed(client, record.images, started):
                    if deadline.expired():
                        break
                    time.sleep(_PAUSE_SECONDS)


def remove_unfinished(client: DockerClient, address: EngineAddress) -> None:
    """Remove the images of builds of this user whose processes were killed."""
    for path in abandoned_files(_prefix(address)):
        started, *images = path.read_text().split() or [""]
        if remove_unnamed(client, images, started):
            path.unlink()


def _prefix(address: EngineAddress) -> str:
    return f"images-{sha256(address.url.encode()).hexdigest()[:16]}-"


def remove_unnamed(
    client: DockerClient, images: Sequence[str], since: str = "", *, prune: bool = False
) -> bool:
    """Remove images that have no name and that nothing needs.

    Args:
        images: their ids or the beginnings of them, each after the one that it was made from.
        since: time before which none of them was made, as the engine writes times.
        prune: remove also the images without a name that only they were made from.

    Returns:
        whether none of them is left because of a container, which may end.
    """
    import docker

    removed = True
    for image in reversed(images):
        try:
            report = client.api.inspect_image(image)  # type: ignore[no-untyped-call]
            if report.get("RepoTags") or report.get("RepoDigests") or report["Created"] < since:
                continue
            client.api.remove_image(image, noprune=not prune)
        except docker.errors.ImageNotFound:
            continue
        except docker.errors.APIError as error:
            removed = removed and "dependent child" in str(error.explanation)
    return removed
