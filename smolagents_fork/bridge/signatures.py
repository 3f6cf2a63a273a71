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
# The signature of a managed agent in upstream's prompts.
_OF_AGENTS: tuple[tuple[str, str, str | None], ...] = (
    ("task", "POSITIONAL_OR_KEYWORD", None),
    ("additional_args", "POSITIONAL_OR_KEYWORD", "None"),
)


@dataclass(frozen=True)
class StubSpec:
    """Description of a tool for a sandbox.

    Attributes:
        name: the name that the program uses.
        doc: the text that ``help()`` shows.
        parameters: ``[name, kind, repr of the default or None]`` for each parameter, in order.
        unpack: whether a single positional dict contains the arguments by name.
        closed: whether the host refuses other arguments, too. A function checks its own signature.
        final: whether calling it ends the run with its value.
    """

    name: str
    doc: str
    parameters: tuple[tuple[str, str, str | None], ...]
    unpack: bool = False
    closed: bool = False
    final: bool = False

    def misfit(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Return why a closed signature refuses these arguments; ``None`` if it accepts them."""
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
        """Return plain data for the codec: the arguments of ``HostCalls.stub`` by name."""
        return {
            "name": self.name,
            "doc": self.doc,
            "parameters": [list(parameter) for parameter in self.parameters],
            "unpack": self.unpack,
        }


def describe(name: str, target: Callable[..., Any]) -> StubSpec:
    """Describe ``target``, a tool, a managed agent or any callable, for a sandbox.

    Raises:
        ConfigurationError: the name, or the name of a parameter, is not usable in Python.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ConfigurationError(
            f"tool name {name!r}: programs cannot call it; use a Python identifier"
        )
    inputs = getattr(target, "inputs", None)
    has_forward = callable(getattr(target, "forward", None)) and isinstance(inputs, dict)
    is_agent = not has_forward and callable(getattr(target, "run", None)) and _takes_task(target)
    # An agent's __call__ passes every keyword to run(). The host chooses max_steps, reset, stream
    # and the like; the program must not.
    function = target.forward if has_forward else target  # type: ignore[attr-defined]
    parameters = _OF_AGENTS if is_agent else _parameters(function)
    if has_forward and parameters and parameters[0][0] == "self":
        # Tools created by @tool have "self" in their signature but do not accept it.
        parameters = parameters[1:]
    if has_forward and inputs and _is_catch_all(parameters):
        # Tools from MCP servers take (*args, **kwargs); their inputs describe the arguments.
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
    """Repair a tool whose constructor does not call that of upstream's ``Tool``.

    ``Tool.__call__`` reads ``is_initialized``, which ``Tool.__init__`` sets. The class created by
    ``Tool.from_gradio`` does not set it (upstream 1.26.0), so its tools raise ``AttributeError``.
    """
    is_tool = callable(getattr(target, "forward", None)) and callable(
        getattr(target, "setup", None)
    )
    if is_tool and not hasattr(target, "is_initialized"):
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
        # Some builtins lack a signature; they check their arguments themselves.
        return (("args", "VAR_POSITIONAL", None), ("kwargs", "VAR_KEYWORD", None))
    return tuple((p.name, p.kind.name, _shown(p.default)) for p in signature.parameters.values())


def _is_catch_all(parameters: tuple[tuple[str, str, str | None], ...]) -> bool:
    return all(kind in ("VAR_POSITIONAL", "VAR_KEYWORD") for _, kind, _ in parameters)


def _from_inputs(inputs: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    # Python requires parameters with a default last; calls by keyword do not depend on the order.
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
