"""The packages, and the program that uses each; data only."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["PACKAGES", "USES", "Package"]

_HERE = Path(__file__).parent
#: Folder of the programs.
USES = _HERE / "uses"


class Package(NamedTuple):
    """A package that builds on smolagents.

    Attributes:
        name: its name on the index.
        use: the program in ``uses/`` that uses it.
        requirements: what pip is asked for; the name alone when empty.
        note: a fact that the reader of the report needs.
    """

    name: str
    use: str
    requirements: tuple[str, ...] = ()
    note: str = ""


_MCP = "with `mcp<2`: mcp 2 cannot be imported by this package"

PACKAGES = (
    Package("smolagentsui", "smolagentsui_chats"),
    Package("smolagents-capsule", "capsule_tools"),
    Package("openinference-instrumentation-smolagents", "openinference_spans"),
    Package("openlit", "openlit_spans"),
    Package("mlflow-skinny", "mlflow_trace"),
    Package("agentsdiagram", "diagram_of_agents"),
    Package("mcpadapt", "mcp_tools", ("mcpadapt", "mcp<2"), _MCP),
    Package("any-agent", "any_agent_run", ("any-agent[smolagents]", "mcp<2"), _MCP),
    Package(
        "downstream-example-executor",
        "plug_in_executor",
        (str(_HERE / "plugin"),),
        "a plug-in by entry point, built from `tools/downstream/plugin`; upstream takes none",
    ),
)
