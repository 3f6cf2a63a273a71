"""Options of every pool; the others are the executor's, of its sandbox."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from ...distributions.requirements import requirements_for
from ...errors import ConfigurationError
from ...options import accept
from ...options.option import Options, option
from ...options.words import IMPORTS, PACKAGES

__all__ = ["PoolOptions", "PooledArguments"]


def _imports(name: str, value: Any) -> tuple[str, ...]:
    imports = accept.names(name, value)
    requirements_for(imports)
    return imports


@dataclass(frozen=True)
class PoolOptions(Options):
    """Numbers and times of a pool."""

    by_position: ClassVar[tuple[str, ...]] = (
        "min_size",
        "max_size",
        "idle_seconds",
        "acquire_timeout_seconds",
    )

    min_size: int = option(
        1,
        "sandboxes kept ready",
        accept.whole(0),
        form="sandboxes",
        elsewhere="size min_idle prewarm warm",
    )
    max_size: int = option(
        8,
        "maximum number of sandboxes ready, starting and in use together",
        accept.count,
        form="sandboxes",
        elsewhere="size max_containers max_sandboxes max_workers pool_size",
    )
    idle_seconds: float = option(
        300.0,
        "time after which a ready sandbox above `min_size` is removed",
        accept.seconds,
        form="seconds",
        elsewhere="idle idle_timeout max_idle",
    )
    acquire_timeout_seconds: float = option(
        60.0,
        "time an executor waits for a sandbox; then an error with the pool's state",
        accept.seconds,
        form="seconds",
        elsewhere="acquire_timeout wait_timeout",
    )
    _: KW_ONLY
    concurrent_starts: int = option(
        2, "maximum number of starts at the same time", accept.count, form="sandboxes"
    )
    additional_imports: Sequence[str] = option(
        (),
        "packages of the pool's sandboxes; an executor that takes one may ask for no others",
        _imports,
        form="import names",
        elsewhere=f"{IMPORTS} {PACKAGES}",
    )
    max_per_tenant: int | None = option(
        None,
        "maximum number in use by executors with the same `tenant`; `None`: no limit but "
        "`max_size`",
        accept.count_or_none,
        form="sandboxes",
    )
    on_demand: Callable[[int, int], object] | None = option(
        None,
        "called as `on_demand(needed, capacity)` when executors have to wait, in a thread of the "
        "pool: `needed` sandboxes are in use or would be if there were enough, `capacity` is "
        "`max_size`. Its errors are logged",
        accept.function_or_none,
        form="a function",
    )

    def check_together(self) -> None:
        """Refuse to keep more sandboxes ready than there may be."""
        super().check_together()
        if self.min_size > self.max_size:
            raise ConfigurationError(
                f"min_size={self.min_size} is more than max_size={self.max_size}: lower the first, "
                "or raise the second"
            )


@dataclass(frozen=True, kw_only=True)
class PooledArguments(Options):
    """Arguments of an executor that may take its sandbox from a pool."""

    tenant: str = option(
        "",
        "whose quota of the pool the sandbox counts for (`max_per_tenant`)",
        accept.tenant,
        form="a name",
    )
    #: A sandbox that a pool has given; not an option.
    ready: Any = None
