"""Draws the tables of options in the documentation from the options' definitions.

A table stands between the lines ``<!-- options: NAME -->`` and ``<!-- end of options -->`` of a
page. ``python -m tools.option_tables`` draws all of them anew; a test compares them.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from smolagents_fork.executors.call_options import CallOptions
from smolagents_fork.executors.docker.agent_sandbox import AgentArguments
from smolagents_fork.executors.docker.arguments import DockerArguments
from smolagents_fork.executors.docker.docker_pool import DockerPoolArguments
from smolagents_fork.executors.docker.options import DockerOptions
from smolagents_fork.executors.hosted.blaxel_executor import BlaxelArguments
from smolagents_fork.executors.hosted.e2b_executor import E2BArguments
from smolagents_fork.executors.hosted.modal_executor import ModalArguments
from smolagents_fork.executors.local.local_options import LocalArguments
from smolagents_fork.executors.pools.pool_options import PoolOptions
from smolagents_fork.executors.process.process_options import ProcessArguments
from smolagents_fork.executors.wasm.wasm_executor import WasmArguments
from smolagents_fork.executors.wasm.wasm_pool import WasmPoolArguments
from smolagents_fork.options.option import about
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.provisioner import ImageSpec
from smolagents_fork.sandboxes.resource_limits import Limits

from .paths import ROOT

__all__ = ["PAGES", "TABLES", "default_shown", "draw_tables", "type_word"]

PAGES = ("docs/options.md", *(f"docs/executors/{name}.md" for name in (
    "agent-sandbox", "docker", "local", "process", "wasm"
)))  # fmt: skip
_MARKED = re.compile(r"(<!-- options: ([^>]+) -->\n).*?(<!-- end of options -->)", re.DOTALL)
#: What an annotation is called, by its beginning; seconds go by the option's name.
_TYPES = {
    "Audit": "path or function",
    "BeforeRun": "function",
    "BeforeTool": "function",
    "Callable": "function",
    "Files": "mapping",
    "Literal": "text",
    "Mapping": "mapping",
    "OnDeath": "text",
    "Sequence": "list",
    "Transport": "text",
    "bool": "flag",
    "dict": "mapping",
    "float": "number",
    "int | str": "size",
    "int": "whole number",
    "str | os.PathLike": "path",
    "str": "text",
}
#: Taken as an object of the fork's, upstream's or docker-py's.
_OBJECTS = {"engine", "logger", "model_on_host", "on_demand", "pool", "volumes"}


def type_word(name: str, annotation: str) -> str:
    """Return what the documentation calls the type of an option.

    Args:
        name: of the option.
        annotation: its type, as it is written.

    Raises:
        ValueError: there is no word for it.
    """
    if name in _OBJECTS:
        return "object"
    optional = annotation.endswith(" | None")
    bare = annotation.removesuffix(" | None")
    word = next((word for start, word in _TYPES.items() if bare.startswith(start)), "")
    if name.endswith("_seconds"):
        word = "seconds" if bare == "float" else ""
    if not word:
        raise ValueError(f"{name}: no word for the type {annotation!r}")
    return word + " or `None`" * (optional and word != "list")


def default_shown(value: Any) -> str:
    """Return a default as the documentation shows it."""
    if value is inspect.Parameter.empty:
        return "required"
    if value is None or value == ():
        return "`None`" if value is None else "`()`"
    if isinstance(value, str):
        return f'`"{value}"`'
    number = repr(value) if isinstance(value, bool) else f"{value:,}".removesuffix(".0")
    return f"`{number}`"


#: Options of one kind: their annotations and defaults.
_Options = dict[str, tuple[str, Any]]


def _of_class(cls: type) -> _Options:
    fields = {field.name: field for field in dataclasses.fields(cls)}
    return {name: (str(fields[name].type), fields[name].default) for name in about(cls)}


def _several(columns: dict[str, _Options]) -> list[str]:
    """Draw a table with a row an option and a column a class."""
    rows = [f"| option | type | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for name in sorted(set().union(*columns.values())):
        has = [cells[name] for cells in columns.values() if name in cells]
        (word,) = {type_word(name, annotation) for annotation, _ in has}
        shown = [
            default_shown(cells[name][1]) if name in cells else "no" for cells in columns.values()
        ]
        rows.append(f"| `{name}` | {word} | {' | '.join(shown)} |")
    return rows


def _one(cls: type, names: Iterable[str]) -> list[str]:
    """Draw a table of some options of a class, with what each is for."""
    known, options = about(cls), _of_class(cls)
    rows = ["| parameter | default | form and unit | what it is for |", "|---|---|---|---|"]
    for name in names:
        option, (_, default) = known[name], options[name]
        rows.append(f"| `{name}` | {default_shown(default)} | {option.form} | {option.says} |")
    return rows


def _without(cls: type, *others: Collection[str]) -> list[str]:
    return [name for name in about(cls) if not any(name in other for other in others)]


_UPSTREAMS = DockerArguments.by_position
_CALLS = [*_without(CallOptions, ("files",)), "on_death"]
_CONTAINER = _without(ContainerOptions, _UPSTREAMS) + _without(Limits)
_IMAGE = _without(ImageSpec, _UPSTREAMS)
_POOL = about(PoolOptions)

TABLES: dict[str, Callable[[], list[str]]] = {
    "all executors": lambda: _several(
        {
            "local": _of_class(LocalArguments),
            "process": _of_class(ProcessArguments),
            "wasm": _of_class(WasmArguments),
            "docker": _of_class(DockerArguments),
            "AgentSandbox": _of_class(AgentArguments),
        }
    ),
    "all pools": lambda: _several(
        {
            name: {
                option: value
                for option, value in _of_class(cls).items()
                if option in _POOL or option == "engine"
            }
            for name, cls in (("DockerPool", DockerPoolArguments), ("WasmPool", WasmPoolArguments))
        }
    ),
    "docker, upstream's": lambda: _one(DockerArguments, _UPSTREAMS),
    "docker, calls": lambda: _one(DockerOptions, _CALLS),
    "docker, container": lambda: _one(DockerOptions, _CONTAINER),
    "docker, image": lambda: _one(DockerOptions, _IMAGE),
    "docker, place": lambda: _one(
        DockerArguments, _without(DockerArguments, _UPSTREAMS, _CALLS, _CONTAINER, _IMAGE)
    ),
    "docker, pool": lambda: _one(DockerPoolArguments, [*_POOL, "engine"]),
    "local": lambda: _one(LocalArguments, about(LocalArguments)),
    "process": lambda: _one(ProcessArguments, about(ProcessArguments)),
    "wasm": lambda: _one(WasmArguments, about(WasmArguments)),
    "wasm, pool": lambda: _one(WasmPoolArguments, _POOL),
    "hosted": lambda: _several(
        {
            "e2b": _of_class(E2BArguments),
            "modal": _of_class(ModalArguments),
            "blaxel": _of_class(BlaxelArguments),
        }
    ),
    "agent sandbox": lambda: _one(
        AgentArguments, _without(AgentArguments, about(DockerOptions).keys() - {"timeout_seconds"})
    ),
}


def draw_tables(page: str) -> str:
    """Return a page with its tables of options drawn anew.

    Args:
        page: the text of the page.
    """
    return _MARKED.sub(
        lambda match: match[1] + "\n".join(TABLES[match[2]]()) + "\n" + match[3], page
    )


def main() -> None:
    """Draw the tables of all pages."""
    for name in PAGES:
        path: Path = ROOT / name
        path.write_text(draw_tables(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
