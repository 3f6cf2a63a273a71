"""Options of an executor whose container comes from a pool."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...distributions.requirements import requirements_for
from ...errors import ConfigurationError
from .options import Options

__all__ = ["options_for"]

# Options of the executor and not of its container: these may differ from the pool's.
_OF_THE_EXECUTOR = (
    "timeout_seconds",
    "startup_timeout_seconds",
    "interrupt_grace_seconds",
    "on_death",
    "on_output",
    "tool_placement",
    "tool_timeout_seconds",
    "max_tool_calls",
)


def options_for(
    asked: Options,
    imports: Sequence[str],
    *,
    of_pool: Options,
    pool: Sequence[str],
    given: Collection[str] = (),
) -> Options:
    """Return the pool's options, with the executor's own taken from ``asked``.

    Args:
        asked: the executor's options.
        imports: names the executor's code may import.
        of_pool: the pool's options.
        pool: import names that the pool's image provides.
        given: names of the options that were given, also if with their default.

    Raises:
        ConfigurationError: the executor asks for another container than the pool's.
    """
    for name in given:
        value, of_the_pool = asked.value(name), of_pool.value(name)
        if name not in _OF_THE_EXECUTOR and value != of_the_pool:
            raise ConfigurationError(
                f"{name}={value!r} is decided by the pool, which has "
                f"{of_the_pool!r}: give it to the pool"
            )
    missing = set(requirements_for(imports)) - set(requirements_for(pool))
    if missing:
        raise ConfigurationError(
            f"{', '.join(sorted(missing))}: not in the pool's additional_imports"
        )
    return of_pool.with_values(
        {name: asked.value(name) for name in _OF_THE_EXECUTOR if name in given}
    )
