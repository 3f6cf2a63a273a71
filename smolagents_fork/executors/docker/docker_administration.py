"""Administration of the Docker executor: the engine, and the image."""

from __future__ import annotations

from collections.abc import Sequence

from ...sandboxes.docker.inspection.engine_checks import EngineChecks
from ...system.checks import Check, Finding, skipped
from ..administration import Preparation, run_check
from .executor import DockerExecutor

__all__ = ["DockerAdministration"]


class DockerAdministration(Preparation):
    """Administration of the Docker executor."""

    def checks(self) -> Sequence[Check]:
        engine = EngineChecks()
        run = run_check(DockerExecutor)

        def run_if_built() -> Finding:
            if not engine.has_image():
                return skipped("needs: image, which is not built yet")
            return run.run()

        return (*engine.all(), Check(run.name, run_if_built, run.seconds, needs="engine"))

    def setup(self, packages: Sequence[str]) -> str:
        return DockerExecutor.setup(packages)
