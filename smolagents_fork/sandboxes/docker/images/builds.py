"""Building and pulling under a deadline, one process at a time, failing in the builder's words."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ....deadline import Deadline
from ....errors import ExecutorStartError, ImageBuildError
from ..engine import mapped_errors, post_patience
from .build_errors import BASE_IMAGE_VARIABLE, failure_message, words_of

__all__ = ["BASE_IMAGE_VARIABLE", "Report", "build", "one_builder", "pull"]

_KEPT_LINES = 40

Report = Callable[[str], None]


def build(
    client: Any,
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
        deadline: of the whole build; at its end the engine is left, which ends the build there
            and removes its containers.
        no_cache: build every step.

    Raises:
        ImageBuildError: a step failed, or the deadline passed.
    """
    report(f"building {tag}")
    lines: list[str] = []

    def start() -> Any:
        return client.api.build(
            fileobj=context,
            custom_context=True,
            tag=tag,
            buildargs=dict(arguments),
            decode=True,
            rm=True,
            forcerm=True,
            nocache=no_cache,
            timeout=deadline.at_most(1e6),
        )

    try:
        with mapped_errors("building the image", image=tag):
            failure = _followed(client, start, lines, report, deadline)
    except ExecutorStartError as error:
        if type(error) is not ExecutorStartError:
            raise  # no engine, which is another matter
        raise ImageBuildError(str(error)) from error
    if failure is _TOO_LONG:
        raise ImageBuildError(
            f"image {tag} was not built in build_timeout_seconds={deadline.seconds}; raise it if "
            f"the build only needs longer. The last lines:\n{words_of(lines)}"
        )
    if failure is not None:
        raise ImageBuildError(failure_message(tag, arguments, failure, lines))


def pull(client: Any, tag: str, report: Report, deadline: Deadline) -> None:
    """Fetch an image from its registry.

    Raises:
        ImageBuildError: it could not be fetched in time.
        ExecutorStartError: it cannot be had.
    """
    report(f"pulling {tag}")
    lines: list[str] = []
    repository, version = tag, None if "@" in tag else "latest"
    if version and ":" in tag.rpartition("/")[2]:
        repository, _, version = tag.rpartition(":")

    def start() -> Any:
        # The engine may answer only when the registry has, and docker-py waits for that for ever.
        with post_patience(client.api, deadline.at_most(1e6)):
            return client.api.pull(repository, tag=version, stream=True, decode=True)

    try:
        with mapped_errors("pulling the image", image=tag):
            failure = _followed(client, start, lines, report, deadline)
    except ExecutorStartError as error:
        raise ExecutorStartError(_not_to_be_had(tag, error)) from error
    if failure is _TOO_LONG:
        raise ImageBuildError(
            f"image {tag} was not pulled in build_timeout_seconds={deadline.seconds}; see whether "
            "its registry answers, or raise it if the pull only needs longer. The last lines:\n"
            + (words_of(lines) or "(the engine has said nothing)")
        )
    if failure is not None:
        raise ExecutorStartError(_not_to_be_had(tag, failure))


def _not_to_be_had(tag: str, why: object) -> str:
    return (
        f"image {tag!r} is not on the engine and cannot be pulled: build it, load it, or name "
        f"another ({why})"
    )


_TOO_LONG = "too long"


def _followed(
    client: Any, start: Callable[[], Any], lines: list[str], report: Report, deadline: Deadline
) -> str | None:
    """Read what the engine says of its work to the end; what failed, or ``None``."""
    failure: str | None = None
    responses: list[Any] = []

    def keep(response: Any, *_: Any, **__: Any) -> None:
        responses.append(response)

    hooks = client.api.hooks.setdefault("response", [])
    hooks.append(keep)
    try:
        events = start()
        while True:
            try:
                # The engine is silent as long as a step is, so the wait is as long as the deadline.
                _set_patience(responses, deadline.at_most(1e6))
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
        hooks.remove(keep)
        for response in responses:
            _hang_up(response)


def _socket_of(response: Any) -> Any:
    with contextlib.suppress(AttributeError):
        return response.raw._fp.fp.raw._sock
    return None


def _set_patience(responses: Sequence[Any], seconds: float) -> None:
    """docker-py's own limit is for each piece; what counts here is the whole."""
    for response in responses:
        with contextlib.suppress(Exception):
            _socket_of(response).settimeout(max(0.001, seconds))


def _hang_up(response: Any) -> None:
    # The engine ends a build nobody listens to; closing alone may leave the connection open.
    with contextlib.suppress(Exception):
        _socket_of(response).shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(Exception):
        response.close()


@contextlib.contextmanager
def one_builder(tag: str, deadline: Deadline) -> Iterator[None]:
    """Let one process of this machine build ``tag`` at a time; without file locks, all may.

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
    # O_NOFOLLOW: the folder is everybody's, and a link planted there must not be opened.
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
