"""An engine under test, and the sandboxes that its tests start."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

from ..sandboxes.container_options import ContainerOptions
from ..sandboxes.engine_protocol import Engine
from ..sandboxes.provisioner import ImageSpec, Limits, Provisioner, Sandbox, SandboxSpec

__all__ = ["EngineUnderTest"]

_REMOVE_SECONDS = 120.0


class EngineUnderTest:
    """Connects to an engine for a ``with`` block, and removes the sandboxes that it has started.

    Args:
        engine: Engine to test.
        image: Image that the engine can prepare, with a kernel as ``DockerExecutor`` has it.
        workdir: Folder in a sandbox that programs may write to.
        memory: Limit of each sandbox, with a unit.
        cpus: Limit of each sandbox in cores; ``None``: none, where an engine reserves them.
        start_seconds: Time that a start may take on a busy machine.

    Example:
        >>> from smolagents_fork import DockerEngine
        >>> from smolagents_fork.testing import EngineUnderTest
        >>> under_test = EngineUnderTest(DockerEngine(), memory="512m")
    """

    #: Connection to the engine, inside the block.
    provisioner: Provisioner
    #: Specification of the sandboxes, inside the block.
    spec: SandboxSpec

    def __init__(
        self,
        engine: Engine,
        image: ImageSpec | None = None,
        *,
        workdir: str = "/workspace",
        memory: str = "1500m",
        cpus: float | None = 1.0,
        start_seconds: float = 180.0,
    ) -> None:
        self.engine = engine
        self.image = image or ImageSpec()
        self.start_seconds = start_seconds
        self._workdir, self._limits = workdir, Limits(memory=memory, cpus=cpus)
        self._shared: Sandbox | None = None

    def __enter__(self) -> EngineUnderTest:
        self.provisioner = self.engine.connect(ContainerOptions())
        name = self.provisioner.prepare_image(self.image, report=lambda _line: None)
        # Of all tests: on a busy machine, a lease of a few seconds ends between two of them.
        self.spec = SandboxSpec(name, self._limits, workdir=self._workdir, lease_seconds=60)
        return self

    def __exit__(self, *_: object) -> None:
        self._remove([] if self._shared is None else [self._shared])
        self.provisioner.close()

    @property
    def shared(self) -> Sandbox:
        """One sandbox, for tests that leave it running."""
        if self._shared is None:
            self._shared = self.provisioner.start(self.spec)
        return self._shared

    @contextlib.contextmanager
    def starting(self) -> Iterator[Starter]:
        """Give a function that starts sandboxes, which are removed after the block."""
        starter = Starter(self)
        try:
            yield starter
        finally:
            self._remove(starter.started)

    def _remove(self, sandboxes: list[Sandbox]) -> None:
        for sandbox in sandboxes:
            sandbox.remove()
        assert self.provisioner.wait_until_removed(_REMOVE_SECONDS), "removed sandboxes are there"


class Starter:
    """Starts sandboxes of an engine under test.

    Args:
        under_test: the engine.
    """

    def __init__(self, under_test: EngineUnderTest) -> None:
        self._under_test = under_test
        self.started: list[Sandbox] = []

    def __call__(self, **changes: Any) -> Sandbox:
        """Start a sandbox.

        Args:
            **changes: of the specification, such as ``image``.
        """
        spec = dataclasses.replace(self._under_test.spec, **changes)
        sandbox = self._under_test.provisioner.start(spec)
        self.started.append(sandbox)
        return sandbox
