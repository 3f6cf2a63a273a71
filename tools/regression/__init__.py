"""The regression suite: upstream's own tests, on upstream's release and on the fork, compared.

    python -m tools.regression --help

``settings`` is the policy; ``suite`` the order of steps; ``environments`` makes the two sides;
``execution`` runs the tests; ``deviations`` and ``comparison`` say what a result means; ``output``
prints it.
"""

from __future__ import annotations

from tools.errors import SuiteError
from tools.regression.comparison import Kind, Report
from tools.regression.suite import run

__all__ = ["Kind", "Report", "SuiteError", "run"]
