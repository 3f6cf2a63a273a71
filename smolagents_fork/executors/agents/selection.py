"""Selection of an agent's executor: the hook of patch ``executor-class``.

Order of precedence: ``executor`` (an instance, also a falsy one), ``executor_class``,
``executor_type``, the environment variable ``SMOLAGENTS_DEFAULT_EXECUTOR``, then ``"local"``.
"""

from __future__ import annotations

import difflib
import inspect
import os
from typing import TYPE_CHECKING, Any

from smolagents_fork.distributions.import_names import import_names
from smolagents_fork.errors import (
    ConfigurationError,
    ConfigurationTypeError,
    ExecutorStartError,
    ForkError,
)
from smolagents_fork.executors import registry
from smolagents_fork.executors.agents.saving import as_given
from smolagents_fork.options import accept

if TYPE_CHECKING:
    from smolagents_fork.upstream import CodeAgent, PythonExecutor

__all__ = ["VARIABLE", "built_in_executor", "can_serve_managed_agents", "select_executor"]

#: Names the executor of agents whose code names none.
VARIABLE = "SMOLAGENTS_DEFAULT_EXECUTOR"

# The agent's own limit of printed text, and the option of that name.
_PRINT_LENGTH = "max_print_outputs_length"
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def select_executor(agent: CodeAgent, executor: Any, executor_class: Any) -> PythonExecutor:
    """Check the arguments and give the agent's executor, started where its class does that.

    Args:
        agent: the agent under construction, with its tools, managed agents, ``executor_type``
            and ``executor_kwargs`` set.
        executor: the caller's instance, or None.
        executor_class: the caller's class, its text ``module:qualname`` as the program of a saved
            agent has it, or None.

    Raises:
        ConfigurationTypeError: a class given as ``executor``, or as ``executor_class`` something
            that is not a class, or not a ``PythonExecutor``.
        ConfigurationError: both given, an unknown ``executor_type``, or managed agents that the
            executor cannot serve.
    """
    agent.executor_kwargs = as_given(agent.executor_kwargs)
    _name_modules(agent)
    if isinstance(executor_class, str) and ":" in executor_class:
        executor_class = _import_saved_class(agent, executor_class)
    _check_arguments(agent, executor, executor_class)
    chosen = ""
    if agent.executor_type is None:
        if executor is None and executor_class is None:
            chosen = os.environ.get(VARIABLE, "").strip()
        agent.executor_type = chosen or "local"
    # Remembered for cleanup() and to_dict(), which may run when the constructor has failed.
    agent.executor_class = executor_class
    agent._executor_given = executor is not None
    if executor is not None:
        _refuse_managed_agents(agent, executor, type(executor).__name__)
        if agent.max_print_outputs_length is not None:
            _note_unused_length(agent, f"executor={type(executor).__name__}(...)")
        return executor
    if executor_class is not None:
        return _create(agent, executor_class, executor_class.__name__)
    return _by_variable(agent, chosen) if chosen else _create_named(agent)


def _name_modules(agent: CodeAgent) -> None:
    """Give the prompt names that can be imported: ``sklearn`` for ``scikit-learn>=1.5``."""
    imports = accept.names("additional_authorized_imports", agent.additional_authorized_imports)
    base = set(agent.authorized_imports) - set(imports)
    agent.authorized_imports = sorted({*base, *import_names(imports)})


def built_in_executor(agent: CodeAgent) -> PythonExecutor | None:
    """Return the built-in executor that ``agent.executor_type`` names, None for other names.

    The hook on ``create_python_executor`` calls this, so that a subclass that extends the method
    gets the fork's executors too.
    """
    factory = registry.built_in(agent.executor_type)
    if factory is None:
        return None
    return _create(agent, factory, f"executor_type={agent.executor_type!r}")


def can_serve_managed_agents(executor: Any) -> bool:
    """Ask an executor (class, factory or instance) whether it can serve managed agents.

    The class attribute ``supports_managed_agents`` decides. Without it, upstream's
    ``RemotePythonExecutor`` classes cannot (they send tools as source text, which an agent has
    none of), other executor classes can (they are handed the live objects), and a bare factory
    function cannot be known to.
    """
    from smolagents_fork.upstream import PythonExecutor, RemotePythonExecutor

    declared = getattr(executor, "supports_managed_agents", None)
    if declared is not None:
        return bool(declared)
    executor_class = executor if inspect.isclass(executor) else type(executor)
    return not issubclass(executor_class, RemotePythonExecutor) and (
        issubclass(executor_class, PythonExecutor) or not inspect.isroutine(executor)
    )


