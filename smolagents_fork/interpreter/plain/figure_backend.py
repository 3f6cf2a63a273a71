"""Backend of matplotlib whose ``show`` displays figures; chosen by ``MPLBACKEND``.

Source: matplotlib's documentation of backends written outside it, "module://" names.
"""

from __future__ import annotations

from typing import Any

from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

from .plain_engine import show_all_figures

__all__ = ["FigureCanvas", "FigureManager", "show"]

FigureCanvas = FigureCanvasAgg
FigureManager = FigureManagerBase


def show(*_options: Any, **_keywords: Any) -> None:
    """Display and close the open figures."""
    show_all_figures()
