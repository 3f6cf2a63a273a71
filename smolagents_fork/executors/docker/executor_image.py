"""Image of an executor, and the display of its build."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...deadline import Deadline
from ...distributions.requirements import requirements_for
from ...sandboxes.docker.engine import mapped_errors
from ...sandboxes.docker.images import image_plans
from .option_groups import ImageOptions

__all__ = ["ExecutorImage", "Report", "shown_progress"]

Report = Callable[[str], None]


class ExecutorImage:
    """The image of one executor or pool.

    Args:
        client: docker-py client.
        options: of the image.
    """

    def __init__(self, client: Any, options: ImageOptions) -> None:
        self._client = client
        self._options = options

    def ensure(self, imports: Sequence[str], *, report: Report, rebuild: bool = False) -> str:
        """Have the image these options ask for, and return its name.

        Args:
            imports: import names the code may use; what provides them is installed.
            report: gets one line at a time while something is built.
            rebuild: build again, without the engine's cache.

        Raises:
            ImageBuildError: a build failed.
            ConfigurationError: an entry is not a requirement.
        """
        client, options = self._client, self._options
        image, name = options.image, options.image_name
        if image is None and name is not None and not options.build_new_image:
            # Upstream's meaning of build_new_image=False: what is there under that name is taken.
            image = name if image_plans.exists(client, name) else None
        wanted = image_plans.plan(
            base_image=options.base_image,
            dockerfile_content=options.dockerfile_content if image is None else None,
            image=image,
            requirements=requirements_for(imports, options.requirements),
        )
        tag = image_plans.ensure(
            client,
            wanted,
            report=report,
            ca_bundle=options.ca_bundle,
            rebuild=rebuild,
            deadline=Deadline(options.build_timeout_seconds),
        )
        if name is not None and image is None:
            repository, _, version = name.partition(":")
            with mapped_errors("naming the image", image_name=name):
                client.api.tag(tag, repository, version or "latest")
        return tag


@contextlib.contextmanager
def shown_progress(plain: Report | None = None) -> Iterator[Report]:
    """A report that shows a build: one moving line on a terminal, plain lines elsewhere.

    Args:
        plain: gets the lines where there is no terminal; ``None``: standard error.
    """
    if not sys.stderr.isatty():
        yield plain or (lambda line: print(line, file=sys.stderr, flush=True))
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    with contextlib.ExitStack() as stack:
        status: list[Any] = []

        def report(line: str) -> None:
            # The display begins with the first line: nothing is shown when nothing is built.
            if not status:
                status.append(stack.enter_context(console.status("")))
            status[0].update(escape(line[: max(20, console.width - 4)]))

        yield report
