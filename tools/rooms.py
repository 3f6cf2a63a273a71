"""Budgets of the guarded interpreter: its lines, and the rows of its table of overrides."""

from __future__ import annotations

import ast
from pathlib import Path

__all__ = [
    "MOST_LINES",
    "MOST_OVERRIDES",
    "line_count",
    "override_rows",
    "rooms_violations",
]

#: DESIGN asks for 4,000; what is there may not grow until it is.
MOST_LINES = 4194
MOST_OVERRIDES = 40
OVERRIDES_FILE = "modules/overrides.py"


def line_count(folder: Path) -> int:
    """Lines of all Python files below ``folder``, blank ones and comments included."""
    return sum(path.read_text("utf-8").count("\n") for path in folder.rglob("*.py"))


def override_rows(folder: Path) -> int | None:
    """Rows of the table ``OVERRIDES``; ``None`` while there is no file for it.

    Raises:
        ValueError: the file has no ``OVERRIDES``, or none whose rows can be counted.
    """
    path = folder / OVERRIDES_FILE
    if not path.is_file():
        return None
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        if [one.id for one in targets if isinstance(one, ast.Name)] == ["OVERRIDES"]:
            return _rows(value)
    raise ValueError(f"{OVERRIDES_FILE} has no table OVERRIDES")


def _rows(value: ast.expr) -> int:
    """Rows of a literal, or of the literal that one call such as ``MappingProxyType`` takes."""
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        value = value.args[0]
    if isinstance(value, ast.Dict) and None not in value.keys:
        return len(value.keys)
    if isinstance(value, ast.Tuple | ast.List | ast.Set) and not any(
        isinstance(one, ast.Starred) for one in value.elts
    ):
        return len(value.elts)
    raise ValueError(f"{OVERRIDES_FILE}: OVERRIDES is not a literal whose rows can be counted")


def rooms_violations(package: Path) -> list[str]:
    """List the budgets that ``interpreter/guarded/`` exceeds, one line each.

    Args:
        package: the folder of ``smolagents_fork``.
    """
    folder = package / "interpreter" / "guarded"
    found: list[str] = []
    lines = line_count(folder)
    if lines > MOST_LINES:
        found.append(
            f"interpreter/guarded/ has {lines:,} lines; at most {MOST_LINES:,} are allowed"
        )
    try:
        rows = override_rows(folder)
    except ValueError as problem:
        found.append(f"interpreter/guarded/{problem}")
    else:
        if rows is not None and rows > MOST_OVERRIDES:
            found.append(f"OVERRIDES has {rows} rows; at most {MOST_OVERRIDES} are allowed")
    return found
