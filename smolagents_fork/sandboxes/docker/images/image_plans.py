"""Images named by their content, so that a second start builds nothing.

The tag is a digest of everything that decides what is in the image: Dockerfile, the files it
copies, the base image's name, the requirements. A CA file and index settings, which only the build
needs, are neither in the digest nor in the image.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....deadline import Deadline
from ....errors import ConfigurationError
from ...pip_settings import ca_bytes, index_settings
from ...provisioner import BUILD_SECONDS, Report
from ..engine import mapped_errors
from .builds import BASE_IMAGE_VARIABLE, build, one_builder, pull
from .image_definitions import image_folder

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = [
    "BASE_IMAGE_VARIABLE",
    "DEFAULT_BASE_IMAGE",
    "ImagePlan",
    "addressed",
    "ensure",
    "exists",
    "plan",
]

DEFAULT_BASE_IMAGE = "python:3.12-slim"
REPOSITORY = "smolagents-fork-jupyter"


@dataclass(frozen=True)
class ImagePlan:
    """Plan of one image: its name and its content.

    Attributes:
        tag: name of the image.
        files: build context, by name; ``Dockerfile`` among them.
        arguments: build arguments that change its content.
        base: plan of the image to build first.
    """

    tag: str
    files: Mapping[str, bytes]
    arguments: Mapping[str, str]
    base: ImagePlan | None = None


def plan(
    *,
    base_image: str | None = None,
    dockerfile_content: str | None = None,
    image: str | None = None,
    requirements: Sequence[str] = (),
) -> ImagePlan:
    """Plan the images for these settings without asking an engine.

    Args:
        base_image: base of the default image; ``None``: ``SMOLAGENTS_FORK_BASE_IMAGE`` of the
            environment, else ``python:3.12-slim``.
        dockerfile_content: a Dockerfile in place of the fork's own.
        image: an existing image to use as it is.
        requirements: pip requirements to add.

    Returns:
        the plan; without files it names an image to pull.
    """
    if image is not None and dockerfile_content is not None:
        raise ConfigurationError("image= and dockerfile_content= exclude one another: give one")
    folder = image_folder("jupyter")
    core: ImagePlan
    if image is not None:
        core = ImagePlan(image, {}, {})
    elif dockerfile_content is not None:
        core = addressed(REPOSITORY + "-custom", {"Dockerfile": dockerfile_content.encode()}, {})
    else:
        base = base_image or os.environ.get(BASE_IMAGE_VARIABLE) or DEFAULT_BASE_IMAGE
        names = ("Dockerfile", "requirements.txt", "gateway.py")
        files = {name: folder.joinpath(name).read_bytes() for name in names}
        core = addressed(REPOSITORY, files, {"BASE_IMAGE": base})
    if not requirements:
        return core
    own = image is None and dockerfile_content is None
    dockerfile = folder.joinpath("Dockerfile.extra" if own else "Dockerfile.extra-any").read_bytes()
    files = {"Dockerfile": dockerfile, "extra.txt": "\n".join([*requirements, ""]).encode()}
    if own:
        files["changes.py"] = folder.joinpath("changes.py").read_bytes()
    return addressed(REPOSITORY, files, {"CORE_IMAGE": core.tag}, core)


def addressed(
    repository: str,
    files: Mapping[str, bytes],
    arguments: Mapping[str, str],
    base: ImagePlan | None = None,
) -> ImagePlan:
    """Plan an image whose tag is a digest of its content.

    Args:
        repository: the name before the tag.
        files: build context, by name.
        arguments: build arguments that change its content.
        base: plan of the image to build first.
    """
    digest = hashlib.sha256()
    for kind, entries in (
        ("file", files),
        ("argument", {key: value.encode() for key, value in arguments.items()}),
    ):
        for name in sorted(entries):
            # Lengths keep "ab" + "c" apart from "a" + "bc".
            digest.update(f"{kind} {name} {len(entries[name])}\n".encode())
            digest.update(entries[name])
    return ImagePlan(f"{repository}:{digest.hexdigest()[:20]}", files, arguments, base)


def ensure(
    client: DockerClient,
    wanted: ImagePlan,
    *,
    report: Report = lambda _line: None,
    ca_bundle: str | os.PathLike[str] | None = None,
    rebuild: bool = False,
    deadline: Deadline | None = None,
) -> str:
    """Build or pull the image unless the engine has it; return its tag.

    Args:
        client: docker-py client.
        wanted: from :func:`plan`.
        report: takes one line at a time while something is built.
        ca_bundle: PEM file that pip trusts during the build; ``None``: the one that ``PIP_CERT``,
            ``REQUESTS_CA_BUNDLE`` or ``SSL_CERT_FILE`` of the environment names.
        rebuild: build even if the engine has it, without the engine's cache.
        deadline: for pulling, building, and waiting for another process that builds the same;
            ``None``: half an hour.

    Raises:
        ImageBuildError: a step failed, or the time ran out; has the builder's last lines.
        ExecutorStartError: an image to use as it is does not exist.
    """
    if not rebuild and exists(client, wanted.tag):
        return wanted.tag
    deadline = deadline or Deadline(BUILD_SECONDS)
    if not wanted.files:
        pull(client, wanted.tag, report, deadline)
        return wanted.tag
    if wanted.base is not None:
        ensure(
            client,
            wanted.base,
            report=report,
            ca_bundle=ca_bundle,
            rebuild=rebuild,
            deadline=deadline,
        )
    with one_builder(wanted.tag, deadline):
        # Another process may have built it while this one waited.
        if rebuild or not exists(client, wanted.tag):
            context = _context({**wanted.files, "ca.pem": ca_bytes(ca_bundle)})
            arguments = {**wanted.arguments, **index_settings()}
            build(client, wanted.tag, context, arguments, report, deadline, no_cache=rebuild)
    return wanted.tag


def exists(client: DockerClient, tag: str) -> bool:
    """Tell whether the engine has the image."""
    import docker

    with mapped_errors("looking for the image", image=tag):
        try:
            client.api.inspect_image(tag)  # type: ignore[no-untyped-call]  # of its stub
        except docker.errors.ImageNotFound:
            return False
    return True


def _context(files: Mapping[str, bytes]) -> io.BytesIO:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in sorted(files.items()):
            # Fixed times and owners: the engine's layer cache compares them.
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(data), 0o644, 0
            archive.addfile(entry, io.BytesIO(data))
    target.seek(0)
    return target
