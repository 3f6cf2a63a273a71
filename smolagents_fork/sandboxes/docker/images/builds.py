"""Builds and pulls of images under a deadline, one process at a time."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....deadline import Deadline
from ....errors import ExecutorStartError, ImageBuildError
from ...provisioner import Report
from ..engine import mapped_errors, one_call_client
from .build_errors import BASE_IMAGE_VARIABLE, builder_output, failure_message

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.api.client import APIClient

__all__ = ["BASE_IMAGE_VARIABLE", "build", "one_builder", "pull"]

_KEPT_LINES = 40


def build(
    client: DockerClient,
    tag: str,
    context: io.BytesIO,
    arguments: Mapping[str, str],
    report: Report,
    deadline: Deadline,
    *,
    no_cache: bool = False,
) -> None:
    """Build an image.

    Args:
        client: docker-py client.
        tag: for the result.
        context: tar archive with the Dockerfile.
        arguments: build arguments.
        report: gets one line at a time.
        deadline: of the whole build. Afterwards the connection is closed, at which the engine
            ends the build and removes its containers.
        no_cache: build every step.

    Raises:
        ImageBuildError: a step failed, or the deadline passed.
    """
    report(f"building {tag}")
    lines: list[str] = []

    def start(api: APIClient) -> Any:
        return api.build(
            fileobj=context,
            custom_context=True,
            tag=tag,
            buildargs=dict(arguments),
            decode=True,
            rm=True,
            forcerm=True,
            nocache=no_cache,
            timeout=deadline.at_most(1e6),  # type: ignore[arg-type]  # requests takes a float
        )

    try:
        with mapped_errors("building the image", image=tag):
            failure = _followed(client, start, lines, report, deadline)
    except ExecutorStartError as error:
        if type(error) is not ExecutorStartError:
            raise  # EngineUnavailableError: not a failure of the build
        raise ImageBuildError(str(error)) from error
    if failure is _TOO_LONG:
        raise ImageBuildError(
            f"image {tag} was not built in build_timeout_seconds={deadline.seconds}; raise it if "
            f"the build only needs longer. The last lines:\n{builder_output(lines)}"
        )
    if failure is not None:
        raise ImageBuildError(failure_message(tag, arguments, failure, lines))


def pull(client: DockerClient, tag: str, report: Report, deadline: Deadline) -> None:
    """Fetch an image from its registry.

    Raises:
        ImageBuildError: it could not be fetched in time.
        ExecutorStartError: the registry does not give it.
    """
    report(f"pulling {tag}")
    lines: list[str] = []
    repository, version = tag, None if "@" in tag else "latest"
    if version and ":" in tag.rpartition("/")[2]:
        repository, _, version = tag.rpartition(":")

    def start(api: APIClient) -> Any:
        return api.pull(repository, tag=version, stream=True, decode=True)

    try:
        with mapped_errors("pulling the image", image=tag):
            failure = _followed(client, start, lines, report, deadline)
    except ExecutorStartError as error:
        raise ExecutorStartError(_pull_failed(tag, error)) from error
    if failure is _TOO_LONG:
        raise ImageBuildError(
            f"image {tag} was not pulled in build_timeout_seconds={deadline.seconds}; check that "
            "its registry answers, or raise it if the pull only needs longer. The last lines:\n"
            + (builder_output(lines) or "(no output)")
        )
    if failure is not None:
        raise ExecutorStartError(_pull_failed(tag, failure))


def _pull_failed(tag: str, why: object) -> str:
    return (
        f"image {tag!r} is not on the engine and cannot be pulled: build it, load it, or name "
        f"another ({why})"
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
            failure = event.get("error") or failure
            text = str(event.get("stream") or event.get("status") or "")
            for line in text.splitlines():
                if line.strip():
                    report(line.rstrip())
                    lines.append(line.rstrip())
                    del lines[:-_KEPT_LINES]
    except Exception:
        if deadline.expired():
            return _TOO_LONG
        raise
    finally:
        for response in responses:
            _hang_up(response)


def _socket_of(response: Any) -> Any:
    with contextlib.suppress(AttributeError):
        return response.raw._fp.fp.raw._sock
    return None


def _set_limit(responses: Sequence[Any], seconds: float) -> None:
    """Limit the next read of each response; docker-py's own limit starts again at every piece."""
    for response in responses:
        with contextlib.suppress(Exception):
            _socket_of(response).settimeout(max(0.001, seconds))


def _hang_up(response: Any) -> None:
    # The engine ends a build whose client has gone; closing alone may leave the connection open.
    with contextlib.suppress(Exception):
        _socket_of(response).shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(Exception):
        response.close()


@contextlib.contextmanager
def one_builder(tag: str, deadline: Deadline) -> Iterator[None]:
    """Let one process of this machine build ``tag`` at a time; no-op without file locks.

    Raises:
        ImageBuildError: another process builds it and was not done in time.
    """
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        yield
        return
    user = os.getuid()
    path = Path(tempfile.gettempdir()) / f"smolagents-fork-{user}-{tag.rpartition(':')[2]}.lock"
    # O_NOFOLLOW: every user may write to the folder, and a link put there must not be opened.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if deadline.expired():
                    raise ImageBuildError(
                        f"image {tag} is being built by another process of this user, which was "
                        f"not done in build_timeout_seconds={deadline.seconds} (lock: {path})"
                    ) from None
                time.sleep(0.1)
        yield
    finally:
        os.close(handle)
