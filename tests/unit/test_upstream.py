"""Names of upstream's that the package uses: each is looked up, and none is mistyped."""

from __future__ import annotations

import ast

from smolagents_fork import upstream
from tools.paths import ROOT


def test_every_imported_name_is_upstreams() -> None:
    names = {
        alias.name
        for path in (ROOT / "smolagents_fork").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1] == "upstream"
        for alias in node.names
    }
    assert len(names) > 20
    assert [name for name in sorted(names) if not hasattr(upstream, name)] == []
