"""Executors on one kind of engine, for the engines that ``executor_type`` takes by name."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar

from ..errors import ConfigurationError
from ..options.option import Options, about, words_of
from ..options.unknown_names import check_known
from ..sandboxes.engine_protocol import Engine
from .docker import DockerExecutor
from .docker.arguments import DockerArguments
from .docker.options import DockerOptions
from .process import ProcessExecutor
from .process.process_options import ProcessArguments, ProcessOptions

__all__ = ["EngineFactory"]


class EngineFactory:
    """Makes executors on one kind of engine: what ``executor_type`` means by an engine's name.

    Args:
        engine_class: Class of the engine; its constructor reads what is not given from the
            environment.
    """

    supports_managed_agents: ClassVar[bool] = True

    def __init__(self, name: str, engine_class: type[Engine]) -> None:
        self._name = name
        self._engine_class = engine_class

    def __call__(
        self, additional_authorized_imports: Sequence[str], logger: Any, **keywords: Any
    ) -> Any:
        """Make an executor for containers, or for processes where the engine is to have them.

        Args:
            **keywords: Keywords of the engine's constructor, and of ``DockerExecutor`` or
                ``ProcessExecutor``. Both get an argument that both have, and the executor alone if
                an engine or a pool is given.

        Raises:
            ConfigurationError: an unknown keyword, an engine of another kind, or arguments for an
                engine beside one.
        """
        imports = additional_authorized_imports
        if getattr(keywords.get("engine"), "sandbox", keywords.get("sandbox")) == "process":
            keywords = self._with_engine(keywords, ProcessArguments, ProcessOptions)
            return ProcessExecutor(imports, logger, **keywords)
        keywords = self._with_engine(keywords, DockerArguments, DockerOptions)
        return DockerExecutor(imports, logger, **keywords)

    def _with_engine(
        self, keywords: dict[str, Any], arguments: type[Options], options: type[Options]
    ) -> dict[str, Any]:
        """Return the keywords of an executor, with the engine in place of the engine's keywords.

        Args:
            keywords: Keywords of the engine's constructor and of the executor.
            arguments: Arguments of the executor.
            options: Options of its sandboxes; one that the engine has, too, is the engine's.

        Raises:
            ConfigurationError: see :meth:`__call__`.
        """
        parameters = inspect.signature(self._engine_class).parameters
        of_executor = about(arguments)
        known = {*parameters, *of_executor}
        owner = f"executor_type={self._name!r}"
        check_known(owner, keywords, known, lambda: words_of(arguments))
        shared = (of_executor.keys() - about(options).keys()) & parameters.keys()
        both = {name: keywords[name] for name in shared if name in keywords}
        own = {n: keywords.pop(n) for n in parameters.keys() - shared if n in keywords}
        pool = keywords.get("pool")
        engine = keywords.pop("engine", None)
        if engine is None:
            engine = getattr(pool, "engine", None)
        if engine is None:
            engine = self._engine_class(**own, **both)
        elif own:
            raise ConfigurationError(
                f"{', '.join(sorted(own))}: the engine comes from engine= or the pool, so pass "
                f"these to {self._engine_class.__name__}(...)"
            )
        elif not isinstance(engine, self._engine_class):
            raise ConfigurationError(
                f"executor_type={self._name!r} with {engine!r}: pass a "
                f"{self._engine_class.__name__}, or executor_type='docker' with engine="
            )
        return {**keywords, "engine": engine}
