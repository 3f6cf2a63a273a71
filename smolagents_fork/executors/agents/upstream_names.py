"""Executors that ``smolagents`` exports under upstream's names: patch ``executor-names``.

``smolagents.remote_executors`` keeps upstream's own classes.
"""

from __future__ import annotations

from ...upstream import DockerExecutor as UpstreamDockerExecutor
from ..registry import built_in

__all__ = [
    "BlaxelExecutor",
    "DockerExecutor",
    "E2BExecutor",
    "ModalExecutor",
    "UpstreamDockerExecutor",
]

BlaxelExecutor = built_in("blaxel")
DockerExecutor = built_in("docker")
E2BExecutor = built_in("e2b")
ModalExecutor = built_in("modal")

# Code that asks for upstream's class, or for its base, accepts the fork's. The classes that run on
# hosted services derive from upstream's.
UpstreamDockerExecutor.register(DockerExecutor)
