"""Packages asked for when the container is there: into a new image, or into the container."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from ...distributions.requirements import requirements_for
from ...errors import ConfigurationError, ExecutorError
from ...jupyter.kernel.bootstrap import packages_request
from ...sandboxes.docker.images.image_plans import ca_bytes, index_settings
from .executor_image import Report, shown_progress
from .options import Options
from .session import KernelSession

__all__ = ["Packages"]

# How much longer than pip's own limit the answer may take.
_GRACE_SECONDS = 15.0


class Packages:
    """Packages that one executor installed besides those of its image.

    Args:
        options: of the executor.
        build: has an image with these import names, and returns its name; gets a report of lines.
    """

    def __init__(self, options: Options, build: Callable[[Sequence[str], Report], str]) -> None:
        self._options = options
        self._build = build
        self._placed: list[str] = []

    def add(
        self,
        session: KernelSession,
        names: Sequence[str],
        *,
        present: Sequence[str],
        must_stay: str | None,
        report: Report,
    ) -> None:
        """Install what provides the import names ``names``.

        Args:
            session: of the executor; its container is replaced unless it must stay.
            names: import names.
            present: those the image provides.
            must_stay: why the container may not be replaced; ``None`` when it may.
            report: gets one line at a time while an image is built.

        Raises:
            ExecutorError: the container must stay and has no network, or pip failed.
            ConfigurationError: an index address that holds a secret.
        """
        if must_stay is None:
            with shown_progress(report) as shown:
                session.connection.use_image(self._build([*present, *names], shown))
            session.restart()
            return
        if not self._options.container.has_network:
            raise ExecutorError(
                f"install_packages: {', '.join(names)}: {must_stay}, and there is no network to "
                "install from: name them in additional_authorized_imports (a pool's "
                "additional_imports), or pass network='bridge'"
            )
        wanted = [name for name in requirements_for(names) if name not in self._placed]
        if wanted:
            self._place(session, wanted)
            self._placed += wanted

    def prepare(self, session: KernelSession) -> None:
        """Give a fresh kernel the same packages: found in its container, else installed again."""
        if self._placed:
            self._place(session, self._placed)

    def _place(self, session: KernelSession, requirements: Sequence[str]) -> None:
        seconds = self._options.image.build_timeout_seconds
        code, buffers = packages_request(
            requirements=requirements,
            folder=posixpath.join(self._options.container.workdir, ".packages"),
            environment=_without_secrets(index_settings()),
            ca_bundle=ca_bytes(self._options.image.ca_bundle),
            seconds=seconds,
        )
        session.request(code, buffers, "install_packages", seconds=seconds + _GRACE_SECONDS)


def _without_secrets(settings: dict[str, str]) -> dict[str, str]:
    """pip's index settings, when the code may know them.

    Raises:
        ConfigurationError: an address with a user name or a password in it.
    """
    for variable, value in settings.items():
        if any(urlsplit(part).username or urlsplit(part).password for part in value.split()):
            raise ConfigurationError(
                f"install_packages: {variable} holds a user name or a password, which the code in "
                "the container could read: name the packages in additional_authorized_imports, "
                "for which they are used in the image's build only"
            )
    return settings
