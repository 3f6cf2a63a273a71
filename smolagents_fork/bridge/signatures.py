"""Descriptions of tools for a sandbox: name, signature and documentation."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ConfigurationError

__all__ = ["StubSpec", "describe", "make_callable"]

# A default longer than this is shown as "...": enough for "celsius", too short for most secrets.
_LONGEST_SHOWN_TEXT = 16
# How upstream's prompts tell a model to call a managed agent.
_OF_AGENTS: tuple[tuple[str, str, str | None], ...] = (
    ("task", "POSITIONAL_OR_KEYWORD", None),
    ("additional_args", "POSITIONAL_OR_KEYWORD", "None"),
)


@dataclass(frozen=True)
class StubSpec:
    """A tool as a sandbox sees it.

    Attributes:
        name: what the program calls it.
        doc: what ``help()`` shows.
        parameters: ``[name, kind, repr of the default or None]`` each, in order.
        unpack: whether one dict given by position holds the arguments by name.
        closed: whether the host, too, takes no other arguments than these; a function's own
            signature sees to that by itself.
        final: whether calling it ends the run with its value.
    """

    name: str
    doc: str
    parameters: tuple[tuple[str, str, str | None], ...]
    unpack: bool = False
    closed: bool = False
    final: bool = False

    def misfit(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Explain why a closed signature refuses these arguments; ``None`` if it accepts them."""
        if not self.closed:
            return None
        names = [name for name, _, _ in self.parameters]
        other = next((name for name in kwargs if name not in names), None)
        if other is not None:
            return f"{self.name}() got an unexpected keyword argument {other[:100]!r}"
        if len(args) > len(names):
            return f"{self.name}() takes {len(names)} positional arguments, {len(args)} were given"
        return None

    def as_data(self) -> dict[str, Any]:
        """Plain data for the codec; the arguments of ``HostCalls.stub`` by name."""
        return {
            "name": self.name,
            "doc": self.doc,
            "parameters": [list(parameter) for parameter in self.parameters],
            "unpack": self.unpack,
        }


def describe(name: str, target: Callable[..., Any]) -> StubSpec:
    """Describe ``target``, a tool, a managed agent or any callable, for a sandbox.

    Raises:
        ConfigurationError: the name, or one of a parameter, cannot be called in Python.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ConfigurationError(
            f"tool name {name!r}: programs cannot call it; use a Python identifier"
        )
    inputs = getattr(target, "inputs", None)
    has_forward = callable(getattr(target, "forward", None)) and isinstance(inputs, dict)
    is_agent = not has_forward and callable(getattr(target, "run", None)) and _takes_task(target)
    # An agent's __call__ hands every keyword on to run(): max_steps, reset, stream and so on are
    # the host's to choose, and not the program's.
    own = target.forward if has_forward else target  # type: ignore[attr-defined]
    parameters = _OF_AGENTS if is_agent else _parameters(own)
    if has_forward and parameters and parameters[0][0] == "self":
        # What @tool makes says "self" in its signature and takes none.
        parameters = parameters[1:]
    if has_forward and inputs and _is_catch_all(parameters):
        # Tools from MCP servers take (*args, **kwargs); their inputs say what they mean.
        parameters = tuple(_from_inputs(inputs))
    return StubSpec(
        name=name,
        doc=_doc(target, inputs if isinstance(inputs, dict) else {}),
        parameters=parameters,
        unpack=has_forward,
        closed=is_agent,
        final=name == "final_answer",
    )


def make_callable(target: Callable[..., Any]) -> None:
    """Make up for a tool whose constructor does not call upstream's.

    ``Tool.__call__`` reads ``is_initialized``, which ``Tool.__init__`` sets and the class made by
    ``Tool.from_gradio`` does not (upstream 1.26.0): its tools raise ``AttributeError`` when called.
    """
    needs_it = callable(getattr(target, "forward", None)) and callable(
        getattr(target, "setup", None)
    )
    if needs_it and not hasattr(target, "is_initialized"):
        target.is_initialized = False  # type: ignore[attr-defined]


def _takes_task(target: Callable[..., Any]) -> bool:
    parameters = _parameters(target)
    return (
        len(parameters) == 2
        and parameters[0][:2] == ("task", "POSITIONAL_OR_KEYWORD")
        and parameters[1][1] == "VAR_KEYWORD"
    )


def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, str, str | None], ...]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # Some builtins have no signature to show; they bind for themselves.
        return (("args", "VAR_POSITIONAL", None), ("kwargs", "VAR_KEYWORD", None))
    return tuple((p.name, p.kind.name, _shown(p.default)) for p in signature.parameters.values())


def _is_catch_all(parameters: tuple[tuple[str, str, str | None], ...]) -> bool:
    return all(kind in ("VAR_POSITIONAL", "VAR_KEYWORD") for _, kind, _ in parameters)


def _from_inputs(inputs: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    # Python wants those with a default last; by keyword the order is free.
    specs = []
    for name, spec in inputs.items():
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ConfigurationError(f"input {name!r}: programs cannot name it")
        optional = isinstance(spec, dict) and bool(spec.get("nullable") or "default" in spec)
        specs.append((name, "POSITIONAL_OR_KEYWORD", "None" if optional else None))
    return sorted(specs, key=lambda spec: spec[2] is not None)


def _shown(default: Any) -> str | None:
    """Format a default value; the value itself stays on the host, since it may be a secret."""
    if default is inspect.Parameter.empty:
        return None
    simple = default is None or type(default) in (bool, int, float)
    if simple or (type(default) is str and len(default) <= _LONGEST_SHOWN_TEXT):
        return repr(default)
    return "..."


def _doc(target: Any, inputs: dict[str, Any]) -> str:
    description = getattr(target, "description", None)
    if not isinstance(description, str):
        return inspect.getdoc(target) or ""
    lines = [
        f"    {name}: {spec['description']}"
        for name, spec in inputs.items()
        if isinstance(spec, dict) and isinstance(spec.get("description"), str)
    ]
    return "\n".join([description, *(["", "Args:", *lines] if lines else [])])
