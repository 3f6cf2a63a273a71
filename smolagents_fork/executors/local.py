"""The local executor: upstream's interface over the compiling interpreter.

Not a sandbox: see SECURITY.md, and ProcessExecutor for a hard kill and memory limits.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

from .. import upstream_api
from ..bridge import directly
from ..errors import InterpreterError, TimeLimitExceededError
from ..interpreter import Interpreter, Limits
from ..upstream_api import CodeOutput, PythonExecutor
from .arguments import check_flag, check_functions, check_known, names_of, parameters_of

__all__ = ["LocalPythonExecutor", "evaluate_python_code"]

#: Upstream's DEFAULT_MAX_LEN_OUTPUT and MAX_EXECUTION_TIME_SECONDS.
_MAX_PRINT = 50_000
_TIMEOUT: float = 30
#: Names the interpreter guards itself; a tool of that name which is only the builtin is dropped.
_REFUSED_UNLESS_GIVEN = frozenset({"exec", "eval", "compile", "__import__", "globals", "locals"})


_classes: dict[str, type[InterpreterError]] = {}


def _joined(kind: type[InterpreterError]) -> type[InterpreterError]:
    """``kind`` as a class that is upstream's error, too: both sides' handlers catch it."""
    if kind.__name__ in _classes:
        return _classes[kind.__name__]
    timeout = issubclass(kind, TimeLimitExceededError)
    theirs = upstream_api.ExecutionTimeoutError if timeout else upstream_api.InterpreterError
    made = type(
        kind.__name__, (kind, theirs), {"__module__": kind.__module__, "__doc__": kind.__doc__}
    )
    return _classes.setdefault(kind.__name__, made)


def _as_upstreams(error: InterpreterError) -> InterpreterError:
    made = _joined(type(error))(*error.args)
    made.__cause__ = error.__cause__
    return made


def _default_limits(**given: Any) -> Limits:
    """Limits with upstream's module constants as defaults, which its users patch."""
    values: dict[str, Any] = {
        "max_operations": upstream_api.MAX_OPERATIONS,
        "max_while_iterations": upstream_api.MAX_WHILE_ITERATIONS,
    }
    values.update({name: value for name, value in given.items() if value is not _UNSET})
    return Limits(**values)


_UNSET: Any = object()


def _own_tools(tools: Mapping[str, Any]) -> dict[str, Any]:
    """``tools`` without the builtins the interpreter has itself, guarded."""
    base = upstream_api.BASE_PYTHON_TOOLS
    result = {}
    for name, tool in tools.items():
        builtin = getattr(builtins, name, None)
        is_builtin = builtin is not None and (tool is builtin or tool is base.get(name))
        if not is_builtin or name in _REFUSED_UNLESS_GIVEN:
            result[name] = tool
    return result


def _math_tools() -> dict[str, Any]:
    """Upstream's functions of :mod:`math` that need no import."""
    base = upstream_api.BASE_PYTHON_TOOLS
    return {name: tool for name, tool in base.items() if not hasattr(builtins, name)}


def evaluate_python_code(
    code: str,
    static_tools: dict[str, Callable[..., Any]] | None = None,
    custom_tools: dict[str, Callable[..., Any]] | None = None,
    state: dict[str, Any] | None = None,
    authorized_imports: Sequence[str] | None = None,
    max_print_outputs_length: int = _MAX_PRINT,
    timeout_seconds: float | None = _TIMEOUT,
) -> tuple[Any, bool]:
    """Run ``code`` once; upstream's function of that name, signature and result.

    Args:
        code: the program.
        static_tools: functions it may call and may not overwrite.
        custom_tools: functions it may call and may overwrite.
        state: variables before and after; gets ``_print_outputs`` and ``_operations_count``.
        authorized_imports: modules it may import; upstream's default list for ``None``.
        max_print_outputs_length: characters of its output that are kept.
        timeout_seconds: wall clock, in seconds; ``None`` for no limit.

    Returns:
        The value of the last expression or assignment, and whether it is the final answer.

    Raises:
        InterpreterError: ours and upstream's at once.
        ExecutionTimeoutError: upstream's, at the time limit.
    """
    static_tools = static_tools or {}
    if authorized_imports is None:
        authorized_imports = upstream_api.BASE_BUILTIN_MODULES
    interpreter = Interpreter(
        authorized_imports,
        limits=_default_limits(
            max_print_outputs_length=max_print_outputs_length, timeout_seconds=timeout_seconds
        ),
        default_imports=(),
        state={} if state is None else state,
        replaceable_functions=_own_tools(custom_tools or {}),
        extra_dunders=upstream_api.ALLOWED_DUNDER_METHODS,
    )
    interpreter.send_tools(_own_tools(static_tools))
    interpreter.protect(static_tools)
    try:
        result = interpreter.run(code)
    except InterpreterError as error:
        raise _as_upstreams(error) from error.__cause__
    return result.output, result.is_final_answer


