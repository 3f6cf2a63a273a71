"""Containers and images of the fork on the engine that the environment names, or the local one."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ....deadline import Deadline
from ....errors import EngineUnavailableError, ExecutorError
from ....system.inventory import GONE, ImageEntry, Inventory, Removal, SandboxEntry
from ...containers.listed_entries import read_entries
from ..engine import connect, disconnect, inspect_image, mapped_errors
from ..images.image_plans import is_address
from ..images.installation import COMMENT, PACKAGES_LABEL
from ..lifetime.labels import LABEL, own_labels, owner_of
from ..lifetime.orphans import remove_at
from ..list_fields import container_name, created_at, entry_id, labels_of, usage

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["DockerInventory"]

# Limit of one call of the engine, in seconds; removing an image of gigabytes takes some.
_CALL_SECONDS = 30
# Containers whose statistics are asked for at once.
_AT_ONCE = 8
# Time for the reports of other callers: the engine makes one at a time, and refuses a second.
_BUSY_SECONDS, _PAUSE_SECONDS = 60.0, 0.1
# Characters of a list of packages, which anyone may have written.
_MOST_PACKAGES_CHARS = 100_000
# Names and digests of an image without any.
_NO_NAME = "<none>"


class DockerInventory(Inventory):
    """Containers and images of the fork on an engine."""

    def sandboxes(self) -> list[SandboxEntry]:
        with _engine("listing containers") as client:
            summaries = client.api.containers(all=True, filters={"label": LABEL})
            entries = read_entries("container", summaries, _container_entry)
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                return list(pool.map(lambda entry: _with_memory(client, entry), entries))

    def log(self, sandbox: SandboxEntry, lines: int) -> list[str]:
        with _engine("reading the log", container=sandbox.id) as client:
            text = client.api.logs(sandbox.id, tail=lines)
        return bytes(text).decode("utf-8", "replace").splitlines()

    def kill(self, sandbox: SandboxEntry) -> None:
        _remove_container(sandbox.id)

    def images(self) -> list[ImageEntry]:
        with _engine("asking what images take") as client:
            report = _disk_usage(client)
            users: defaultdict[str, list[str]] = defaultdict(list)
            for image, name in read_entries("container", report.get("Containers"), _container_use):
                users[image].append(name)
            entries = read_entries(
                "image",
                report.get("Images"),
                lambda summary: _image_entry(client, summary, users[entry_id(summary)]),
            )
        return sorted(entries, key=lambda entry: -entry.size_bytes)

    def garbage(self, pattern: str) -> list[Removal]:
        """List containers whose owner is gone, and images that no container uses.

        Args:
            pattern: shell pattern that a name or the id of the container or image has to match.
        """

        def is_wanted(*names: str) -> bool:
            return any(fnmatchcase(name, pattern) for name in names)

        removals = [
            Removal(
                entry.id,
                "container",
                (entry.name,),
                None,
                f"its owner, process {entry.owner.pid}, is gone",
            )
            for entry in self.sandboxes()
            if entry.owner.state == GONE and is_wanted(entry.id, entry.name)
        ]
        going = {name for removal in removals for name in removal.names}
        for image in self.images():
            if going.issuperset(image.used_by) and is_wanted(image.id, *image.names):
                reason = "no container uses it" if image.names else "a newer one has replaced it"
                removals.append(Removal(image.id, "image", image.names, image.own_bytes, reason))
        return removals

    def remove(self, removal: Removal) -> str:
        try:
            if removal.what == "container":
                _remove_container(removal.id)
            else:
                _remove_image(removal)
        except EngineUnavailableError:
            raise
        except ExecutorError as error:
            return str(error)
        return ""


@contextlib.contextmanager
def _engine(action: str, **facts: Any) -> Iterator[DockerClient]:
    """Connect to the engine for an action whose errors are the fork's; see ``mapped_errors``."""
    client = connect(timeout=_CALL_SECONDS)
    try:
        with mapped_errors(action, **facts):
            yield client
    finally:
        disconnect(client)


def _container_entry(summary: Mapping[str, Any]) -> SandboxEntry | None:
    labels = own_labels(summary)
    if labels is None:
        return None
    return SandboxEntry(
        id=entry_id(summary)[:12],
        executor="docker",
        owner=owner_of(labels),
        started_at=created_at(summary),
        state=str(summary.get("State") or "unknown"),
        name=container_name(summary),
        image=str(summary.get("Image") or ""),
    )


def _with_memory(client: DockerClient, entry: SandboxEntry) -> SandboxEntry:
    """Return the entry with the container's memory, unless it has ended meanwhile."""
    if entry.state not in ("running", "paused"):
        return entry
    try:
        with mapped_errors("asking for statistics"):
            inspected = client.api.inspect_container(entry.id)
            raw = client.api.stats(entry.id, stream=False, one_shot=True)
        stats = usage(raw, limited=bool(inspected["HostConfig"].get("Memory")))
    except (ExecutorError, LookupError, TypeError, AttributeError):
        return entry
    return dataclasses.replace(
        entry, memory_bytes=stats.memory_bytes, memory_limit_bytes=stats.memory_limit_bytes
    )


def _disk_usage(client: DockerClient) -> dict[str, Any]:
    """Return the engine's report of images and containers, with what images share.

    The engine makes one report at a time: this waits while it makes one for another caller.
    """
    import docker

    deadline = Deadline(_BUSY_SECONDS)
    while True:
        try:
            report: dict[str, Any] = client.df()
            return report
        except docker.errors.APIError as error:
            if "already running" not in str(error.explanation) or deadline.expired():
                raise
        time.sleep(_PAUSE_SECONDS)


def _container_use(container: Mapping[str, Any]) -> tuple[str, str]:
    """Return a container's image and its name."""
    return str(container["ImageID"]), container_name(container)


def _image_entry(
    client: DockerClient, summary: Mapping[str, Any], used_by: list[str]
) -> ImageEntry | None:
    image = entry_id(summary)
    names, digests = (
        tuple(name for name in summary.get(key) or () if not name.startswith(_NO_NAME))
        for key in ("RepoTags", "RepoDigests")
    )
    ours = any(is_address(name) for name in names)
    if not ours and (names or digests):
        return None
    # It may have been removed meanwhile.
    comment = str((inspect_image(client, image) or {}).get("Comment") or "")
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


def _remove_container(container: str) -> None:
    with _engine("removing the container", container=container) as client:
        remove_at(client, container, Deadline(_CALL_SECONDS))


def _remove_image(removal: Removal) -> None:
    """Remove an image by its names; the engine refuses what a container uses by now."""
    import docker

    for name in removal.names or (removal.id,):
        with (
            _engine("removing the image", name=name) as client,
            contextlib.suppress(docker.errors.ImageNotFound),  # another process was first
        ):
            client.api.remove_image(name)
