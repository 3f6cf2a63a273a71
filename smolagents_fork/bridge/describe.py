"""What the sandbox is told about a function of the host: name, signature, documentation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["describe"]


def describe(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """A JSON-safe description for a stub.

    Args:
        name: the sandbox uses.
        function: a ``Tool``, a managed agent, or any callable.
    """
    return {"name": name, "doc": _doc(function), "parameters": _parameters(function)}


def _doc(function: Any) -> str:
    description = getattr(function, "description", None)
    if not isinstance(description, str):
        return inspect.getdoc(function) or ""
    lines = [description.strip()]
    inputs = getattr(function, "inputs", None)
    if isinstance(inputs, dict) and inputs:
        lines += ["", "Args:"]
        for name, about in inputs.items():
            kind, text = about.get("type", "any"), about.get("description", "")
            lines.append(f"    {name} ({kind}): {text}")
    if isinstance(getattr(function, "output_type", None), str):
        lines += ["", f"Returns: {function.output_type}"]
    return "\n".join(lines)


def _parameters(function: Any) -> list[dict[str, Any]] | None:
    target = getattr(function, "forward", None) or function
    inputs = getattr(function, "inputs", None)
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return None
    catch_all = {p.kind for p in parameters} <= {
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
    }
    if catch_all and isinstance(inputs, dict) and inputs:
        # Tools made from a server's schema take anything; the schema knows their arguments.
        return [_from_schema(name, about) for name, about in _required_first(inputs)]
    return [_from_signature(parameter) for parameter in parameters]


def _required_first(inputs: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(inputs.items(), key=lambda item: bool(item[1].get("nullable", False)))


def _from_schema(name: str, about: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "kind": "POSITIONAL_OR_KEYWORD"}
    if isinstance(about.get("type"), str):
        found["type"] = about["type"]
    if about.get("nullable"):
        found["default"] = "None"
    return found


def _from_signature(parameter: inspect.Parameter) -> dict[str, Any]:
    found: dict[str, Any] = {"name": parameter.name, "kind": parameter.kind.name}
    if parameter.default is not inspect.Parameter.empty:
        found["default"] = _short(parameter.default)
    if parameter.annotation is not inspect.Parameter.empty:
        found["type"] = inspect.formatannotation(parameter.annotation)
    return found


def _short(value: Any) -> str:
    # A default is code of the host's: its repr may be long, or name what the sandbox has no use of.
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)[:100]
    return "..."