def _import_saved_class(agent: CodeAgent, reference: str) -> Any:
    """Import the class that the program of a saved agent names, and drop the name it had there.

    Code may name what it likes; a class that a saved file names goes another way.
    """
    executor_type = agent.executor_type
    if executor_type == "instance":
        raise ConfigurationError(registry.describe_saved_instance(reference))
    if executor_type == "class":
        agent.executor_type = None
    try:
        return registry.import_reference(reference)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f"executor_class={reference!r} cannot be imported ({type(error).__name__}: {error}); "
            "write the class itself, or the text 'module:qualname' of one in a module on sys.path"
        ) from error


def _check_arguments(agent: CodeAgent, executor: Any, executor_class: Any) -> None:
    from smolagents_fork.upstream import PythonExecutor

    if isinstance(executor, str):
        raise ConfigurationTypeError(
            f"executor={executor!r} is text, not an instance; write executor_type={executor!r}"
        )
    if inspect.isclass(executor):
        raise ConfigurationTypeError(
            f"executor={executor.__name__} is a class, not an instance; write "
            f"executor_class={executor.__name__}"
        )
    if executor is not None and agent.executor_kwargs:
        raise ConfigurationError(
            f"executor_kwargs={agent.executor_kwargs!r} are for an executor that the agent "
            f"creates; pass them to {type(executor).__name__}(...), whose instance is executor="
        )
    if executor_class is None:
        return
    if not inspect.isclass(executor_class):
        raise ConfigurationTypeError(
            f"executor_class={executor_class!r} is not a class, but of type "
            f"{type(executor_class).__name__}; write executor=<the instance>, "
            f"executor_type=<a name>, or executor_class=<the class> with executor_kwargs={{...}}"
        )
    if not issubclass(executor_class, PythonExecutor):
        raise ConfigurationTypeError(
            f"executor_class={executor_class.__name__} is not a PythonExecutor; derive it: "
            f"class {executor_class.__name__}(smolagents.PythonExecutor)"
        )
    if executor is not None:
        raise ConfigurationError(
            f"both executor={type(executor).__name__} instance and "
            f"executor_class={executor_class.__name__} are passed; pass only one"
        )
    if agent.executor_type is not None:
        raise ConfigurationError(
            f"both executor_class={executor_class.__name__} and "
            f"executor_type={agent.executor_type!r} are passed; pass only one"
        )


def _is_overridden(agent: CodeAgent) -> bool:
    from smolagents_fork.upstream import CodeAgent

    own = type(agent).create_python_executor
    return own is not CodeAgent.create_python_executor or "create_python_executor" in vars(agent)


def _by_variable(agent: CodeAgent, name: str) -> PythonExecutor:
    from smolagents_fork.upstream import LogLevel

    try:
        executor = _create_named(agent)
    except (ValueError, TypeError, ExecutorStartError) as error:
        error_type = type(error) if isinstance(error, ForkError) else ConfigurationError
        raise error_type(
            f"{error} (executor_type comes from the variable {VARIABLE}={name})"
        ) from None
    agent.logger.log(
        f"Code runs in {type(executor).__name__}: {VARIABLE}={name}", level=LogLevel.INFO
    )
    return executor


def _create_named(agent: CodeAgent) -> PythonExecutor:
    if _is_overridden(agent):
        # A subclass's own method decides, as upstream has it.
        return agent.create_python_executor()
    return _by_name(agent)


def _by_name(agent: CodeAgent) -> PythonExecutor:
    name = agent.executor_type
    if not isinstance(name, str):
        raise ConfigurationTypeError(
            f"executor_type={name!r} is not a name; write executor_class=<the class> or one of: "
            f"{', '.join(registry.available_names())}"
        )
    executor = built_in_executor(agent)
    if executor is not None:
        return executor
    factory = registry.plug_in(name)
    if factory is not None:
        return _create(agent, factory, f"executor_type={name!r}")
    return _by_upstream(agent, name)


def _by_upstream(agent: CodeAgent, name: str) -> PythonExecutor:
    """Make the executor by upstream's own method.

    So a release's new executor works before the fork has one of that name.

    Raises:
        ConfigurationError: with upstream's words; one reason is that it does not know the name.
    """
    from smolagents_fork.upstream import CodeAgent

    try:
        executor: PythonExecutor = CodeAgent.create_python_executor(agent)
        return executor
    except ValueError as error:
        available = registry.available_names()
        close = difflib.get_close_matches(name.strip().lower(), available, 1)
        raise ConfigurationError(
            f"executor_type={name!r}: {error}. "
            f"{f'Did you mean {close[0]!r}? ' if close else ''}Available: {', '.join(available)}; "
            "pass another class as executor_class=<the class>"
        ) from error


