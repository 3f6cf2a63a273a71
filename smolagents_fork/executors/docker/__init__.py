"""The executor that runs code in a Jupyter kernel in a container, and its pool."""

from ..pools.pool_queue import PoolStats
from .docker_pool import DockerPool
from .executor import DockerExecutor

__all__ = ["DockerExecutor", "DockerPool", "PoolStats"]

# Saved agents name the class by its public place.
DockerExecutor.__module__ = DockerPool.__module__ = __name__
