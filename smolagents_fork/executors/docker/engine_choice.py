"""Choice of the engine of an executor or a pool."""

from __future__ import annotations

from typing import Protocol

from ...errors import ConfigurationError
from ...sandboxes.docker.docker_engine import DockerEngine
from ...sandboxes.engine_protocol import Engine, check_engine
from .options import DockerOptions

__all__ = ["chosen_engine", "engine_for"]


class _HasEngine(Protocol):
    engine: Engine


def engine_for(engine: object, options: DockerOptions) -> Engine:
    """Return the engine that an argument names, which can start sandboxes with these options.

    Args:
        engine: the argument; ``None``: Docker's engine.
        options: Options of the sandboxes.

    Raises:
        ConfigurationError: it is not an engine, or an option makes no sense there.
    """
    chosen: Engine = DockerEngine() if engine is None else check_engine(engine)
    default = type(options)()
    for name, reason in chosen.refused_options.items():
        # A pool does not have every option of an executor.
        value = getattr(options, name, None)
        if value != getattr(default, name, None):
            raise ConfigurationError(f"{name}={value!r} with {chosen!r}: {reason}")
    return chosen


def chosen_engine(engine: object, pool: _HasEngine | None, options: DockerOptions) -> Engine:
    """Return the engine of an executor.

    Args:
        engine: the executor's argument; ``None``: the pool's, or Docker's.
        pool: the executor's pool, if it has one.
        options: Options of the executor.

    Raises:
        ConfigurationError: as :func:`engine_for`, or another engine than the pool's.
    """
    if pool is None:
        return engine_for(engine, options)
    if engine is not None and engine != pool.engine:
        raise ConfigurationError(
            f"engine={engine!r} is decided by the pool, which has {pool.engine!r}: give it to the "
            "pool"
        )
    return pool.engine
