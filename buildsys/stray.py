"""Detection of files that a release contains by mistake: modules that it never imports or runs.

The wheel of 1.26.0 contains ``tmp.py`` and ``pyodide_deno_executor.bak.py``, which upstream's tag
does not have. Such files must not be shipped, so each must be listed in ``patches/prune.list``. An
unlisted one stops the build.
"""

from __future__ import annotations

import ast
from pathlib import PurePosixPath

from buildsys.errors import BuildError

__all__ = ["stray_files"]

# Data that the package reads at run time. Every other file that is not a Python module is stray.
_DATA_SUFFIXES = {".yaml", ".typed"}


def stray_files(tree: dict[str, bytes], package: str, scripts: dict[str, str]) -> list[str]:
    """Find paths below the package that are not data and that no import or script reaches.

    Args:
        tree: file bytes by relative path.
        package: the import package's name.
        scripts: console scripts, name to ``module:function``; their modules count as reached.

    Raises:
        BuildError: a reached module cannot be parsed.
    """
    modules = {
        _module_name(path): path
        for path in tree
        if path.startswith(f"{package}/") and path.endswith(".py") and _is_importable(path)
    }
    reached: set[str] = set()
    waiting = [package, *(target.split(":")[0] for target in scripts.values())]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in modules:
            continue
        reached.add(name)
        waiting += _imports(tree, modules, name)
    kept = {modules[name] for name in reached}
    return sorted(
        path
        for path in tree
        if path.startswith(f"{package}/")
        and path not in kept
        and PurePosixPath(path).suffix not in _DATA_SUFFIXES
    )


def _is_importable(path: str) -> bool:
    return all(part.isidentifier() for part in path.removesuffix(".py").split("/"))


def _module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(tree: dict[str, bytes], modules: dict[str, str], name: str) -> list[str]:
    """Find the modules named in a module's import statements, at any nesting depth."""
    path = modules[name]
    try:
        parsed = ast.parse(tree[path])
    except SyntaxError as error:
        raise BuildError(f"{path}:{error.lineno}: {error.msg}") from None
    is_package = path.endswith("/__init__.py")
    found: list[str] = []
    for node in ast.walk(parsed):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = name.split(".")
                parents = parents[: len(parents) - node.level + is_package]
                base = ".".join([*parents, *([base] if base else [])])
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return found
