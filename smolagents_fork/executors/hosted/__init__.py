"""Upstream's executors on hosted services, with repairs, under upstream's class names."""

from .e2b_executor import E2BExecutor

__all__ = ["E2BExecutor"]

# Saved agents name the class by its public place.
E2BExecutor.__module__ = __name__