def _create(agent: CodeAgent, factory: Any, label: str) -> PythonExecutor:
    from smolagents_fork.upstream import PythonExecutor

    if inspect.isclass(factory) and not issubclass(factory, PythonExecutor):
        raise ConfigurationTypeError(
            f"{label} resolves to {factory.__name__}, which is not a PythonExecutor"
        )
    if not callable(factory):
        raise ConfigurationTypeError(f"{label} resolves to {factory!r}, which cannot be called")
    _refuse_managed_agents(agent, factory, label)
    keywords = accept.mapping("executor_kwargs", agent.executor_kwargs)
    signature = _signature_of(factory)
    length = agent.max_print_outputs_length
    if length is not None:
        if any(
            parameter.name == _PRINT_LENGTH or parameter.kind is parameter.VAR_KEYWORD
            for parameter in signature.parameters.values()
        ):
            keywords = {_PRINT_LENGTH: length, **keywords}
        else:
            _note_unused_length(agent, label)
    by_place, by_keyword = _arguments_of_agent(agent, factory, signature)
    try:
        bound = signature.bind_partial(*by_place.values(), **by_keyword)
    except TypeError:
        raise ConfigurationTypeError(
            f"{label} is called with (additional_authorized_imports, logger, **executor_kwargs), "
            f"and takes {signature}; it needs these parameters"
        ) from None
    # Python would say that there are two values, and not where the second one comes from.
    for parameter, name in zip(bound.arguments, [*by_place, *by_keyword], strict=False):
        if parameter in keywords and signature.parameters[parameter].kind in _BY_NAME:
            raise ConfigurationError(
                f"executor_kwargs[{parameter!r}]: the agent passes its own {name} to the executor; "
                f"write {name}= as an argument of the agent, or create the executor yourself and "
                "write executor=<the instance>"
            )
    executor = factory(*by_place.values(), **keywords, **by_keyword)
    if not isinstance(executor, PythonExecutor):
        raise ConfigurationTypeError(
            f"{label} returned {type(executor).__name__}, which is not a PythonExecutor"
        )
    return executor


def _arguments_of_agent(
    agent: CodeAgent, factory: Any, signature: inspect.Signature
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what every executor gets of its agent, by place and by keyword.

    Args:
        signature: What it takes; a logger that it takes by keyword only is given so.
    """
    from smolagents_fork.upstream import LocalPythonExecutor

    by_place = {
        "additional_authorized_imports": agent.additional_authorized_imports,
        "logger": agent.logger,
    }
    by_keyword = {}
    logger = signature.parameters.get("logger")
    if logger is not None and logger.kind is logger.KEYWORD_ONLY:
        by_keyword["logger"] = by_place.pop("logger")
    parameters = [p for p in signature.parameters.values() if p.kind in _BY_PLACE]
    # Upstream's local executor is older than the contract, and so are classes derived from it.
    if (
        inspect.isclass(factory)
        and issubclass(factory, LocalPythonExecutor)
        and not any(
            parameter.name == "logger" or parameter.default is parameter.empty
            for parameter in parameters[1:2]
        )
    ):
        by_place.pop("logger", None)
    return by_place, by_keyword


def _signature_of(factory: Any) -> inspect.Signature:
    """Return the signature of a factory; any arguments if it does not say."""
    try:
        return inspect.signature(factory)
    except (ValueError, TypeError):
        return inspect.signature(lambda *_arguments: None)


def _note_unused_length(agent: CodeAgent, label: str) -> None:
    from smolagents_fork.upstream import LogLevel

    agent.logger.log(
        f"{_PRINT_LENGTH}={agent.max_print_outputs_length} of the agent does not reach {label}, "
        "which decides itself how much printed text it keeps",
        level=LogLevel.INFO,
    )


def _refuse_managed_agents(agent: CodeAgent, executor: Any, label: str) -> None:
    if agent.managed_agents and not can_serve_managed_agents(executor):
        names = ", ".join(sorted(agent.managed_agents))
        raise ConfigurationError(
            f"{label} cannot serve managed agents (here: {names}): its class does not set "
            "supports_managed_agents = True. Managed agents are not yet supported with remote "
            f"code execution there; use an executor that can: executor_type='docker', 'process' "
            f"or 'wasm'"
        )
