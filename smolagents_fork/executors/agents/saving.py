"""Saving and loading of an agent's executor: the hooks of patch ``executor-saving``.

Entries that ``to_dict`` writes:

==================  ===============  ==================  ==========================
the agent was made  ``executor_type``  ``executor_class``  comes back as
==================  ===============  ==================  ==========================
by name             the name         absent              that name
by class            ``"class"``      ``module:qualname``  that class, if allowed
with an instance    ``"instance"``   ``module:qualname``  an error that says so
==================  ===============  ==================  ==========================

No release of smolagents resolves ``"class"`` or ``"instance"``. So an agent that had a sandbox is
an error where it cannot have one; it never runs locally instead.

``executor_kwargs`` with bytes, paths and tuples come back as they were. What is not data stays as
it is in a dictionary, which need not leave the process; :func:`check_saved` refuses it before a
folder is written.

A saved file is untrusted data: a class is never imported because the file names it. It is loaded
only if it is one of the fork's own, an installed entry point, or in the caller's
``allowed_executor_classes``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smolagents_fork.codec import decode, encode
from smolagents_fork.distributions.import_names import import_names
from smolagents_fork.errors import (
    ConfigurationError,
    ConfigurationTypeError,
    DecodeError,
    EncodeError,
)
from smolagents_fork.executors import registry
from smolagents_fork.executors.agents.saved_requirements import FORK_OR_NEWER
from smolagents_fork.network.hosts.host_policy import AllowedHost

if TYPE_CHECKING:
    from smolagents_fork.upstream import CodeAgent, MultiStepAgent

__all__ = [
    "as_given",
    "check_saved",
    "describe_executor",
    "with_managed_agents_of_dict",
    "with_managed_agents_of_folder",
    "with_saved_executor",
]

ALLOWED = "allowed_executor_classes"
KWARGS = "executor_kwargs"
# Bytes of the arguments in their encoded form, files included.
_MOST_BYTES = 1 << 28
# Names, inside a from_dict call, the arguments that the caller gave.
_EXPLICIT = "_explicit_arguments"
# Made of the arguments' defaults, and without a connection.
_DROPPED_MODEL = {"class": "InferenceClientModel", "data": {}}
_EXECUTOR_ARGUMENTS = ("executor", "executor_class", "executor_type")


def _reference(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def as_saved(kwargs: Mapping[str, Any]) -> Any:
    """Return the arguments as a file or a program can have them: the codec's form is JSON's own.

    Bytes, paths and tuples have the key ``$``.

    Raises:
        EncodeError: one is not data; names it.
    """
    return json.loads(encode(dict(kwargs), path=KWARGS, max_bytes=_MOST_BYTES))


def as_given(kwargs: Any) -> Any:
    """Return the arguments as they were before :func:`as_saved`; unsaved ones are unchanged.

    Args:
        kwargs: Keyword arguments of a saved agent, of its program, or of another caller.

    Raises:
        ConfigurationError: they are of a saved agent, and cannot be read.
    """
    try:
        text = json.dumps(kwargs)
    except (TypeError, ValueError):
        return kwargs  # a caller's, with more than data
    if '"$":' not in text:
        return kwargs
    try:
        return decode(text.encode(), path=KWARGS, max_bytes=_MOST_BYTES, classes=[AllowedHost])
    except DecodeError as error:
        raise ConfigurationError(f"the saved agent cannot be loaded: {error}") from None


def describe_executor(agent: CodeAgent, requirements: Iterable[str]) -> dict[str, Any]:
    """Return the entries that ``CodeAgent.to_dict`` adds or replaces.

    Args:
        requirements: Requirements that upstream found. A release of upstream would start the agent
            with another executor or none, so they ask for the fork unless the code runs in
            ``local``.
    """
    entries: dict[str, Any] = {}
    imports = agent.additional_authorized_imports
    modules = import_names(imports)
    if set(imports) != set(modules):
        # Distributions and versions, which another machine installs or checks.
        base = set(agent.authorized_imports) - set(modules)
        entries["authorized_imports"] = sorted({*base, *imports})
    executor_class = getattr(agent, "executor_class", None)
    with contextlib.suppress(EncodeError):
        entries[KWARGS] = as_saved(agent.executor_kwargs)
    if getattr(agent, "_executor_given", False):
        reference = _reference(type(agent.python_executor))
        entries |= {"executor_type": "instance", "executor_class": reference, KWARGS: {}}
    elif executor_class is not None:
        entries |= {"executor_type": "class", "executor_class": _reference(executor_class)}
    elif agent.executor_type == "local":
        return entries
    entries["requirements"] = sorted({*requirements, FORK_OR_NEWER} - {"smolagents"})
    return entries


def check_saved(agent: MultiStepAgent) -> None:
    """Refuse to save an agent whose executor has arguments that a file cannot have.

    Args:
        agent: Agent to be saved; its managed agents are checked, too.

    Raises:
        ConfigurationError: names the argument and says what to do.
    """
    kwargs = None if getattr(agent, "_executor_given", False) else vars(agent).get(KWARGS)
    try:
        as_saved(kwargs or {})
    except EncodeError as error:
        raise ConfigurationError(
            f"the agent cannot be saved: {str(error).partition(';')[0]}. Save the agent without "
            f"it, and pass it when you load: from_folder(folder, {KWARGS}={{...}})"
        ) from None
    for managed in agent.managed_agents.values():
        check_saved(managed)


def with_saved_executor(
    agent_dict: dict[str, Any], keywords: dict[str, Any], merged: dict[str, Any]
) -> dict[str, Any]:
    """Return the constructor's arguments, with the saved executor unless the caller gives another.

    Args:
        agent_dict: the saved agent.
        keywords: the keyword arguments of the caller of ``CodeAgent.from_dict``.
        merged: saved values overridden by the caller's, as upstream merges them.

    Raises:
        ConfigurationError: the agent was saved with an executor instance, or with a class that
            is not allowed.
    """
    merged = {**merged, _EXPLICIT: frozenset(keywords)}
    chosen = [name for name in _EXECUTOR_ARGUMENTS if keywords.get(name) is not None]
    if chosen:
        if "executor_type" not in chosen:
            merged.pop("executor_type", None)
        # Saved arguments are those of the saved executor, not of another one.
        same = chosen == ["executor_type"] and keywords["executor_type"] == agent_dict.get(
            "executor_type"
        )
        if not same and "executor_kwargs" not in keywords:
            merged.pop("executor_kwargs", None)
        return merged
    executor_type = agent_dict.get("executor_type")
    if executor_type not in registry.RESERVED_NAMES:
        return merged
    merged.pop("executor_type")
    reference = agent_dict.get("executor_class")
    if not isinstance(reference, str) or not reference:
        raise ConfigurationError(
            f"the saved agent has executor_type={executor_type!r} and "
            f"executor_class={reference!r}; expected the text 'module:qualname'"
        )
    if executor_type == "instance":
        raise ConfigurationError(registry.describe_saved_instance(reference))
    merged["executor_class"] = _check_class(reference, keywords.get(ALLOWED) or ())
    return merged


def _check_class(reference: str, allowed: Collection[type]) -> Any:
    if isinstance(allowed, type) or not all(isinstance(cls, type) for cls in allowed):
        raise ConfigurationTypeError(f"{ALLOWED}={allowed!r}: pass a list of classes")
    by_name = {_reference(cls): cls for cls in allowed}
    executor_class = (
        by_name.get(reference)
        or registry.fork_class(reference)
        or registry.plug_in_of_class(reference)
    )
    if executor_class is None:
        raise ConfigurationError(
            f"the agent was saved with executor class {reference!r}, which is not the fork's "
            f"own, not an entry point of group {registry.ENTRY_POINT_GROUP!r}, and not in your "
            "list; if "
            f"you trust it, pass {ALLOWED}=[{reference.rpartition(':')[2]}]"
        )
    return executor_class


def with_managed_agents_of_dict(
    agent_dict: dict[str, Any], arguments: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Load the managed agents of a saved agent, each with its own saved executor.

    A model that the caller gave is used without the saved one, which may need a key, a package or a
    class that this process does not have. Upstream makes it all the same, and drops it.

    Upstream passes the manager's saved settings on to them. That replaces a managed ``CodeAgent``'s
    executor by the manager's, and a managed ``ToolCallingAgent`` raises on arguments it does not
    accept. Here they get only the arguments that the caller gave.

    Args:
        agent_dict: the saved agent.
        arguments: the keyword arguments of ``MultiStepAgent.from_dict``.

    Returns:
        Both, ready for the rest of upstream's method.
    """
    arguments = dict(arguments)
    explicit = arguments.pop(_EXPLICIT, frozenset(arguments))
    passed_on = {name: arguments[name] for name in explicit if name in arguments}
    arguments.pop(ALLOWED, None)
    if "model" in explicit:
        agent_dict = {**agent_dict, "model": _DROPPED_MODEL}
    saved = agent_dict["managed_agents"]
    if saved:
        agents = [
            _agent_class(managed["class"]).from_dict(
                managed, **_select_arguments(managed["class"], passed_on)
            )
            for managed in saved
        ]
        agent_dict = {**agent_dict, "managed_agents": []}
        arguments.setdefault("managed_agents", agents)
    return agent_dict, arguments


