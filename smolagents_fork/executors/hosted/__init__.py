"""Executors on hosted services, under upstream's class names."""

from ... import upstream as _upstream
from .blaxel_executor import BlaxelExecutor
from .e2b_executor import E2BExecutor
from .modal_executor import ModalExecutor

__all__ = ["BlaxelExecutor", "E2BExecutor", "ModalExecutor"]

for _executor in (BlaxelExecutor, E2BExecutor, ModalExecutor):
    # Saved agents name the class by its public place.
    _executor.__module__ = __name__
    # Code that asks for upstream's class, or for its base, accepts the fork's.
    getattr(_upstream, _executor.__name__).register(_executor)
