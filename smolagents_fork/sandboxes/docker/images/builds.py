"""Builds of Dockerfiles, and pulls of images, by the engine under a deadline."""

from __future__ import annotations

import contextlib
import io
import os
import re
import socket
import tarfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....deadline import Deadline
from ....errors import ExecutorStartError, ImageBuildError
from ....text.redaction import without_passwords
from ...pip_settings import ca_bytes, index_settings, secret_settings
from ...provisioner import STEP, Report
from ..credential_helpers import find_missing_helpers
from ..engine import mapped_errors, one_call_client
from ..engine_address import EngineAddress
from .build_errors import KEPT_LINES, builder_output, failure_message
from .build_record import recorded_build
from .image_reference import parse_reference

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.api.client import APIClient

__all__ = ["build", "pull", "remove_unnamed"]

_STEP_BEGINS = re.compile(r"(?:STEP|Step) \d+(?:/\d+)? ?: ")


def build(
    client: DockerClient,
    address: EngineAddress,
    tag: str,
    files: Mapping[str, bytes],
    report: Report,
    deadline: Deadline,
    *,
    ca_bundle: str | os.PathLike[str] | None = None,
    no_cache: bool = False,
) -> None:
    """Build an image from a Dockerfile, and remove what the build leaves beside it.

    Args:
        client: docker-py client.
        address: Address of its engine.
        tag: Tag for the result.
        files: Files of the context, by name; ``Dockerfile`` among them.
        report: gets one line at a time.
        deadline: Deadline of the whole build. Afterwards the connection is closed, at which the
            engine ends the build and removes its containers.
        ca_bundle: PEM file for ``ca.pem`` of the context, as for ``ca_bytes``.
        no_cache: build every step.

    Raises:
        ImageBuildError: a step failed, or the deadline passed.
    """
    lines: list[str] = []
    settings = index_settings()
    for variable in secret_settings(settings):
        # The engine writes build arguments into the image's history.
        report(
            f"{variable} has a user name or a password and is not given to the Dockerfile; "
            "name the packages in additional_authorized_imports to install them with it"
        )
        del settings[variable]
    context = _context({**files, "ca.pem": ca_bytes(ca_bundle)})

    def start(api: APIClient) -> Any:
        return api.build(
            fileobj=context,
            custom_context=True,
            tag=tag,
            buildargs=settings,
            decode=True,
            rm=True,
            forcerm=True,
            nocache=no_cache,
            timeout=deadline.at_most(1e6),  # type: ignore[arg-type]  # requests takes a float
        )

    try:
        with (
            mapped_errors("building the image", image=tag),
            recorded_build(client, address) as record,
        ):

            def take(line: str) -> None:
                record.take(line)
                report(f"{STEP}{line}" if _STEP_BEGINS.match(line) else line)

            failure = _followed(client, start, lines, take, deadline)
    except ExecutorStartError as error:
        if type(error) is not ExecutorStartError:
            raise  # EngineUnavailableError: not a failure of the build
        raise ImageBuildError(str(error)) from None
    if failure is _TOO_LONG:
        raise ImageBuildError(
            f"image {tag} was not built in build_timeout_seconds={deadline.seconds}; raise it if "
            f"the build only needs longer. The last lines:\n{builder_output(lines)}"
        )
    if failure is not None:
        raise ImageBuildError(failure_message(tag, failure, lines))


def remove_unnamed(client: DockerClient, images: Sequence[str]) -> None:
    """Remove images that have no name, if nothing needs them.

    Args:
        client: docker-py client.
        images: their ids, as the engine gave them to this process.
    """
    import docker

    for image in images:
        with contextlib.suppress(docker.errors.APIError):
            report = client.api.inspect_image(image)  # type: ignore[no-untyped-call]
            if not report.get("RepoTags") and not report.get("RepoDigests"):
                client.api.remove_image(image)


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


def pull(client: DockerClient, tag: str, report: Report, deadline: Deadline) -> None:
    """Fetch an image from its registry.

    Raises:
        ImageBuildError: it could not be fetched in time.
        ExecutorStartError: the registry does not give it.
        ConfigurationError: it is not a reference.
    """
    report(f"{STEP}pulling {tag}")
    lines: list[str] = []
    reference = parse_reference("image", tag)

    def start(api: APIClient) -> Any:
        repository = reference.repository
        return api.pull(repository, tag=reference.version, stream=True, decode=True)

    try:
        with mapped_errors("pulling the image", image=tag):
            failure = _followed(client, start, lines, report, deadline)
    except ExecutorStartError as error:
        raise ExecutorStartError(_pull_failed(tag, error)) from None
    if failure is _TOO_LONG:
        raise ImageBuildError(
            f"image {tag} was not pulled in build_timeout_seconds={deadline.seconds}; check that "
            "its registry answers, or raise it if the pull only needs longer. The last lines:\n"
            + (builder_output(lines) or "(no output)")
        )
    if failure is not None:
        raise ExecutorStartError(_pull_failed(tag, failure))


def _pull_failed(tag: str, why: object) -> str:
    missing = find_missing_helpers()
    return (
        f"image {tag!r} is not on the engine and cannot be pulled: build it, load it, or name "
        f"another ({why})" + ("" if missing is None else f"; {missing}")
    )


_TOO_LONG = "too long"


def _followed(
    client: DockerClient,
    start: Callable[[APIClient], Any],
    lines: list[str],
    report: Report,
    deadline: Deadline,
) -> str | None:
    """Read the engine's progress to its end; return the error in it, or ``None``."""
    failure: str | None = None
    responses: list[Any] = []

    def keep(response: Any, *_: Any, **__: Any) -> None:
        responses.append(response)

    # The engine may answer a pull only when the registry has, and docker-py sets no limit for that.
    api = one_call_client(client.api, deadline.at_most(1e6))
    api.hooks["response"].append(keep)
    try:
        events = start(api)
        while True:
            try:
                # A step may print nothing for long, so the wait is as long as the deadline.
                _set_limit(responses, deadline.at_most(1e6))
                if deadline.expired():
                    return _TOO_LONG
                event = next(events, None)
            except Exception:
                if deadline.expired():
                    return _TOO_LONG
                raise
            if event is None:
                return failure
            failure = without_passwords(str(event.get("error") or "")) or failure
            text = without_passwords(str(event.get("stream") or event.get("status") or ""))
            for line in text.splitlines():
                if line.strip():
                    report(line.rstrip())
                    lines.append(line.rstrip())
                    del lines[:-KEPT_LINES]
    except Exception:
        if deadline.expired():
            return _TOO_LONG
        raise
    finally:
        for response in responses:
            _hang_up(response)


def _set_limit(responses: Sequence[Any], seconds: float) -> None:
    """Limit the next read of each response; docker-py's own limit starts again at every piece."""
    for response in responses:
        with contextlib.suppress(Exception):
            response.raw.connection.sock.settimeout(max(0.001, seconds))


def _hang_up(response: Any) -> None:
    # The engine ends a build whose client has gone; closing alone may leave the connection open.
    with contextlib.suppress(Exception):
        response.raw.connection.sock.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(Exception):
        response.close()
