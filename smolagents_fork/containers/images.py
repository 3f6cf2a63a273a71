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
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError, ExecutorStartError, ImageBuildError
from ..limits import Deadline
from .engine import mapped_errors
from .folder import image_folder

__all__ = ["BASE_IMAGE_VARIABLE", "DEFAULT_BASE_IMAGE", "ImagePlan", "ensure", "plan"]

DEFAULT_BASE_IMAGE = "python:3.12-slim"
BASE_IMAGE_VARIABLE = "SMOLAGENTS_FORK_BASE_IMAGE"
REPOSITORY = "smolagents-fork-jupyter"

_CA_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
_INDEX_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST")
_KEPT_LINES = 40
# How long one process waits for another that builds the same image.
_BUILD_SECONDS = 1800.0

Report = Callable[[str], None]


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
    """What has to be there for these settings; asks no engine.

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
        core = _addressed(REPOSITORY + "-custom", {"Dockerfile": dockerfile_content.encode()}, {})
    else:
        base = base_image or os.environ.get(BASE_IMAGE_VARIABLE) or DEFAULT_BASE_IMAGE
        names = ("Dockerfile", "requirements.txt", "gateway.py")
        files = {name: folder.joinpath(name).read_bytes() for name in names}
        core = _addressed(REPOSITORY, files, {"BASE_IMAGE": base})
    if not requirements:
        return core
    own = image is None and dockerfile_content is None
    dockerfile = folder.joinpath("Dockerfile.extra" if own else "Dockerfile.extra-any").read_bytes()
    files = {"Dockerfile": dockerfile, "extra.txt": "\n".join([*requirements, ""]).encode()}
    if own:
        files["changes.py"] = folder.joinpath("changes.py").read_bytes()
    return _addressed(REPOSITORY, files, {"CORE_IMAGE": core.tag}, core)


def _addressed(
    repository: str,
    files: Mapping[str, bytes],
    arguments: Mapping[str, str],
    base: ImagePlan | None = None,
) -> ImagePlan:
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
) -> str:
    """Have the image, building what is missing; return its tag.

    Args:
        client: docker-py client.
        wanted: from :func:`plan`.
        report: gets one line at a time while something is built.
        ca_bundle: PEM file pip trusts during the build; ``None``: what ``PIP_CERT``,
            ``REQUESTS_CA_BUNDLE`` or ``SSL_CERT_FILE`` of the environment name.
        rebuild: build even if it is there, without the engine's cache.

    Raises:
        ImageBuildError: a step failed; carries the builder's last lines.
        ExecutorStartError: an image taken as it is does not exist.
    """
    if not rebuild and exists(client, wanted.tag):
        return wanted.tag
    if not wanted.files:
        return _pulled(client, wanted.tag, report)
    if wanted.base is not None:
        ensure(client, wanted.base, report=report, ca_bundle=ca_bundle, rebuild=rebuild)
    with _one_builder(wanted.tag):
        # Another process may have built it while this one waited.
        if rebuild or not exists(client, wanted.tag):
            _build(client, wanted, report, _ca_bytes(ca_bundle), rebuild)
    return wanted.tag


def exists(client: Any, tag: str) -> bool:
    """Whether the engine has the image."""
    import docker

    with mapped_errors("looking for the image", image=tag):
        try:
            client.api.inspect_image(tag)
        except docker.errors.ImageNotFound:
            return False
    return True


def _pulled(client: Any, tag: str, report: Report) -> str:
    report(f"pulling {tag}")
    try:
        with mapped_errors("pulling the image", image=tag):
            client.images.pull(tag)
    except ExecutorStartError as error:
        raise ExecutorStartError(
            f"image {tag!r} is not on the engine and cannot be pulled: build it, load it, or name "
            f"another ({error})"
        ) from error
    return tag


def _build(client: Any, wanted: ImagePlan, report: Report, ca: bytes, no_cache: bool) -> None:
    report(f"building {wanted.tag}")
    arguments = {**wanted.arguments, **_index_arguments()}
    lines: list[str] = []
    failure: str | None = None
    with mapped_errors("building the image", image=wanted.tag):
        events = client.api.build(
            fileobj=_context({**wanted.files, "ca.pem": ca}),
            custom_context=True,
            tag=wanted.tag,
            buildargs=arguments,
            decode=True,
            rm=True,
            forcerm=True,
            nocache=no_cache,
        )
        for event in events:
            failure = event.get("error") or failure
            for line in str(event.get("stream") or event.get("status") or "").splitlines():
                if line.strip():
                    report(line.rstrip())
                    lines.append(line.rstrip())
                    del lines[:-_KEPT_LINES]
    if failure is not None:
        raise ImageBuildError(_failure_message(wanted, failure, lines))


def _failure_message(wanted: ImagePlan, failure: str, lines: Sequence[str]) -> str:
    base = wanted.arguments.get("BASE_IMAGE")
    low = failure.lower()
    missing = ("pull access denied", "manifest unknown", "not found: manifest", "no such host")
    if base and (any(text in low for text in missing) or "connection refused" in low):
        return (
            f"image {wanted.tag} could not be built: base image {base!r} cannot be had "
            f"({failure}); pass base_image= or set {BASE_IMAGE_VARIABLE} to one that can"
        )
    words = "\n".join(_plain(line) for line in lines if not line.startswith("---> "))
    hint = ""
    if "certificate" in words.lower():
        hint = "; behind a proxy that re-signs TLS, pass ca_bundle= (a PEM file)"
    return f"image {wanted.tag} could not be built{hint}: {failure}\n{words}"


def _plain(line: str) -> str:
    return line.replace("\x1b[91m", "").replace("\x1b[0m", "")


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


def _ca_bytes(ca_bundle: str | os.PathLike[str] | None) -> bytes:
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


def _index_arguments() -> dict[str, str]:
    """pip's index settings of this environment; local folders mean nothing to the builder."""
    found = {}
    for variable in _INDEX_VARIABLES:
        value = os.environ.get(variable, "")
        kept = " ".join(part for part in value.split() if not part.startswith("file:"))
        if kept:
            found[variable] = kept
    return found


@contextlib.contextmanager
def _one_builder(tag: str) -> Iterator[None]:
    """Let one process of this machine build ``tag`` at a time; without file locks, all may."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        yield
        return
    user = os.getuid()
    path = Path(tempfile.gettempdir()) / f"smolagents-fork-{user}-{tag.rpartition(':')[2]}.lock"
    # O_NOFOLLOW: the folder is everybody's, and a link planted there must not be opened.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        waiting = Deadline(_BUILD_SECONDS)
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                # The other builder may hang; a second build of the same content does no harm.
                if waiting.expired():
                    break
                time.sleep(0.1)
        yield
    finally:
        os.close(handle)
