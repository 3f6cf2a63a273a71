"""Display of an image's build."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...sandboxes.provisioner import Report

if TYPE_CHECKING:
    from rich.status import Status

__all__ = ["shown_progress"]


@contextlib.contextmanager
def shown_progress(plain: Report | None = None) -> Iterator[Report]:
    """Yield a report that shows a build: one moving line on a terminal, plain lines elsewhere.

    Args:
        plain: takes the lines where there is no terminal; ``None``: standard error.
    """
    if not sys.stderr.isatty():
        yield plain or (lambda line: print(line, file=sys.stderr, flush=True))
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    with contextlib.ExitStack() as stack:
        status: list[Status] = []

        def report(line: str) -> None:
            # The display begins with the first line: nothing is shown when nothing is built.
            if not status:
                status.append(stack.enter_context(console.status("")))
            status[0].update(escape(line[: max(20, console.width - 4)]))

        yield report
