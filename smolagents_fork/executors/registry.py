"""Registry of executors by name: built-in ones, then plug-ins.

A plug-in is an entry point of group ``smolagents.executors``. The contract is the one upstream has
accepted for its own coming plug-ins (issue 2722): ``factory(additional_authorized_imports, logger,
**executor_kwargs)``. Built-in names come first, only the requested plug-in is loaded, and the error
about an unknown name lists the available ones.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import sys
from collections.abc import Callable
from typing import Any

from smolagents_fork import upstream
from smolagents_fork.errors import ConfigurationError

__all__ = [
    "BUILT_IN",
    "ENGINES",
    "ENTRY_POINT_GROUP",
    "RESERVED_NAMES",
    "Factory",
    "available_names",
    "built_in",
    "describe_saved_instance",
    "fork_class",
    "import_reference",
    "plug_in",
    "plug_in_of_class",
]

Factory = Callable[..., Any]

ENTRY_POINT_GROUP = "smolagents.executors"

# The executors of the fork, by the name that ``executor_type`` takes; the last three are upstream's
# hosted ones, with the fork's repairs.
BUILT_IN: dict[str, str] = {
    "local": "smolagents_fork.executors.local:LocalPythonExecutor",
    "docker": "smolagents_fork.executors.docker:DockerExecutor",
    "process": "smolagents_fork.executors.process:ProcessExecutor",
    "wasm": "smolagents_fork.executors.wasm:WasmExecutor",
    "blaxel": "smolagents_fork.executors.hosted:BlaxelExecutor",
    "e2b": "smolagents_fork.executors.hosted:E2BExecutor",
    "modal": "smolagents_fork.executors.hosted:ModalExecutor",
}
# Upstream's classes that a user names with executor_class=, and a saved agent may therefore name.
_UPSTREAM = ("BlaxelExecutor", "E2BExecutor", "ModalExecutor")
_ENGINE_FACTORY = "smolagents_fork.executors.engine_factory:EngineFactory"

# Engines that ``executor_type`` takes by name, each with its class.
ENGINES: dict[str, str] = {
    "kubernetes": "smolagents_fork.sandboxes.kubernetes.kubernetes_engine:KubernetesEngine",
    "ray": "smolagents_fork.ray_cluster.ray_engine:RayEngine",
}

# ``executor_type`` of a saved agent whose executor was not given by name (see saving.py).
RESERVED_NAMES = frozenset({"class", "instance"})


def describe_saved_instance(reference: str) -> str:
    """Word the error of an agent that was saved with an executor instance."""
    return (
        f"the agent was saved with an executor instance ({reference}), which cannot be saved; pass "
        "executor=<an instance>, executor_class=<a class> or executor_type=<a name> to load it"
    )


def import_reference(reference: str) -> Any:
    """Import what ``module:qualname`` names; never for a text from a file.

    Raises:
        ImportError, AttributeError, ValueError: there is nothing of that name.
    """
    module, _, qualname = reference.partition(":")
    value: Any = importlib.import_module(module)
    for part in qualname.split("."):
        value = getattr(value, part)
    return value


def built_in(name: str) -> Factory | None:
    """Return the built-in executor class of that name, or the factory of an engine's, or None."""
    reference = BUILT_IN.get(name)
    if reference is not None:
        built: Factory = import_reference(reference)
        return built
    engine = ENGINES.get(name)
    if engine is None:
        return None
    factory: Factory = import_reference(_ENGINE_FACTORY)(name, import_reference(engine))
    return factory


def fork_class(reference: str) -> type | None:
    """Return the fork's or upstream's class that a saved ``module:qualname`` names, or None.

    The text is compared with the fork's own list, or looked up in a module of upstream's that is
    imported already, wherever a release has the class. It is never imported.
    """
    if reference in BUILT_IN.values():
        return import_reference(reference)  # type: ignore[no-any-return]
    module, _, name = reference.partition(":")
    if module.partition(".")[0] != upstream.PACKAGE or name not in _UPSTREAM:
        return None
    upstreams: type = getattr(upstream, name)
    named = getattr(sys.modules.get(module), name, None)
    return upstreams if named is upstreams else None


def _entry_points() -> list[importlib.metadata.EntryPoint]:
    return list(importlib.metadata.entry_points(group=ENTRY_POINT_GROUP))


def available_names() -> list[str]:
    """List the names that ``executor_type`` takes: built-in ones, then plug-ins, each sorted."""
    names = {*BUILT_IN, *ENGINES}
    plug_ins = {entry.name for entry in _entry_points()} - names - RESERVED_NAMES
    return [*sorted(names), *sorted(plug_ins)]


def plug_in(name: str) -> Factory | None:
    """Load and return the plug-in of that name; None when there is none.

    Raises:
        ConfigurationError: two distributions offer the name, or loading it failed.
    """
    if name in RESERVED_NAMES:
        return None
    entries = {entry.value: entry for entry in _entry_points() if entry.name == name}
    if len(entries) > 1:
        offers = ", ".join(
            f"{entry.value} (from {entry.dist.name if entry.dist else 'unknown'})"
            for entry in entries.values()
        )
        raise ConfigurationError(
            f"executor_type={name!r} is offered by {len(entries)} entry points of group "
            f"{ENTRY_POINT_GROUP!r}: {offers}; uninstall all but one, or pass "
            f"executor_class=<the class>. Available: {', '.join(available_names())}"
        )
    for entry in entries.values():
        try:
            factory: Factory = entry.load()
            return factory
        except Exception as error:
            raise ConfigurationError(
                f"executor_type={name!r}: entry point {entry.value!r} could not be loaded: "
                f"{type(error).__name__}: {error}"
            ) from error
    return None


def plug_in_of_class(reference: str) -> Factory | None:
    """Load and return the plug-in whose class is ``module:qualname``, or None.

    A package often exports a class under a shorter name than that of its module. So the plug-ins of
    the reference's top-level package are loaded, and their classes compared with the reference.
    Only installed plug-ins are imported, never the reference itself.
    """
    package = reference.partition(":")[0].partition(".")[0]
    for entry in _entry_points():
        if entry.name in BUILT_IN or entry.value.partition(":")[0].partition(".")[0] != package:
            continue
        factory: Any = plug_in(entry.name)
        if inspect.isclass(factory) and reference == f"{factory.__module__}:{factory.__qualname__}":
            return factory
    return None
