"""Parts of the suite that only ``WHOLE_CONTRACT=1`` runs, as the nightly workflow does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["WHOLE", "every"]

#: Whether this run is to show everything, however long it takes.
WHOLE = os.environ.get("WHOLE_CONTRACT") == "1"

T = TypeVar("T")


def every(step: int, things: Sequence[T], first: int = 0) -> Sequence[T]:
    """Return every ``step``-th of some things from the ``first``, and all in a whole run."""
    return things if WHOLE else things[first::step]
