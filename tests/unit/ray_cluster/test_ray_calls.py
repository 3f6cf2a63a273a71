"""Calls of Ray: each has a limit, for Ray's own answer about a lost node takes a minute."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from smolagents_fork import ray_cluster

_WAITS = {"get", "wait"}


def waits() -> Iterator[tuple[str, ast.Call]]:
    """Yield each call of ``ray.get`` and ``ray.wait`` in the package, with its place."""
    (folder,) = ray_cluster.__path__
    for path in sorted(Path(folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "ray"
                and node.func.attr in _WAITS
            ):
                yield f"{path.relative_to(folder)}:{node.lineno}", node


def test_every_wait_for_ray_has_a_limit():
    found = dict(waits())
    assert found
    limited = {
        place
        for place, call in found.items()
        if any(keyword.arg == "timeout" for keyword in call.keywords)
    }
    assert found.keys() - limited == set()
