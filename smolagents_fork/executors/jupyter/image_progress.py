"""Display of an image's build: its steps, the time since it began, and its size."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...sandboxes.provisioner import BUILT, STEP, Report
from ...terminal import TerminalConsole, harmless

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["shown_progress"]


@contextlib.contextmanager
def shown_progress(plain: Report | None = None) -> Iterator[Report]:
    """Yield a report that shows a build: a moving line on a terminal, a line a step elsewhere.

    Args:
        plain: takes the lines where there is no terminal; ``None``: standard error.
    """
    if not sys.stderr.isatty():
        yield _steps(plain or (lambda line: print(harmless(line), file=sys.stderr, flush=True)))
        return
    with contextlib.ExitStack() as stack:
        shown: list[_MovingLine] = []

        def report(line: str) -> None:
            # The display begins with the first line: nothing is shown when nothing is built.
            if not shown:
                shown.append(_MovingLine())
                stack.callback(shown[0].close)
            shown[0].show(line)

        yield report


def _steps(plain: Report) -> Report:
    """Return a report that passes on the steps only, with the seconds since the first one."""
    begun: list[float] = []

    def report(line: str) -> None:
        begun.append(time.monotonic())
        del begun[1:]
        if line.startswith(STEP):
            seconds = time.monotonic() - begun[0]
            plain(f"[{seconds:5.1f} s] {line.removeprefix(STEP)}")

    return report


class _MovingLine:
    """A line on a terminal that shows the step, its last detail and the time."""

    def __init__(self) -> None:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        one_line = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        self._progress: Progress = Progress(
            SpinnerColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False, table_column=one_line),
            console=TerminalConsole(stderr=True),
            expand=True,
            transient=True,
        )
        self._task: TaskID = self._progress.add_task("", total=None)
        self._step = ""
        self._progress.start()

    def show(self, line: str) -> None:
        """Show a line of progress; images that are done stay on the terminal."""
        if line.startswith(BUILT):
            self._progress.console.print(line.removeprefix(STEP))
        if line.startswith(STEP):
            self._step = text = line.removeprefix(STEP)
        else:
            text = f"{self._step}: {line.strip()}"
        self._progress.update(self._task, description=text)

    def close(self) -> None:
        """Remove the line."""
        self._progress.stop()
