"""Lock that lets one process of a user build an image at a time."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ....deadline import Deadline
from ....errors import ImageBuildError
from ...provisioner import STEP, Report

__all__ = ["one_builder"]


@contextlib.contextmanager
def one_builder(tag: str, deadline: Deadline, report: Report) -> Iterator[None]:
    """Let one process of this machine build ``tag`` at a time; no-op without file locks.

    Args:
        tag: of the image.
        deadline: of the wait for another process.
        report: takes a line when this one has to wait.

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
    waits = False
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
                if not waits:
                    report(f"{STEP}waiting for another process that builds {tag}")
                    waits = True
                time.sleep(0.1)
        yield
    finally:
        os.close(handle)
