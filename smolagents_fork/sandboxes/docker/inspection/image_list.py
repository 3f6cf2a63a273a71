"""Images of the fork on an engine."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ....inventory import ImageEntry
from ..engine import mapped_errors
from ..images.installation import PACKAGES_LABEL

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["image_entries"]

# The tag of an image of the fork is a digest of its content.
_TAG = r"smolagents-fork-(?:jupyter|jupyter-custom|agent):[0-9a-f]{20}"
_IS_TAG = re.compile(rf"{_TAG}\Z")
# An image without a tag is the fork's if it has the fork's comment, which images that users derive
# from it do not inherit...
_IS_COMMENT = re.compile(rf"smolagents-fork {_TAG}\Z")
# ...or if its last step is one that ends the first stage of a Dockerfile of earlier releases.
_LAST_STEPS = (
    "import kernel_gateway.gatewayapp, ipykernel.kernelapp",
    "cp /build/changes.py /changes/opt/kernel/.changes.py",
    "import smolagents, smolagents_fork.agent_sandbox.supervisor",
)
_NO_NAME = "<none>:<none>"


def image_entries(client: DockerClient) -> list[ImageEntry]:
    """List the images that the fork has built, the largest first; untagged ones included.

    Args:
        client: docker-py client; its timeout limits each call.

    Raises:
        EngineUnavailableError: the engine does not answer.
    """
    with mapped_errors("listing images"):
        # The engine computes what images share only here.
        found = client.df()["Images"] or []
        containers = client.api.containers(all=True)
        untagged = client.api.images(filters={"dangling": True})
    users: defaultdict[str, list[str]] = defaultdict(list)
    for container in containers:
        users[container["ImageID"]].append(container["Names"][0].lstrip("/"))
    dangling = {summary["Id"] for summary in untagged}
    entries = [
        entry
        for summary in found
        if (entry := _entry(client, summary, users[summary["Id"]], dangling)) is not None
    ]
    return sorted(entries, key=lambda entry: -entry.size_bytes)


def _entry(
    client: DockerClient, summary: Mapping[str, Any], used_by: list[str], dangling: set[str]
) -> ImageEntry | None:
    image = summary["Id"]
    names = tuple(name for name in summary.get("RepoTags") or () if name != _NO_NAME)
    ours = any(_IS_TAG.match(name) for name in names)
    if not ours and (names or image not in dangling):
        return None
    comment, last_step = _origin(client, image)
    by_comment = _IS_COMMENT.match(comment) is not None
    if not (ours or by_comment or any(step in last_step for step in _LAST_STEPS)):
        return None
    shared = summary.get("SharedSize", -1)
    packages = (summary.get("Labels") or {}).get(PACKAGES_LABEL)
    if packages is None and by_comment:
        packages = ""  # such an image says which packages it has, if any
    return ImageEntry(
        id=image.removeprefix("sha256:")[:12],
        names=names,
        size_bytes=summary["Size"],
        own_bytes=None if shared < 0 else summary["Size"] - shared,
        created_at=float(summary["Created"]),
        packages=None if packages is None else tuple(unquote(packages).split()),
        used_by=tuple(sorted(used_by)),
    )


def _origin(client: DockerClient, image: str) -> tuple[str, str]:
    """Return the comment of an image, and the step that made its last layer."""
    import docker

    with mapped_errors("looking at the image", image=image):
        try:
            # Their stubs have no types.
            report: Any = client.api.inspect_image(image)  # type: ignore[no-untyped-call]
            history: Any = client.api.history(image)  # type: ignore[no-untyped-call]
        except docker.errors.ImageNotFound:
            return "", ""  # removed meanwhile
    step = history[0].get("CreatedBy") if history else ""
    return str(report.get("Comment") or ""), str(step or "")
