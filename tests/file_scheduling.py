"""The files of a run by worker: few workers start what the files of one folder share."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling

__all__ = ["SHARED_IN", "SharingFiles"]

#: Folders whose files share executors, which each worker starts anew.
SHARED_IN = ("tests/contract/executors/", "tests/integration/hosted/", "tests/integration/ray/")
#: Workers that run the files of such a folder as long as the others have files of their own.
SHARERS = 2


class SharingFiles(LoadFileScheduling):
    """``--dist loadfile`` in which a worker leaves a folder's files to those that began with it."""

    def __init__(self, config: Any, log: Any = None) -> None:
        """Begin without a worker in any folder."""
        super().__init__(config, log)
        self._sharers: dict[str, list[Any]] = {folder: [] for folder in SHARED_IN}

    def _assign_work_unit(self, node: Any) -> None:
        self.workqueue.move_to_end(self._suitable(node), last=False)
        super()._assign_work_unit(node)

    def _suitable(self, node: Any) -> str:
        """Return the first file that suits the worker, or the first of all: none is ever idle."""
        for file in self.workqueue:
            folder = next((name for name in SHARED_IN if file.startswith(name)), None)
            if folder is None or node in self._sharers[folder]:
                return file
            if len(self._sharers[folder]) < SHARERS:
                self._sharers[folder].append(node)
                return file
        return next(iter(self.workqueue))
