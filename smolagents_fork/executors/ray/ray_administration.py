"""Administration of sandboxes on a Ray cluster: its check."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...ray_cluster.ray_engine import RayEngine
from ...system.checks import Check, Finding, failed, ok
from ..administration import Administration

__all__ = ["RayAdministration"]

_SECONDS = 15.0


class RayAdministration(Administration):
    """Administration of sandboxes in the cluster that ``RAY_ADDRESS`` names."""

    def checks(self) -> Sequence[Check]:
        def address() -> Finding:
            if not os.environ.get("RAY_ADDRESS"):
                return failed(
                    "RAY_ADDRESS is not set",
                    "set it to the address of the head, such as 10.0.0.1:6379, or give "
                    "RayEngine(address=...)",
                )
            found = RayEngine().check()
            return ok(f"{found} answers and takes the token of this process")

        return (Check("RAY_ADDRESS", address, _SECONDS, needs="package"),)
