"""The executor that runs code in a Jupyter kernel in a container, and its pool."""

from ...upstream import DockerExecutor as _UpstreamDockerExecutor
from ..pools.pool_queue import PoolStats
from .docker_pool import DockerPool
from .executor import DockerExecutor

__all__ = ["DockerExecutor", "DockerPool", "PoolStats"]

# Saved agents name the class by its public place.
DockerExecutor.__module__ = DockerPool.__module__ = __name__
# Code that asks for upstream's class, or for its base, accepts the fork's.
_UpstreamDockerExecutor.register(DockerExecutor)
