"""Checks and preparation of an executor, for the command line."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..system.checks import Check, Finding, failed, ok

__all__ = ["Administration", "ClusterPreparation", "Preparation", "run_check"]

_RUN_SECONDS = 60.0


class Administration(ABC):
    """Checks of one executor."""

    @abstractmethod
    def checks(self) -> Sequence[Check]:
        """Return the checks that say whether the executor runs here, in their order."""


class Preparation(Administration):
    """Checks of one executor whose first start builds or fetches something."""

    @abstractmethod
    def setup(self, packages: Sequence[str]) -> str:
        """Build or fetch what the first start would; return the image or folder that starts use.

        Args:
            packages: Packages as in ``additional_authorized_imports``.

        Raises:
            ExecutorError: it cannot be had; says why.
        """


class ClusterPreparation(Administration):
    """Checks of a cluster that is prepared by its administrator."""

    @abstractmethod
    def manifests(self, namespace: str, image: str, warm_pool: str | None) -> str:
        """Return what an administrator applies once, as YAML.

        Args:
            namespace: Namespace of the sandboxes.
            image: Image of a warm pool's pods.
            warm_pool: name of a warm pool to make; ``None``: none.
        """

    @abstractmethod
    def dockerfile(self, packages: Sequence[str]) -> str:
        """Return a Dockerfile of the image.

        Args:
            packages: import names; their distributions are installed.
        """

    @abstractmethod
    def context(self) -> str:
        """Return the folder that the Dockerfile is built in."""


def run_check(make: Callable[[], AbstractContextManager[Any]], *, needs: str = "") -> Check:
    """Return a check that starts an executor and runs one line of code in it.

    Args:
        make: creates the executor, which the end of a ``with`` block closes.
        needs: name of an earlier check.
    """

    def run() -> Finding:
        started = time.monotonic()
        with make() as executor:
            output = executor("1 + 1").output
        if output != 2:
            return failed(f"1 + 1 gave {output!r}", "report this as a bug")
        return ok(f"started and ran a line of code in {time.monotonic() - started:.1f} s")

    return Check("run", run, _RUN_SECONDS, needs)
