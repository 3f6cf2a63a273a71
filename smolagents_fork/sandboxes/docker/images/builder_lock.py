"""Lock that lets one process of a user build an image at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ....deadline import Deadline
from ....errors import ImageBuildError
from ....folders.user_folder import locked_file, user_folder
from ...provisioner import STEP, Report

__all__ = ["one_builder"]


@contextlib.contextmanager
def one_builder(tag: str, deadline: Deadline, report: Report) -> Iterator[None]:
    """Let one process of this machine build ``tag`` at a time; no-op without file locks.

    Args:
        tag: Tag of the image.
        deadline: Deadline of the wait for another process.
        report: takes a line when this one has to wait.

    Raises:
        ImageBuildError: another process builds it and was not done in time.
    """

    def waiting() -> None:
        report(f"{STEP}waiting for another process that builds {tag}")

    name = f"build-{tag.rpartition(':')[2]}.lock"
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked_file(name, deadline, waiting))
        except TimeoutError:
            raise ImageBuildError(
                f"image {tag} is being built by another process of this user, which was not done "
                f"in build_timeout_seconds={deadline.seconds} (lock: {name} in {user_folder()})"
            ) from None
        yield
