"""The executor that runs code in a Jupyter kernel in a container, and its pool."""

from .executor import DockerExecutor
from .pool import DockerPool, PoolStats

__all__ = ["DockerExecutor", "DockerPool", "PoolStats"]

# Saved agents name the class by its public place.
DockerExecutor.__module__ = DockerPool.__module__ = __name__
