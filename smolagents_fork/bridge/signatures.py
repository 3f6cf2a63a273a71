"""Descriptions of tools for a sandbox: name, signature and documentation."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..codec.rpc import is_nameable, make_binder, show_default, signature_of
from ..errors import ConfigurationError
from ..text.short_texts import limited_text
from ..upstream import PipelineTool

__all__ = ["StubSpec", "describe", "make_callable", "offer", "parameters_of_tool"]

_Parameter: TypeAlias = tuple[str, str, str | None]

# Characters of a refusal, which may quote a name that hostile code chose.
_LONGEST_REFUSAL = 300
_VARIABLE = ("VAR_POSITIONAL", "VAR_KEYWORD")
# The signature of a managed agent in upstream's prompts.
_OF_AGENTS: tuple[_Parameter, ...] = (
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
        inputs: names that all keys of such a dict must have.
        is_agent: whether it is a managed agent, whose task is a text.
        closed: whether the host refuses other arguments, too. A function checks its own signature.
        reserved: names of keywords that are not the tool's, but its caller's.
        final: whether calling it ends the run with its value.
        defaults: default values by parameter, which stay on the host.
    """

    name: str
    doc: str
    parameters: tuple[_Parameter, ...]
    unpack: bool = False
    inputs: frozenset[str] = frozenset()
    is_agent: bool = False
    closed: bool = False
    reserved: frozenset[str] = frozenset()
    final: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def as_read(self, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments as the target reads them.

        ``Tool.__call__`` unpacks a dict. An agent puts ``str(task)`` into its prompt, whatever it
        costs.
        """
        if self.is_agent:
            by_name = {"task": _task_text(kwargs["task"])} if "task" in kwargs else {}
            return [*map(_task_text, args[:1]), *args[1:]], {**kwargs, **by_name}
        if self.unpack and len(args) == 1 and not kwargs and isinstance(args[0], dict):
            by_name = args[0]
            if all(key in self.inputs for key in by_name):
                return [], dict(by_name)
        return args, kwargs

    def misfit(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Return why a closed signature refuses these arguments; ``None`` if it accepts them."""
        if not self.closed:
            return None
        try:
            self.refuse_reserved(kwargs)
            self._binder(*args, **kwargs)
        except TypeError as error:
            return str(error)[:_LONGEST_REFUSAL]
        return None

    def refuse_reserved(self, names: Iterable[str]) -> None:
        """Check that no keyword of a call is the caller's.

        Raises:
            TypeError: one is; worded as by Python.
        """
        other = next((name for name in names if name in self.reserved), None)
        if other is not None:
            raise TypeError(f"{self.name}() got an unexpected keyword argument {other!r}")

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by parameter, and the defaults of the others.

        Raises:
            TypeError: they do not fit.
        """
        parameters = [list(parameter) for parameter in self.parameters]
        signature = signature_of(parameters)
        values = {**self.defaults, **signature.bind(*args, **kwargs).arguments}
        return {name: values[name] for name in signature.parameters if name in values}

    @functools.cached_property
    def _binder(self) -> Callable[..., Any]:
        return make_binder(self.name, [list(parameter) for parameter in self.parameters])

    def as_data(self) -> dict[str, Any]:
        """Return plain data for the codec: the arguments of ``HostCalls.stub`` by name."""
        return {
            "name": self.name,
            "doc": self.doc,
            "parameters": [list(parameter) for parameter in self.parameters],
            "unpack": self.unpack,
        }


def describe(name: str, target: Any) -> StubSpec:
    """Describe ``target``, a tool, a managed agent or any callable, for a sandbox.

    Raises:
        ConfigurationError: code cannot call it by this name, or it cannot be called at all.
    """
    check_name(name)
    if not callable(target):
        raise ConfigurationError(
            f"tool {name!r}: a value of type {type(target).__name__} cannot be called; "
            "send_variables() sends values"
        )
    inputs = getattr(target, "inputs", None)
    has_forward = callable(getattr(target, "forward", None)) and isinstance(inputs, dict)
    is_agent = not has_forward and callable(getattr(target, "run", None)) and _takes_task(target)
    if has_forward:
        function, parameters = _function_of_tool(target), parameters_of_tool(target)
    else:
        function = target.run if is_agent else target
        # An agent's __call__ passes every keyword to run(). The host chooses max_steps, reset,
        # stream and the like; the program must not.
        parameters = _OF_AGENTS if is_agent else _of_function(target)
    return StubSpec(
        name=name,
        doc=_doc(name, target, inputs if isinstance(inputs, dict) else {}),
        parameters=parameters,
        unpack=has_forward and not isinstance(target, PipelineTool),
        inputs=frozenset(inputs) if isinstance(inputs, dict) else frozenset(),
        is_agent=is_agent,
        closed=has_forward or is_agent,
        reserved=_keywords_of_caller(target, parameters) if has_forward else frozenset(),
        final=name == "final_answer",
        defaults=_defaults_of(function, parameters),
    )


def _task_text(task: Any) -> str:
    return task if isinstance(task, str) else limited_text(task)


def check_name(name: Any) -> None:
    """Check the name that code calls a tool by.

    Raises:
        ConfigurationError: it is not an identifier, or Python or the executor has reserved it.
    """
    if not isinstance(name, str) or not is_nameable(name):
        raise ConfigurationError(
            f"tool name {name!r}: programs cannot call it; use a Python identifier"
        )
    if name.startswith("__") and name.endswith("__"):
        raise ConfigurationError(
            f"tool name {name!r}: Python reserves names with two underscores on both sides"
        )


def offer(
    targets: Mapping[str, Any], check: Callable[[str, Any], object] = describe
) -> dict[str, Any]:
    """Return the tools that code can call; warn of each other one, by name.

    Args:
        targets: tools, managed agents and functions by name.
        check: raises ``ConfigurationError`` for a tool that cannot be offered.
    """
    offered = {}
    for name, target in targets.items():
        try:
            check(name, target)
        except ConfigurationError as error:
            warnings.warn(f"{error}; it is left out", UserWarning, stacklevel=2)
        else:
            offered[name] = target
    return offered


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
    parameters = _of_function(target)
    return (
        len(parameters) == 2
        and parameters[0][:2] == ("task", "POSITIONAL_OR_KEYWORD")
        and parameters[1][1] == "VAR_KEYWORD"
    )


def _keywords_of_caller(tool: Any, parameters: Sequence[_Parameter]) -> frozenset[str]:
    """Return the keywords that the class of a tool takes, such as ``sanitize_inputs_outputs``.

    They are the caller's to choose on the host, unless the tool has a parameter of that name.
    """
    own = {parameter[0] for parameter in parameters}
    named = {name for name, kind, _ in _of_function(tool) if kind not in _VARIABLE}
    return frozenset(named - own)


def _of_function(function: Callable[..., Any]) -> tuple[_Parameter, ...]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # Some builtins lack a signature; they check their arguments themselves.
        return (("args", "VAR_POSITIONAL", None), ("kwargs", "VAR_KEYWORD", None))
    return tuple(
        (p.name, p.kind.name, show_default(p.default)) for p in signature.parameters.values()
    )


def _defaults_of(function: Callable[..., Any], parameters: Sequence[_Parameter]) -> dict[str, Any]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return {}
    known = [signature.parameters[name] for name, *_ in parameters if name in signature.parameters]
    return {p.name: p.default for p in known if p.default is not p.empty}


def _function_of_tool(tool: Any) -> Any:
    """Return the function that takes a tool's arguments."""
    # A pipeline gives them to encode(), and forward() gets the outcome.
    return tool.encode if isinstance(tool, PipelineTool) else tool.forward


def parameters_of_tool(tool: Any) -> tuple[_Parameter, ...]:
    """Return the parameters of a ``Tool``: its function's, or its inputs if that takes any.

    Tools of MCP servers, of LangChain and of Gradio take ``(*args, **kwargs)``. They demand what
    their JSON Schema requires (``input_schema``), or nothing if they do not have it.
    """
    inputs = tool.inputs
    parameters = _of_function(_function_of_tool(tool))
    if parameters and parameters[0][0] == "self":
        # Tools created by @tool have "self" in their signature but do not accept it.
        parameters = parameters[1:]
    more = [parameter for parameter in parameters if parameter[1] == "VAR_KEYWORD"]
    by_position = [parameter for parameter in parameters if parameter[1] == "POSITIONAL_ONLY"]
    if not more or by_position or not inputs:
        return parameters
    own = [p for p in parameters if p[1] in ("POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY")]
    schema = getattr(tool, "input_schema", None)
    listed = schema.get("required") if isinstance(schema, dict) else None
    required = listed if isinstance(listed, (list, tuple)) else ()
    kind = "KEYWORD_ONLY" if own else "POSITIONAL_OR_KEYWORD"
    used_names = {parameter[0] for parameter in own}
    others = [key for key in inputs if isinstance(key, str) and key not in used_names]
    # In the order of the prompt.
    return (
        *own,
        *((key, kind, None if key in required else _default_of(inputs[key])) for key in others),
    )


def _default_of(described: Any) -> str:
    """Format the default of an optional input, which is not sent; ``...`` if it is not known."""
    if isinstance(described, dict) and "default" in described:
        return show_default(described["default"]) or "..."
    return "None" if isinstance(described, dict) and described.get("nullable") else "..."


def _doc(name: str, target: Any, inputs: dict[str, Any]) -> str:
    description = getattr(target, "description", None)
    if not isinstance(description, str):
        return inspect.getdoc(target) or ""
    lines = [
        f"    {key}: {spec['description']}"
        for key, spec in inputs.items()
        if isinstance(spec, dict) and isinstance(spec.get("description"), str)
    ]
    doc = [description, *(["", "Args:", *lines] if lines else [])]
    others = [key for key in inputs if isinstance(key, str) and not is_nameable(key)]
    if others:
        arguments = ", ".join(f"{key!r}: ..." for key in others)
        doc += ["", f"Names that Python cannot write go by keyword: {name}(**{{{arguments}}})"]
    return "\n".join(doc)