def with_managed_agents_of_folder(
    folder: Path, agent_dict: dict[str, Any], arguments: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Load the managed agents of a saved folder, with the arguments that the caller gave.

    Upstream loads them without: an executor that the caller chose would be the manager's alone.

    Args:
        folder: the folder the agent was saved in.
        agent_dict: the parsed ``agent.json``.
        arguments: the keyword arguments of ``MultiStepAgent.from_folder``.

    Returns:
        Both, ready for the rest of upstream's method.
    """
    saved = agent_dict["managed_agents"]
    if not saved:
        return agent_dict, arguments
    agents = []
    for name, class_name in saved.items():
        passed_on = _select_arguments(class_name, arguments)
        agents.append(
            _agent_class(class_name).from_folder(folder / "managed_agents" / name, **passed_on)
        )
    return {**agent_dict, "managed_agents": {}}, {**arguments, "managed_agents": agents}


def _agent_class(name: str) -> Any:
    from smolagents_fork.upstream import AGENT_REGISTRY

    if name not in AGENT_REGISTRY:
        raise ValueError(
            f"Unknown agent class '{name}'. Supported agents: {', '.join(sorted(AGENT_REGISTRY))}"
        )
    return AGENT_REGISTRY[name]


def _select_arguments(class_name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Select the caller's arguments that a managed agent accepts.

    An executor instance is the manager's alone: two agents would share one state. Arguments of
    ``CodeAgent`` are not passed to other agents.
    """
    from smolagents_fork.upstream import AGENT_REGISTRY, CodeAgent

    withheld = {"executor", "managed_agents", "name", "description"}
    cls = AGENT_REGISTRY.get(class_name)
    if cls is None or not issubclass(cls, CodeAgent):
        withheld |= {
            "executor_class",
            "executor_type",
            "executor_kwargs",
            "additional_authorized_imports",
            "max_print_outputs_length",
            "code_block_tags",
        }
    return {name: value for name, value in arguments.items() if name not in withheld}
