"""Images named by their content, so that a second start builds nothing.

The tag is a digest of everything that decides what is in the image: Dockerfile, the files it
copies, the base image's name, the requirements. What only helps to get there (a CA file, an index)
is left out of the digest and out of the result.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....deadline import Deadline
from ....errors import ConfigurationError
from ..engine import mapped_errors
from .builds import BASE_IMAGE_VARIABLE, Report, build, one_builder, pull
from .image_definitions import image_folder

__all__ = [
    "BASE_IMAGE_VARIABLE",
    "BUILD_SECONDS",
    "DEFAULT_BASE_IMAGE",
    "ImagePlan",
    "addressed",
    "ca_bytes",
    "ensure",
    "exists",
    "index_settings",
    "plan",
]

DEFAULT_BASE_IMAGE = "python:3.12-slim"
REPOSITORY = "smolagents-fork-jupyter"

_CA_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
_INDEX_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST")
# What a build may take where nobody said otherwise.
BUILD_SECONDS = 1800.0


@dataclass(frozen=True)
class ImagePlan:
    """One image to have: how it is called and what it is made of.

    Attributes:
        tag: name the image gets and is looked up by.
        files: build context, by name; ``Dockerfile`` among them.
        arguments: build arguments that decide what is in it.
        base: the plan to carry out first.
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
        base_image: what the default image is built on; ``None``: ``SMOLAGENTS_FORK_BASE_IMAGE`` of
            the environment, else ``python:3.12-slim``.
        dockerfile_content: a Dockerfile in place of the fork's own.
        image: an image to take as it is.
        requirements: what pip adds to it.

    Returns:
        the plan; one without files names an image that has to exist.
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
    """Plan an image whose tag is the digest of what decides its content.

    Args:
        repository: the name before the tag.
        files: build context, by name.
        arguments: build arguments that decide what is in it.
        base: the plan to carry out first.
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
    client: Any,
    wanted: ImagePlan,
    *,
    report: Report = lambda _line: None,
    ca_bundle: str | os.PathLike[str] | None = None,
    rebuild: bool = False,
    deadline: Deadline | None = None,
) -> str:
    """Have the image, building what is missing; return its tag.

    Args:
        client: docker-py client.
        wanted: from :func:`plan`.
        report: gets one line at a time while something is built.
        ca_bundle: PEM file pip trusts during the build; ``None``: what ``PIP_CERT``,
            ``REQUESTS_CA_BUNDLE`` or ``SSL_CERT_FILE`` of the environment name.
        rebuild: build even if it is there, without the engine's cache.
        deadline: for pulling, building, and waiting for another process that builds the same;
            ``None``: half an hour.

    Raises:
        ImageBuildError: a step failed, or the time is spent; carries the builder's last lines.
        ExecutorStartError: an image taken as it is does not exist.
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


def exists(client: Any, tag: str) -> bool:
    """Tell whether the engine has the image."""
    import docker

    with mapped_errors("looking for the image", image=tag):
        try:
            client.api.inspect_image(tag)
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


def ca_bytes(ca_bundle: str | os.PathLike[str] | None) -> bytes:
    """The certificates pip shall trust, empty for its own.

    Args:
        ca_bundle: a PEM file; ``None``: the one the environment names.

    Raises:
        ConfigurationError: it cannot be read.
    """
    if ca_bundle is not None:
        try:
            return Path(ca_bundle).read_bytes()
        except OSError as error:
            raise ConfigurationError(f"ca_bundle={str(ca_bundle)!r}: {error}") from None
    for variable in _CA_VARIABLES:
        path = os.environ.get(variable)
        if path:
            with contextlib.suppress(OSError):
                return Path(path).read_bytes()
    return b""


def index_settings() -> dict[str, str]:
    """pip's index settings of this environment; local folders mean nothing to the builder."""
    found = {}
    for variable in _INDEX_VARIABLES:
        value = os.environ.get(variable, "")
        kept = " ".join(part for part in value.split() if not part.startswith("file:"))
        if kept:
            found[variable] = kept
    return found
