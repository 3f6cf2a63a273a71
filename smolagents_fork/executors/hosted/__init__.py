"""Upstream's executors on hosted services, with repairs, under upstream's class names."""

from .blaxel_executor import BlaxelExecutor
from .e2b_executor import E2BExecutor
from .modal_executor import ModalExecutor

__all__ = ["BlaxelExecutor", "E2BExecutor", "ModalExecutor"]

# Saved agents name the class by its public place.
for _executor in (BlaxelExecutor, E2BExecutor, ModalExecutor):
    _executor.__module__ = __name__
