"""Executors on a Ray cluster: what ``executor_type="ray"`` means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .docker.engine_factory import EngineFactory
from .process import ProcessExecutor
from .process.process_options import ProcessArguments, ProcessOptions

__all__ = ["RayFactory"]


class RayFactory(EngineFactory):
    """Makes an executor for containers or for processes on a cluster, as its engine says."""

    def __call__(
        self, additional_authorized_imports: Sequence[str], logger: Any, **keywords: Any
    ) -> Any:
        """Make an executor; see :meth:`EngineFactory.__call__`.

        Args:
            additional_authorized_imports: Import names as for the executor.
            logger: Logger as for the executor.
            **keywords: Keywords of the engine, and of ``DockerExecutor`` or ``ProcessExecutor``.
        """
        sandbox = getattr(keywords.get("engine"), "sandbox", keywords.get("sandbox"))
        if sandbox != "process":
            return super().__call__(additional_authorized_imports, logger, **keywords)
        keywords = self.with_engine(keywords, ProcessArguments, ProcessOptions)
        return ProcessExecutor(additional_authorized_imports, logger, **keywords)