class LocalPythonExecutor(PythonExecutor):  # type: ignore[misc]  # upstream ships no types
    """Runs agents' code in this process, in Python's own semantics, under policy and limits.

    Args:
        additional_authorized_imports: modules the code may import besides upstream's default list;
            ``pkg.*`` for a package with its submodules, ``*`` for everything.
        max_print_outputs_length: characters of a call's output that are kept; 50,000 by default.
        additional_functions: functions the code may call besides the tools.
        timeout_seconds: wall clock of one call, in seconds, without the time its tools work;
            ``None`` for no limit.
        max_operations: syntax-tree nodes one call may evaluate; 10,000,000 by default.
        max_while_iterations: iterations of one ``while`` loop; 1,000,000 by default.
        max_recursion_depth: frames of the program on the stack; 1000 by default.
        data_files: let numpy and pandas, where authorised, read and write files below the working
            directory; addresses (``http:``, ``s3:``, ``file:``) stay refused.

    Raises:
        InterpreterError: an authorised module is not installed.
    """

    supports_managed_agents: ClassVar[bool] = True

    def __init__(
        self,
        additional_authorized_imports: Sequence[str],
        max_print_outputs_length: int | None = None,
        additional_functions: dict[str, Callable[..., Any]] | None = None,
        timeout_seconds: float | None = _TIMEOUT,
        *,
        max_operations: int | None = None,
        max_while_iterations: int | None = None,
        max_recursion_depth: int | None = None,
        data_files: bool = False,
        **unknown: Any,
    ) -> None:
        check_known(type(self).__name__, unknown, parameters_of(LocalPythonExecutor))
        check_flag("data_files", data_files)
        self.max_print_outputs_length = (
            _MAX_PRINT if max_print_outputs_length is None else max_print_outputs_length
        )
        self.additional_authorized_imports = list(
            names_of("additional_authorized_imports", additional_authorized_imports)
        )
        self.authorized_imports = sorted(
            {*upstream_api.BASE_BUILTIN_MODULES, *self.additional_authorized_imports}
        )
        self._check_authorized_imports_are_installed()
        self.additional_functions = check_functions(additional_functions)
        self.timeout_seconds = timeout_seconds
        self.static_tools: dict[str, Any] | None = None
        self.custom_tools: dict[str, Any] = {}
        self._given = {
            "max_operations": max_operations,
            "max_while_iterations": max_while_iterations,
            "max_recursion_depth": max_recursion_depth,
        }
        self._interpreter = Interpreter(
            self.authorized_imports,
            limits=self._limits(),
            default_imports=(),
            additional_functions=_own_tools(self.additional_functions),
            replaceable_functions=_math_tools(),
            extra_dunders=upstream_api.ALLOWED_DUNDER_METHODS,
            data_files=data_files,
        )

    @property
    def state(self) -> dict[str, Any]:
        """The program's variables, live; with ``_print_outputs`` and ``_operations_count``."""
        return self._interpreter.state

    @state.setter
    def state(self, variables: dict[str, Any]) -> None:
        # Functions of earlier calls hold the dict itself, so its contents change, not the dict.
        if variables is not self._interpreter.state:
            self._interpreter.state.clear()
            self._interpreter.state.update(variables)

    def _limits(self) -> Limits:
        given = {name: value for name, value in self._given.items() if value is not None}
        return _default_limits(
            max_print_outputs_length=self.max_print_outputs_length,
            timeout_seconds=self.timeout_seconds,
            **given,
        )

    def _check_authorized_imports_are_installed(self) -> None:
        missing = [
            base
            for entry in self.authorized_imports
            if entry != "*" and find_spec(base := entry.split(".")[0]) is None
        ]
        if missing:
            raise _as_upstreams(
                InterpreterError(
                    f"Non-installed authorized modules: {', '.join(missing)}. Please install these "
                    "modules or remove them from the authorized imports list."
                )
            )

    def __call__(self, code_action: str) -> CodeOutput:
        """Run ``code_action`` (upstream's contract).

        Raises:
            InterpreterError: ours and upstream's at once.
            ExecutionTimeoutError: upstream's, at the time limit.
            ProgramInterruptedError: :meth:`interrupt` was called; an InterpreterError, too.
        """
        interpreter = self._interpreter
        interpreter.limits = self._limits()
        try:
            result = interpreter.run(code_action)
        except InterpreterError as error:
            raise _as_upstreams(error) from error.__cause__
        return CodeOutput(
            output=result.output, logs=result.logs, is_final_answer=result.is_final_answer
        )

    def interrupt(self) -> None:
        """End the code that runs now, from another thread; state is kept, and the call raises.

        Nothing runs: nothing happens. A tool at work is asked to stop if it has an
        ``interrupt()``, as agents have; any other ends first.
        """
        self._interpreter.interrupt()

    def send_variables(self, variables: dict[str, Any]) -> None:
        """Put ``variables`` into the state."""
        self._interpreter.send_variables(variables)

    def send_tools(self, tools: dict[str, Any]) -> None:
        """Make ``tools`` callable by name, in place of those sent before."""
        self.static_tools = {**tools, **upstream_api.BASE_PYTHON_TOOLS, **self.additional_functions}
        own = {name: directly(name, tool) for name, tool in _own_tools(tools).items()}
        self._interpreter.send_tools(own)

    def cleanup(self) -> None:
        """Nothing is kept outside the process; there for the executors' common contract."""
