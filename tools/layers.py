"""Holds ``smolagents_fork`` against its layers and rooms (docs/architecture.md) by its imports."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from .import_graph import PACKAGE, cycles, imports, modules

__all__ = ["ENGINES", "LAYERS", "PACKAGE", "ROOMS", "room_imports", "violations"]

# Low to high. A module imports from its own part and from rows above it; parts in one row are
# siblings and never import each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("_version", "errors", "inventory", "proc_table", "standard_library"),
    ("forks", "free_threading", "redaction"),
    (
        "awaitables",
        "deadline",
        "distributions",
        "figures",
        "hints",
        "host_pipe",
        "output",
        "representation",
        "results",
        "shortages",
        "telemetry",
        "terminal",
        "texts",
    ),
    ("options", "pages", "short_texts"),
    ("displays",),
    ("call_output", "checks", "codec", "folders", "local_processes"),
    ("interpreter", "jupyter", "sandboxes"),
    ("guest",),
    ("process", "wasm"),
    ("ray_cluster",),
    ("upstream",),
    ("bridge",),
    ("agent_sandbox",),
    ("executors",),
    ("command_line",),
    ("__init__", "__main__"),
)
# Rooms of a part whose rooms have an order, low to high, as above. A name without a row is a module
# or a folder that every other may import.
ROOMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "jupyter": (("wire",), ("protocol", "websocket"), ("kernel",)),
    "sandboxes": (
        ("cluster_owner", "pip_settings", "resource_limits", "termination", "volumes"),
        ("container_options", "provisioner"),
        ("container_sandbox", "engine_protocol"),
        ("docker", "kubernetes"),
    ),
    "ray_cluster": (
        ("plain_data",),
        ("node_link",),
        ("head_check", "node_supervisor"),
        ("docker_node", "process_node", "ray_calls"),
        ("placer", "placer_process"),
        ("cluster_client",),
        ("remote_children", "remote_provisioner"),
        ("ray_engine",),
    ),
    "executors": (
        ("call_lock", "registry", "validation"),
        ("async_calls", "file_transfers", "shared_arguments"),
        ("call_options",),
        ("base",),
        ("guests", "jupyter", "pools"),
        ("agents", "docker", "hosted", "local", "process", "wasm"),
        ("ray",),
    ),
}
# Who may import what has an engine's name, the engine's library included. The package's own
# __init__ has their public classes, for type checkers only.
ENGINES: dict[str, tuple[str, ...]] = {
    "docker": (
        "__init__.py",
        "executors/docker/",
        "executors/ray/",
        "ray_cluster/docker_node.py",
        "sandboxes/docker/",
    ),
    "kubernetes": ("__init__.py", "executors/docker/", "sandboxes/kubernetes/"),
    "ray": ("__init__.py", "executors/ray/", "ray_cluster/"),
}
_RANKS = {part: rank for rank, row in enumerate(LAYERS) for part in row}


def violations(package: Path) -> list[str]:
    """Everything about the package's modules and imports that the layers do not allow.

    Imports that go up or sideways between parts or between rooms of a part, ``smolagents`` outside
    its layer, an engine outside its rooms, cycles, and a module's name that stands twice.

    Args:
        package: the folder of ``smolagents_fork``.

    Returns:
        One line each: file, line, what is imported, and why not.
    """
    found: list[str] = []
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        part = relative.parts[0].removesuffix(".py")
        where = f"{PACKAGE}/{relative.as_posix()}"
        if part not in _RANKS:
            found.append(f"{where}:1: part {part!r} has no layer; give it one in tools/layers.py")
            continue
        for line, name in imports(path, relative):
            for text in (_part_judgement(part, name), _room_judgement(relative, name)):
                if text:
                    found.append(f"{where}:{line}: imports {name}: {text}")
    found += [f"import cycle: {' -> '.join(loop)}" for loop in cycles(modules(package, package))]
    return found + _names_standing_twice(package)


def room_imports(package: Path) -> dict[str, set[str]]:
    """Return the rooms, which are folders and the modules beside them, and what each imports.

    Args:
        package: the folder of ``smolagents_fork``.
    """
    found: dict[str, set[str]] = defaultdict(set)
    graph = modules(package, package)
    for module, others in graph.items():
        if module:
            room = _room_of(package, module)
            found[room] |= {_room_of(package, other) for other in others if other} - {room}
    return dict(found)


def _room_of(package: Path, module: str) -> str:
    path = package.joinpath(*module.split("."))
    folder = path if path.is_dir() else path.parent
    return module if folder == package else folder.relative_to(package).as_posix()


def _part_judgement(part: str, name: str) -> str:
    top, _, rest = name.partition(".")
    if top == "smolagents" and part != "upstream":
        return "only upstream imports smolagents"
    other = rest.split(".")[0] if top == PACKAGE else part
    if other not in _RANKS or other == part:
        return ""
    return _compared(part, other, _RANKS, "layer")


def _room_judgement(relative: Path, name: str) -> str:
    importing = relative.as_posix()
    for engine, rooms in ENGINES.items():
        if engine in name.split(".") and not importing.startswith(rooms):
            return f"only {' and '.join(rooms)} know {engine}"
    names = name.split(".")
    part = relative.parts[0]
    if part not in ROOMS or names[:2] != [PACKAGE, part] or len(names) < 3:
        return ""
    ranks = {room: rank for rank, row in enumerate(ROOMS[part]) for room in row}
    room, other = relative.parts[1].removesuffix(".py"), names[2]
    if room == other or room not in ranks or other not in ranks:
        return ""
    return _compared(room, other, ranks, "room")


def _compared(importing: str, imported: str, ranks: dict[str, int], kind: str) -> str:
    if ranks[imported] > ranks[importing]:
        return f"{imported} is a higher {kind} than {importing}"
    if ranks[imported] == ranks[importing]:
        return f"{imported} and {importing} are siblings"
    return ""


def _names_standing_twice(package: Path) -> list[str]:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        if path.stem != "__init__":
            places[path.stem].append(path.relative_to(package).as_posix())
    return [
        f"{' and '.join(paths)}: a module's name stands once in the package"
        for paths in places.values()
        if len(paths) > 1
    ]
