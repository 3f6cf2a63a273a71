"""Names that programs import, for the entries of ``additional_authorized_imports``.

An entry names a package by an import name (``sklearn.linear_model``), by a distribution's name
(``scikit-learn``) or with a version (``numpy>=2``). The interpreter, the confinement and the prompt
need import names: those that the installed distribution's metadata lists, and those of the table
in ``requirements`` where it is installed elsewhere, as in an image.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import PurePosixPath
from types import ModuleType

from ..errors import ConfigurationError
from ..standard_library import absence
from .requirements import (
    ImportEntry,
    distribution_for,
    import_name_in,
    import_names_of,
    parse_entry,
)

__all__ = ["import_names", "missing_packages", "providers"]

_SUFFIXES = frozenset({".py", ".pyd", ".so"})


def import_names(entries: Iterable[str], path: Sequence[str] | None = None) -> tuple[str, ...]:
    """List the import names that a list of authorised imports means, without duplicates.

    Args:
        entries: Entries as given to an executor.
        path: folders and wheels that packages are looked up in; ``None`` for ``sys.path``.

    Raises:
        ConfigurationError: an entry is neither a module's name nor a requirement, or names
            something in a module that is installed here and is not a module itself.

    Example:
        >>> import_names(["json", "scikit-learn>=1.5", "numpy.*"])
        ('json', 'sklearn', 'numpy.*')
    """
    names: dict[str, None] = {}
    for text in entries:
        entry = parse_entry(text)
        if entry.applies():
            if path is None:
                _check_is_module(entry)
            modules = [entry.name] if entry.name == "*" else _names(entry.name, path)
            names.update(dict.fromkeys(f"{name}{entry.wildcard}" for name in modules))
    return tuple(names)


def _check_is_module(entry: ImportEntry) -> None:
    """Refuse an entry such as ``os.path.join``, if what is installed here shows that it is one.

    Raises:
        ConfigurationError: a part of the name is in a module and is not a module.
    """
    parts = entry.name.split(".")
    for end in range(1, len(parts)):
        package, name = ".".join(parts[:end]), ".".join(parts[: end + 1])
        if parts[0] not in sys.stdlib_module_names and _module_exists(name, None):
            continue
        try:
            member = getattr(importlib.import_module(package), parts[end])
        except Exception:  # it may not be installed, or be a submodule that is not imported yet
            continue
        if not isinstance(member, ModuleType) and name not in sys.modules:
            raise ConfigurationError(
                f"additional_authorized_imports: {entry.text!r}: {name} is in the module "
                f"{package} but is not a module. Pass {package!r}"
            )


def missing_packages(entries: Iterable[str]) -> str:
    """Describe the entries that this interpreter's packages do not satisfy; empty without any.

    Raises:
        ConfigurationError: an entry is neither a module's name nor a requirement.
    """
    missing, unsatisfied = [], []
    for entry in map(parse_entry, entries):
        if entry.name == "*" or not entry.applies():
            continue
        if not _is_found(entry.name):
            missing.append(entry.top)
        elif entry.versions and (message := _version_error(entry)):
            unsatisfied.append(message)
    if missing:
        # In upstream's words.
        unsatisfied.append(
            f"Non-installed authorized modules: {', '.join(missing)}. Please install these "
            "modules or remove them from the authorized imports list."
        )
    for top in missing:
        if why := absence(top, sys.version_info.minor):
            unsatisfied.append(f"This Python has no module {top}: {why}.")
    return " ".join(unsatisfied)


def _is_found(name: str) -> bool:
    top = name.split(".")[0]
    return _module_exists(top, None) or _find_installed(name, None) is not None


def _version_error(entry: ImportEntry) -> str:
    distribution = _provider(entry)
    wanted = entry.text.strip()
    if distribution is None:
        return f"{wanted}: {entry.name} belongs to no installed distribution and has no version."
    if entry.admits(distribution.version):
        return ""
    requirement = distribution.metadata["Name"] + entry.versions
    return (
        f"{wanted} is authorized, and {entry.name} {distribution.version} is installed. Install "
        f"that version (pip install {requirement!r}), leave the version out, or use "
        "executor_type='docker', which installs what the list names."
    )


def _provider(entry: ImportEntry) -> metadata.Distribution | None:
    """Find the installed distribution that an entry with a version names."""
    named = _find_installed(distribution_for(entry.name) or entry.name, None)
    if named is not None:
        return named
    return next(iter(providers(entry.top)), None)


def providers(top: str) -> list[metadata.Distribution]:
    """List the installed distributions that have a module.

    Python 3.10's own list lacks distributions without a ``top_level.txt``, such as numpy.

    Args:
        top: first part of its import name.
    """
    of_module = re.compile(rf"^{re.escape(top)}[/.]", re.MULTILINE)
    return [
        distribution
        for distribution in metadata.distributions()
        if top in (distribution.read_text("top_level.txt") or "").split()
        or of_module.search(distribution.read_text("RECORD") or "")
    ]


def _names(name: str, path: Sequence[str] | None) -> list[str]:
    if _module_exists(name, path):
        return [name]
    distribution = _find_installed(name, path)
    if distribution is not None:
        return sorted(_modules(distribution)) or [_guess(name)]
    known = import_names_of(name)
    if known or name.replace(".", "_").isidentifier():
        return list(known) or [name]
    return [import_name_in(name) or _guess(name)]


def _guess(name: str) -> str:
    return name.replace("-", "_")


def _module_exists(name: str, path: Sequence[str] | None) -> bool:
    """Tell whether a module can be found; imports nothing."""
    top, *inner = name.split(".")
    if not name.replace(".", "_").isidentifier():
        return False
    if top in sys.stdlib_module_names:
        return True
    try:
        # Editable installations have finders of their own.
        spec = importlib.util.find_spec(top) if path is None else PathFinder.find_spec(top, path)
    except (ImportError, ValueError):
        return False
    for part in inner:
        if spec is None or spec.submodule_search_locations is None:
            return False
        spec = PathFinder.find_spec(f"{spec.name}.{part}", spec.submodule_search_locations)
    return spec is not None


def _find_installed(name: str, path: Sequence[str] | None) -> metadata.Distribution | None:
    where = sys.path if path is None else list(path)
    return next(iter(metadata.distributions(name=name, path=where)), None)


def _modules(distribution: metadata.Distribution) -> set[str]:
    """Collect the outermost public modules that a distribution contains."""
    outermost: list[tuple[str, ...]] = []
    # In this order, what a package contains follows it.
    for parts in sorted(_module_paths(distribution)):
        if not outermost or parts[: len(outermost[-1])] != outermost[-1]:
            outermost.append(parts)
    if outermost:
        return {".".join(parts) for parts in outermost}
    # Editable installations, and those of Linux distributions, do not list their modules.
    return {
        name for name in (distribution.read_text("top_level.txt") or "").split() if name[0] != "_"
    }


def _module_paths(distribution: metadata.Distribution) -> Iterator[tuple[str, ...]]:
    for file in distribution.files or ():
        *folders, name = PurePosixPath(file).parts
        stem = name.partition(".")[0]
        parts = (*folders, *(() if stem == "__init__" else (stem,)))
        is_module = PurePosixPath(name).suffix in _SUFFIXES
        if is_module and parts and all(p.isidentifier() and p[0] != "_" for p in parts):
            yield parts
