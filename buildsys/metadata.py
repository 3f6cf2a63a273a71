"""Dependencies, extras and scripts: upstream's, from the lock, plus the fork's declared delta."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from buildsys import lock as lockfile
from buildsys.version import fork_version

__all__ = [
    "ADDED_DEPENDENCIES",
    "ADDED_EXTRAS",
    "ADDED_SCRIPTS",
    "project_fields",
]

# The declared delta. Sandboxes are the purpose of the fork, so their requirements are not an extra.
ADDED_DEPENDENCIES = {
    "docker>=7.1.0": "DockerExecutor uses it to communicate with the engine",
    "packaging>=22": "authorized imports may have versions, which it parses and compares",
    "websocket-client>=1.8.0": "DockerExecutor uses it to communicate with the Jupyter kernel",
}

ADDED_EXTRAS = {
    "egress": {
        "h11>=0.14,<1": "the proxy for allowed_hosts= reads and writes HTTP by it",
        "idna>=2.5,<4": "entries of allowed_hosts= may have letters beyond ASCII",
    },
    "kubernetes": {"kubernetes>=35,<38": "KubernetesEngine is a client of the cluster's API"},
    "mcp": {"mcp<2": "mcpadapt imports a name that mcp 2 has removed"},
    "ray": {"ray>=2.52,<3": "RayEngine runs sandboxes on the nodes of a cluster"},
    "wasm": {"deno>=2.9,<3": "WasmExecutor runs Pyodide in it"},
}

ADDED_SCRIPTS = {"smolagents-fork": "smolagents_fork.command_line.main:main"}


def project_fields(root: Path) -> dict[str, Any]:
    """Return the values of the project table's dynamic fields.

    Args:
        root: the repository's top folder.

    Raises:
        BuildError: the lock or the version file is wrong.
    """
    lock = lockfile.load(root / "upstream.lock")
    return {
        "version": fork_version(root / "smolagents_fork" / "_version.py", lock),
        "requires-python": lock.requires_python,
        "dependencies": [*lock.dependencies, *ADDED_DEPENDENCIES],
        "optional-dependencies": {
            **lock.extras,
            **{name: [*lock.extras.get(name, ()), *new] for name, new in ADDED_EXTRAS.items()},
        },
        "scripts": {**lock.scripts, **ADDED_SCRIPTS},
    }
