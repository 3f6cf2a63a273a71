"""Folder on the host that figures of programs are saved in."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from ..displays import png_of
from ..errors import ConfigurationError

__all__ = ["FigureFolder"]

# Limits of what one executor's programs may write to the host's disk.
_MOST_FILES = 1000
_MOST_BYTES = 1 << 30


class FigureFolder:
    """Saves figures as ``figure-0001.png`` and so on; never writes over a file.

    Args:
        path: the folder, made for the first figure if it is missing; ``None``: figures are not
            saved.

    One folder takes at most 1000 files and 1 GiB from an executor.

    Raises:
        ConfigurationError: the folder cannot be made, or cannot be written to.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path: Path | None = None
        self._number = self._files = self._bytes = 0
        if path is None:
            return
        self.path = Path(path).absolute()
        # It is not made yet, for the start of the executor may fail.
        present = next(
            candidate for candidate in (self.path, *self.path.parents) if os.path.lexists(candidate)
        )
        if not present.is_dir():
            raise ConfigurationError(f"figures_dir={os.fspath(path)!r}: {present} is not a folder")
        if not os.access(present, os.W_OK | os.X_OK):
            raise ConfigurationError(f"figures_dir={os.fspath(path)!r}: {present} is read-only")

    def save(self, image: Any) -> str | None:
        """Save a PIL image as PNG; return its path, or ``None`` without a folder.

        Args:
            image: within the limits of a display.

        Raises:
            OSError: it could not be written, or is past a limit.
        """
        if self.path is None:
            return None
        if self._files >= _MOST_FILES:
            raise OSError(f"one executor writes at most {_MOST_FILES} figures")
        # Nothing of a program's bytes is on the disk.
        png = png_of(image)
        if png is None:
            raise OSError("Pillow cannot write it as PNG")
        if self._bytes + len(png) > _MOST_BYTES:
            raise OSError(f"one executor writes at most {_MOST_BYTES} bytes of figures")
        self.path.mkdir(parents=True, exist_ok=True)
        while True:
            self._number += 1
            name = self.path / f"figure-{self._number:04}.png"
            try:
                with open(name, "xb") as file:
                    file.write(png)
            except FileExistsError:
                continue
            except OSError:
                with contextlib.suppress(OSError):
                    name.unlink()
                raise
            self._files += 1
            self._bytes += len(png)
            return str(name)
