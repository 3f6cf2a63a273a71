"""Arguments that the constructors of executors share, as upstream's contract for plug-ins has them.

Source: upstream's issue 2722: ``cls(additional_authorized_imports, logger, **executor_kwargs)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..options import accept
from ..options.option import Options, option
from ..options.words import IMPORTS, PACKAGES

__all__ = ["Arguments"]


@dataclass(frozen=True)
class Arguments(Options):
    """Arguments that every executor takes by position."""

    by_position: ClassVar[tuple[str, ...]] = ("additional_authorized_imports", "logger")

    additional_authorized_imports: Sequence[str] = option(
        (),
        'modules the code may import besides the built-in list; `["*"]`: any that is installed',
        accept.names,
        form="import names",
        elsewhere=f"{IMPORTS} {PACKAGES}",
    )
    logger: Any = option(
        None,
        "takes lines of the executor's; `None`: Python's logger `smolagents_fork`",
        accept.logger,
        form="upstream's `AgentLogger`",
    )
