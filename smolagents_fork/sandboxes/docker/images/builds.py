"""Builds of Dockerfiles, and pulls of images, by the engine under a deadline."""

from __future__ import annotations

import contextlib
import io
import os
import re
import socket
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....deadline import Deadline
from ....errors import ExecutorStartError, ImageBuildError
from ....text.redaction import without_passwords
from ...pip_settings import index_settings, secret_settings
from ...provisioner import STEP, Report
from ..credential_helpers import find_missing_helpers
from ..engine import mapped_errors, one_call_client
from ..engine_address import EngineAddress
from .build_errors import engine_failure, late_message
from .build_record import recorded_build
from .image_plans import ImagePlan
from .image_reference import parse_reference

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.api.client import APIClient

__all__ = ["Build", "archive_files", "build_dockerfile", "pull"]

_STEP_BEGINS = re.compile(r"(?:STEP|Step) \d+(?:/\d+)? ?: ")
# Last lines that an error may show.
_KEPT_LINES = 40


@dataclass(frozen=True)
class Build:
    """Preparation of an image and of those that it is made from: where, for how long, and for whom.

    Attributes:
        client: docker-py client.
        address: Address of its engine.
        report: takes one line at a time while something is built.
        deadline: Deadline for pulling, building, and waiting for another process that builds the
            same.
        certificates: certificates that pip trusts; empty for its own.
        rebuild: build even if the engine has it, without what was built before.
        lines: the last lines of the image that is built now, without passwords.
    """

    client: DockerClient
    address: EngineAddress
    report: Report
    deadline: Deadline
    certificates: bytes = b""
    rebuild: bool = False
    lines: list[str] = field(default_factory=list)

    def begin(self, text: str) -> None:
        """Report that an image is begun."""
        self.report(f"{STEP}{text}")
        self.lines.clear()

    def take_line(self, line: str) -> None:
        """Report a line of the build, and keep it for an error.

        Args:
            line: Line without a line break.
        """
        line = without_passwords(line.rstrip())
        self.report(f"{STEP}{line}" if _STEP_BEGINS.match(line) else line)
        self.lines.append(line)
        del self.lines[:-_KEPT_LINES]


def build_dockerfile(build: Build, image_plan: ImagePlan) -> None:
    """Build an image from a Dockerfile, and remove what the build leaves beside it.

    After the deadline the connection is closed, at which the engine ends the build and removes its
    containers.

    Args:
        image_plan: plan of the image, whose files are the context.

    Raises:
        ImageBuildError: a step failed, or the deadline passed.
    """
    settings = index_settings()
    for variable in secret_settings(settings):
        # The engine writes build arguments into the image's history.
        build.report(
            f"{variable} has a user name or a password and is not given to the Dockerfile; "
            "name the packages in additional_authorized_imports to install them with it"
        )
        del settings[variable]
    context = archive_files({**image_plan.files, "ca.pem": build.certificates})

    def start(api: APIClient) -> Any:
        return api.build(
            fileobj=io.BytesIO(context),
            custom_context=True,
            tag=image_plan.tag,
            buildargs=settings,
            decode=True,
            rm=True,
            forcerm=True,
            nocache=build.rebuild,
            timeout=build.deadline.at_most(1e6),  # type: ignore[arg-type]  # requests takes a float
        )

    try:
        with (
            mapped_errors("building the image", image=image_plan.tag),
            recorded_build(build.client, build.address) as record,
        ):
            failure = _follow(build, start, record.take)
    except TimeoutError:
        raise ImageBuildError(late_message(image_plan.tag, build.deadline, build.lines)) from None
    except ExecutorStartError as error:
        if type(error) is not ExecutorStartError:
            raise  # EngineUnavailableError: not a failure of the build
        raise ImageBuildError(str(error)) from None
    if failure:
        raise ImageBuildError(engine_failure(image_plan.tag, failure, build.lines))


def archive_files(files: Mapping[str, bytes], folder: str = "") -> bytes:
    """Return files as a tar archive; equal files give equal archives."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in sorted(files.items()):
            # Fixed times and owners: the engine's layer cache compares them.
            entry = tarfile.TarInfo(os.path.join(folder, name))
            entry.size, entry.mode, entry.mtime = len(data), 0o644, 0
            archive.addfile(entry, io.BytesIO(data))
    return target.getvalue()


def pull(build: Build, tag: str) -> None:
    """Fetch an image from its registry.

    Raises:
        ImageBuildError: it could not be fetched in time.
        ExecutorStartError: the registry does not give it.
        ConfigurationError: it is not a reference.
    """
    build.begin(f"pulling {tag}")
    reference = parse_reference("image", tag)

    def start(api: APIClient) -> Any:
        repository = reference.repository
        return api.pull(repository, tag=reference.version, stream=True, decode=True)

    why: object
    try:
        with mapped_errors("pulling the image", image=tag):
            why = _follow(build, start)
    except TimeoutError:
        message = late_message(tag, build.deadline, build.lines, verb="pulled")
        raise ImageBuildError(message) from None
    except ExecutorStartError as error:
        why = error
    if why:
        missing = find_missing_helpers()
        raise ExecutorStartError(
            f"image {tag!r} is not on the engine and cannot be pulled: build it, load it, or name "
            f"another ({why})" + ("" if missing is None else f"; {missing}")
        )


def _follow(
    build: Build,
    start: Callable[[APIClient], Any],
    take: Callable[[str], None] = lambda _line: None,
) -> str:
    """Read the engine's progress to its end; return the error in it, empty without one.

    Args:
        start: makes the request, and returns its events.
        take: takes each line, too.

    Raises:
        TimeoutError: the deadline has passed.
    """
    failure, deadline = "", build.deadline
    responses: list[Any] = []
    # The engine may answer a pull only when the registry has, and docker-py sets no limit for that.
    api = one_call_client(build.client.api, deadline.at_most(1e6))
    api.hooks["response"].append(lambda response, *_, **__: responses.append(response))
    try:
        events = start(api)
        while not deadline.expired():
            for response in responses:
                # A step may print nothing for long, so the wait is as long as the deadline;
                # docker-py's own limit starts again at every piece.
                with contextlib.suppress(Exception):
                    response.raw.connection.sock.settimeout(max(0.001, deadline.at_most(1e6)))
            event = next(events, None)
            if event is None:
                return failure
            failure = without_passwords(str(event.get("error") or "")) or failure
            for line in str(event.get("stream") or event.get("status") or "").splitlines():
                if line.strip():
                    take(line.rstrip())
                    build.take_line(line)
    except Exception:
        if not deadline.expired():
            raise
    finally:
        for response in responses:
            # The engine ends a build whose client has gone; closing alone may leave it open.
            with contextlib.suppress(Exception):
                response.raw.connection.sock.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(Exception):
                response.close()
    raise TimeoutError
