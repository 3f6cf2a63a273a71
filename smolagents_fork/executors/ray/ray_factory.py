"""Executors on a Ray cluster: what ``executor_type="ray"`` means."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar

from ...errors import ConfigurationError
from ...options.option import about, words_of
from ...options.unknown_names import check_known
from ...ray_cluster.ray_engine import RayEngine
from ..docker.engine_factory import EngineFactory
from ..process import ProcessExecutor
from ..process.process_options import ProcessArguments

__all__ = ["RayFactory"]


class RayFactory:
    """Makes an executor for containers or for processes on a cluster, as its engine says.

    Args:
        name: Name that ``executor_type`` takes.
        engine_class: Class of the engine.
    """

    supports_managed_agents: ClassVar[bool] = True

    def __init__(self, name: str, engine_class: type[RayEngine]) -> None:
        self._name = name
        self._engine_class = engine_class

    def __call__(
        self, additional_authorized_imports: Sequence[str], logger: Any, **keywords: Any
    ) -> Any:
        """Make an executor.

        Args:
            additional_authorized_imports: Import names as for the executor.
            logger: Logger as for the executor.
            **keywords: Keywords of :class:`RayEngine` and of ``DockerExecutor`` or
                ``ProcessExecutor``. A name that both have is the engine's.

        Raises:
            ConfigurationError: an unknown keyword, an engine of another kind, or arguments for an
                engine beside one.
        """
        engine = keywords.get("engine")
        sandbox = getattr(engine, "sandbox", keywords.get("sandbox"))
        if sandbox != "process":
            containers = EngineFactory(self._name, self._engine_class)
            return containers(additional_authorized_imports, logger, **keywords)
        parameters = inspect.signature(self._engine_class).parameters
        known = {*parameters, *about(ProcessArguments)}
        owner = f"executor_type={self._name!r}"
        check_known(owner, keywords, known, lambda: words_of(ProcessArguments))
        own = {name: keywords.pop(name) for name in parameters if name in keywords}
        if engine is None:
            keywords["engine"] = self._engine_class(**own)
        elif own:
            raise ConfigurationError(
                f"{', '.join(sorted(own))}: an engine is given as engine=, so give these to "
                f"{self._engine_class.__name__}(...)"
            )
        return ProcessExecutor(additional_authorized_imports, logger, **keywords)
