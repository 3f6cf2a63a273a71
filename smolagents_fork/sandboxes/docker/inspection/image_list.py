"""Images of the fork on an engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ....system.inventory import ImageEntry
from ...containers.listed_entries import read_entries
from ..engine import mapped_errors
from ..images.image_plans import is_address
from ..images.installation import COMMENT, PACKAGES_LABEL
from ..list_fields import container_name, created_at, entry_id, labels_of
from .disk_usage import disk_usage

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["image_entries"]

# Characters of a list of packages, which anyone may have written.
_MOST_PACKAGES_CHARS = 100_000
_NO_NAME = "<none>:<none>"


def image_entries(client: DockerClient) -> list[ImageEntry]:
    """List the images that the fork has built, the largest first; untagged ones included.

    Args:
        client: docker-py client; its timeout limits each call.

    Raises:
        EngineUnavailableError: the engine does not answer.
    """
    # The engine computes what images share only there.
    found = disk_usage(client).get("Images")
    with mapped_errors("listing images"):
        containers = client.api.containers(all=True)
        untagged = client.api.images(filters={"dangling": True})
    users: defaultdict[str, list[str]] = defaultdict(list)
    for image, name in read_entries("container", containers, _use):
        users[image].append(name)
    dangling = set(read_entries("image", untagged, entry_id))
    entries = read_entries(
        "image",
        found,
        lambda summary: _entry(client, summary, users[entry_id(summary)], dangling),
    )
    return sorted(entries, key=lambda entry: -entry.size_bytes)


def _use(container: Mapping[str, Any]) -> tuple[str, str]:
    """Return a container's image and its name."""
    return str(container["ImageID"]), container_name(container)


def _entry(
    client: DockerClient, summary: Mapping[str, Any], used_by: list[str], dangling: set[str]
) -> ImageEntry | None:
    image = entry_id(summary)
    names = tuple(name for name in summary.get("RepoTags") or () if name != _NO_NAME)
    ours = any(is_address(name) for name in names)
    if not ours and (names or image not in dangling):
        return None
    comment = _comment(client, image)
    # Images that users derive from it do not inherit the comment.
    by_comment = comment.startswith(COMMENT) and is_address(comment.removeprefix(COMMENT))
    if not (ours or by_comment):
        return None
    size, shared = int(summary.get("Size") or 0), summary.get("SharedSize")
    packages = labels_of(summary).get(PACKAGES_LABEL)
    if packages is None and by_comment:
        packages = ""  # such an image says which packages it has, if any
    if packages is not None and len(packages) > _MOST_PACKAGES_CHARS:
        packages = None
    return ImageEntry(
        id=image.removeprefix("sha256:")[:12],
        names=names,
        size_bytes=size,
        own_bytes=None if shared is None or shared < 0 else size - shared,
        created_at=created_at(summary),
        packages=None if packages is None else tuple(unquote(packages).split()),
        used_by=tuple(sorted(used_by)),
    )


def _comment(client: DockerClient, image: str) -> str:
    """Return the comment of an image."""
    import docker

    with mapped_errors("looking at the image", image=image):
        try:
            # Its stub has no types.
            report: Any = client.api.inspect_image(image)  # type: ignore[no-untyped-call]
        except docker.errors.ImageNotFound:
            return ""  # removed meanwhile
    return str(report.get("Comment") or "")
