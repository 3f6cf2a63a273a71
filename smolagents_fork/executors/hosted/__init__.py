"""Upstream's executors on hosted services, with repairs, under upstream's class names."""

from .blaxel_executor import BlaxelExecutor
from .e2b_executor import E2BExecutor

__all__ = ["BlaxelExecutor", "E2BExecutor"]

# Saved agents name the class by its public place.
BlaxelExecutor.__module__ = E2BExecutor.__module__ = __name__
