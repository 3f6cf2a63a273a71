"""Local executor: upstream's interface of the compiling interpreter.

Not a sandbox: see SECURITY.md, and ProcessExecutor for a hard kill and memory limits.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import importlib
import os
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ... import telemetry, upstream
from ...bridge import CallRecord, check_name, directly, offer
from ...call_output import OutputCallback
from ...codec import Variables, is_public
from ...codec.types.image_values import open_pictures
from ...control.control import Control
from ...displays import DisplayLog
from ...distributions.import_names import import_names, missing_packages
from ...errors import (
    AuditError,
    ConfigurationError,
    ExecutorError,
    ForkError,
    InterpreterError,
    ProgramFailedError,
)
from ...folders.file_store import FileStore
from ...interpreter.guarded import Interpreter, RunLimits
from ...interpreter.guarded.policy import REFUSED_BUILTINS
from ...interpreter.imports import is_authorized
from ...options import accept
from ...options.option import taking
from ...output import DEFAULT_PRINT_LENGTH, PrintContainer
from ...results import Display
from ...system.forks import reset_in_child
from ...system.free_threading import check_global_lock
from ...text.representation import represent
from ...text.texts import class_name, exact_text, plain_text, without_text
from ...upstream import CodeOutput, PythonExecutor
from ..calls import check_code
from ..figures import FigureFolder
from ..file_transfers import FileMethods, GivenFiles
from .local_errors import as_upstreams, is_class_of_host
from .local_files import LocalFiles
from .local_options import LocalArguments

__all__ = ["LocalPythonExecutor", "evaluate_python_code"]

#: Upstream's DEFAULT_MAX_LEN_OUTPUT and MAX_EXECUTION_TIME_SECONDS.
_TIMEOUT: float = 30
#: Limits of the interpreter that are its own unless they are given.
_COUNTED = (
    "max_operations",
    "max_while_iterations",
    "max_recursion_depth",
    "max_items",
    "max_text_length",
    "max_integer_bits",
)
#: Seconds a call waits for one in another thread on top of that call's own limit.
_PATIENCE = 10.0
#: Half of the memory that the displays of one call may use, in bytes.
_MAX_DISPLAY_BYTES = 256 * 1024 * 1024
_INSIDE = (
    "This executor is running the program that made this call; use another one for a run inside a "
    "run"
)
#: Name in the state of a value whose text is being made.
_VALUE = "_output_of_the_last_call"


# Of the dict that a copy is made from.
_STATE, _MODULES, _PRINTED, _HAS_TOOLS = "variables", "modules", "printed", "has tools"


def _is_the_interpreters(name: str, tool: Any) -> bool:
    """Tell whether ``tool`` is a builtin or upstream's form of one, and programs have their own.

    A builtin that programs do not have, such as ``open``, is the permission to call it.
    """
    builtin = getattr(builtins, name, None)
    if builtin is None or name in REFUSED_BUILTINS:
        return False
    return (
        tool is builtin or getattr(tool, "__module__", None) == upstream.PythonExecutor.__module__
    )


def _own_tools(
    tools: Mapping[str, Any],
    before_call: Callable[[str, Mapping[str, Any]], None] | None = None,
    after_call: Callable[[CallRecord], None] | None = None,
) -> dict[str, Any]:
    """Return ``tools``, called as in a sandbox, without builtins that the interpreter guards.

    A tool by a name that code cannot write is left out, with a warning that names it.
    """

    def check(name: str, _tool: Any) -> None:
        if name not in REFUSED_BUILTINS:  # __import__ among them
            check_name(name)

    offered = offer(tools, check).items()
    own = [(name, tool) for name, tool in offered if not _is_the_interpreters(name, tool)]
    return {name: directly(name, tool, before_call, after_call) for name, tool in own}


def _write_figures(interpreter: Interpreter, state: dict[str, Any]) -> None:
    """Put the run's output and its count of operations into ``state``, over the program's values.

    Upstream's agent and tools read both names there.
    """
    printed = interpreter.output
    try:
        str(printed)
    except Exception:  # the program has appended a value that is not text
        printed = PrintContainer(interpreter.limits.max_print_outputs_length)
    state["_print_outputs"] = printed
    state["_operations_count"] = {"counter": interpreter.meter.count}


#: Types whose instances an agent can inspect without running a program's code.
_PASSIVE = frozenset({bool, bytes, dict, float, int, list, set, str, tuple, type(None)})
#: Attributes that ``isinstance`` reads; upstream's agent calls it with every answer.
_READ_BY_ISINSTANCE = frozenset({"__class__", "__getattribute__"})
_MRO, _DICT = vars(type)["__mro__"], vars(type)["__dict__"]


def _passive(value: Any, text_of: Callable[[Any], str]) -> Any:
    """Return ``value``, or its text if inspecting it would run a program's code.

    An instance of a program's subclass of ``str`` becomes a plain ``str``. Upstream's agent
    converts it in any case, but by methods of that class.

    Args:
        text_of: makes the text of a value within the limits of a call.
    """
    if type(value) in _PASSIVE:
        return value
    for cls in _MRO.__get__(type(value)):
        if cls is str:
            return exact_text(value)
        if cls is object or is_class_of_host(cls):
            break
        if _READ_BY_ISINSTANCE & _DICT.__get__(cls).keys():
            return text_of(value)
    return value


def evaluate_python_code(
    code: str,
    static_tools: dict[str, Callable[..., Any]] | None = None,
    custom_tools: dict[str, Callable[..., Any]] | None = None,
    state: dict[str, Any] | None = None,
    authorized_imports: Sequence[str] | None = None,
    max_print_outputs_length: int = DEFAULT_PRINT_LENGTH,
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
        InterpreterError: a class that is the fork's and upstream's.
        ExecutionTimeoutError: upstream's, at the time limit.
    """
    check_global_lock("LocalPythonExecutor")
    static_tools = static_tools or {}
    if authorized_imports is None:
        authorized_imports = upstream.BASE_BUILTIN_MODULES
    interpreter = Interpreter(
        import_names(authorized_imports),
        limits=RunLimits(
            max_while_iterations=upstream.MAX_WHILE_ITERATIONS,
            max_print_outputs_length=max_print_outputs_length,
            timeout_seconds=timeout_seconds,
        ),
        default_imports=(),
        state={} if state is None else state,
        extra_dunders=upstream.ALLOWED_DUNDER_METHODS,
    )
    interpreter.send_functions({}, _own_tools(custom_tools or {}))
    interpreter.send_tools(_own_tools(static_tools))
    interpreter.protect(static_tools)
    try:
        result = interpreter.run(code)
    except InterpreterError as error:
        failure = as_upstreams(error)
    else:
        return _passive(result.output, class_name), result.is_final_answer
    finally:
        _write_figures(interpreter, interpreter.state)
    raise failure from failure.__cause__


def _from_upstream(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of a copy for attributes that upstream's executor was pickled with."""
    kept = dict(kept)
    variables, tools = dict(kept.pop("state")), kept.pop("static_tools")
    printed = variables.pop("_print_outputs", None)
    functions = {**upstream.BASE_PYTHON_TOOLS, **kept["additional_functions"]}
    sent = {name: tool for name, tool in (tools or {}).items() if functions.get(name) is not tool}
    return {
        **LocalPythonExecutor([]).__getstate__(),
        **kept,
        "_sent_tools": sent,
        _STATE: variables,
        _PRINTED: None if printed is None else str(printed),
        _HAS_TOOLS: tools is not None,
    }


_executors: weakref.WeakSet[LocalPythonExecutor] = weakref.WeakSet()


@reset_in_child
def _after_fork() -> None:
    for executor in list(_executors):
        executor.leave_to_parent()


class LocalPythonExecutor(FileMethods, PythonExecutor):  # type: ignore[misc]  # upstream ships no types
    """Executor that runs code in this process, with Python's semantics, under policy and limits.

    :class:`.local_options.LocalArguments` has the arguments, with what each is for.

    Args:
        *arguments: ``additional_authorized_imports``, ``max_print_outputs_length``,
            ``additional_functions``, ``timeout_seconds``.
        **keywords: Further options, and these four by keyword.

    Raises:
        ConfigurationError: an argument is invalid.
        InterpreterError: an authorised module is not installed, or in another version.

    Example:
        >>> executor = LocalPythonExecutor(["json"])
        >>> executor("import json\\njson.dumps({'a': 1})").output
        '{"a": 1}'
    """

    supports_managed_agents: ClassVar[bool] = True

    @taking(LocalArguments)
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        check_global_lock(type(self).__name__)
        options = LocalArguments.of(type(self).__name__, arguments, keywords)
        self.max_print_outputs_length = options.max_print_outputs_length or DEFAULT_PRINT_LENGTH
        self.logger = options.logger
        self.additional_authorized_imports = list(options.additional_authorized_imports)
        self._check_authorized_imports_are_installed()
        names = import_names(self.additional_authorized_imports)
        self.authorized_imports = sorted({*upstream.BASE_BUILTIN_MODULES, *names})
        self.additional_functions = dict(options.additional_functions or {})
        self.timeout_seconds = options.timeout_seconds
        self.static_tools: dict[str, Any] | None = None
        self.custom_tools: dict[str, Any] = {}
        self._given = {name: getattr(options, name) for name in _COUNTED}
        self._sent_tools: dict[str, Any] = {}
        self.on_output = options.on_output
        self.before_run, self.before_tool = options.before_run, options.before_tool
        self.audit, self.audit_required = options.audit, options.audit_required
        self._folder = FigureFolder(options.figures_dir)
        self._given_files = GivenFiles.of(options.files)
        self._start()
        if self._given_files.wanted:
            self._files.folder()

    def __repr__(self) -> str:
        """Return what the executor is, where its code runs, its limits and its state."""
        state = "running code" if getattr(self, "_in_call", False) else "ready"
        return represent(self, state, "this process", self)

    def _start(self) -> None:
        """Make the parts that a copy of the executor does not share."""
        self._turns = threading.RLock()
        self._control = Control(
            type(self).__name__,
            self.before_run,
            self.before_tool,
            self.audit,
            audit_required=self.audit_required,
        )
        self._in_call = False
        # Whether a forked copy of the process has the half of another thread's call.
        self._half_run = False
        _executors.add(self)
        #: Figures and displayed values of the last call.
        self.displays: tuple[Display, ...] = ()
        self._shown = DisplayLog(_MAX_DISPLAY_BYTES, self._folder.save)
        self._output_callback = OutputCallback(None)
        self._operation = telemetry.Operation()
        self._interpreter = Interpreter(
            self.authorized_imports,
            limits=self._limits(),
            default_imports=(),
            extra_dunders=upstream.ALLOWED_DUNDER_METHODS,
            on_output=self._tell,
            on_display=self._show,
        )
        self._sent_functions: tuple[Mapping[str, Any], ...] = ()
        self._send_functions()
        self._files = LocalFiles(self._given_files)
        if self._given_files.wanted:
            self._interpreter.send_builtins({"open": self._files.opener()})

    def _send_functions(self) -> None:
        """Give programs the functions that the user permits, also those permitted meanwhile."""
        base, additional_functions = upstream.BASE_PYTHON_TOOLS, self.additional_functions
        if self._sent_functions != (base, additional_functions):
            given_functions = accept.functions("additional_functions", additional_functions)
            functions = self._own(given_functions)
            self._interpreter.send_functions(functions, _own_tools(base))
            self._sent_functions = (dict(base), dict(additional_functions))

    def _tell(self, text: str) -> None:
        self._output_callback(text)

    def _show(self, bundle: Mapping[str, Any]) -> None:
        self._shown.add(open_pictures(bundle))

    # -- copy.copy(), copy.deepcopy() and pickle --

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the interpreter, with the program's variables."""
        own = (
            "_turns",
            "_control",
            "_in_call",
            "_half_run",
            "_interpreter",
            "_files",
            "static_tools",
            "displays",
            "_shown",
            "_output_callback",
            "_operation",
            "_sent_functions",
            "logger",
        )
        kept = {name: value for name, value in vars(self).items() if name not in own}
        printed = self.state.get("_print_outputs")
        variables, modules = {}, {}
        for name, value in self.state.items():
            if isinstance(value, types.ModuleType):
                modules[name] = value.__name__
            elif name != "_print_outputs":
                variables[name] = value
        return {
            **kept,
            _STATE: variables,
            _MODULES: modules,
            _PRINTED: None if printed is None else str(printed),
            _HAS_TOOLS: self.static_tools is not None,
        }

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Make an interpreter of its own, with the same tools and variables."""
        kept = dict(kept) if _STATE in kept else _from_upstream(kept)
        variables, modules = kept.pop(_STATE), kept.pop(_MODULES)
        printed, has_tools = kept.pop(_PRINTED), kept.pop(_HAS_TOOLS)
        if printed is not None:
            container = PrintContainer(kept["max_print_outputs_length"])
            container.value = printed
            variables = {**variables, "_print_outputs": container}
        self.__dict__.update(kept)
        self.static_tools = self.logger = None
        self._start()
        if has_tools:
            self.send_tools(self._sent_tools)
        self.state = variables
        allowed = {n: m for n, m in modules.items() if is_authorized(m, self.authorized_imports)}
        self.send_variables({n: importlib.import_module(m) for n, m in allowed.items()})

    def __deepcopy__(self, memo: dict[int, Any]) -> LocalPythonExecutor:
        """Copy the executor and its variables; functions and classes of the program are shared.

        As in upstream, they keep the variables, tools and limits of the executor that made them.
        """
        kept = self.__getstate__()
        variables = kept.pop(_STATE)
        clone = memo[id(self)] = type(self).__new__(type(self))
        clone.__setstate__({**copy.deepcopy(kept, memo), _STATE: {}})
        clone._interpreter.adopt(self._interpreter)
        clone.state.update(copy.deepcopy(variables, memo))
        return clone

    @property
    def state(self) -> dict[str, Any]:
        """Variables of the program, live; with ``_print_outputs`` and ``_operations_count``."""
        return self._interpreter.state

    @state.setter
    def state(self, variables: dict[str, Any]) -> None:
        # Functions of earlier calls refer to the dict, so its contents change, not the dict.
        if variables is not self._interpreter.state:
            self._interpreter.state.clear()
            self._interpreter.state.update(variables)

    def _limits(self) -> RunLimits:
        # Read at every call: users change the attributes, and upstream's constants.
        limits = {name: value for name, value in self._given.items() if value is not None}
        return RunLimits(
            **{"max_while_iterations": upstream.MAX_WHILE_ITERATIONS, **limits},
            max_print_outputs_length=self.max_print_outputs_length,
            timeout_seconds=self.timeout_seconds,
        )

    def _check_authorized_imports_are_installed(self) -> None:
        if message := missing_packages(self.additional_authorized_imports):
            raise as_upstreams(InterpreterError(message))

    def __call__(self, code_action: str) -> CodeOutput:
        """Run ``code_action`` (upstream's contract).

        Raises:
            InterpreterError: a class that is the fork's and upstream's.
            ExecutionTimeoutError: upstream's, at the time limit.
            ProgramInterruptedError: :meth:`interrupt` was called; an InterpreterError, too.
            ConfigurationError: ``code_action`` is not text.
        """
        check_code(code_action)
        self._take_turn()
        try:
            if self._in_call:
                raise as_upstreams(InterpreterError(_INSIDE))
            self._in_call = True
            try:
                with telemetry.operation("call", type(self).__name__) as self._operation:
                    return self._call(code_action)
            finally:
                self._in_call = False
                self._operation = telemetry.Operation()
        finally:
            self._turns.release()

    def _call(self, code: str) -> CodeOutput:
        interpreter = self._interpreter
        interpreter.limits = self._limits()
        self._send_functions()
        failed: Exception
        self.displays, self._output_callback = (), OutputCallback(self.on_output)
        self._shown = shown = DisplayLog(_MAX_DISPLAY_BYTES, self._folder.save)
        # What upstream's agent reads after an error is of this call, though none may run.
        interpreter.output = PrintContainer(self.max_print_outputs_length)
        try:
            try:
                with self._control.run(code) as allowed:
                    result = interpreter.run(allowed)
                    if not result.is_final_answer:
                        shown.add_value(result.output)
            finally:
                # Before the output's text is made, which is a run of its own.
                _write_figures(interpreter, interpreter.state)
        except ForkError as error:
            failed = error
        except Exception as error:
            # Raised by the interpreter's work on values of the program.
            failed = ProgramFailedError(
                f"Code execution failed, and its result could not be read: {class_name(error)}"
            )
        else:
            return CodeOutput(
                output=_passive(result.output, self._format_output),
                logs=exact_text(result.logs) + self._notes(),
                is_final_answer=result.is_final_answer,
            )
        finally:
            self.displays = tuple(shown.displays)
        if not isinstance(failed, InterpreterError):
            raise failed
        failure = as_upstreams(failed, self._format_output, self._file_advice(failed.__cause__))
        raise failure from failure.__cause__

    def _file_advice(self, cause: BaseException | None) -> str:
        """Say how a library gets a file of ``files=``, which only the code's ``open()`` finds."""
        path = cause.filename if type(cause) is FileNotFoundError else None
        if type(path) is not str or not self._given_files.wanted:
            return ""
        with contextlib.suppress(ExecutorError, OSError):
            files = self._files.folder().list_files(".")
            if any(file.path == os.path.normpath(path) for file in files):
                return f"\nLibraries look for files elsewhere: pass open({path!r}, 'rb') to them"
        return ""

    def _own(self, tools: Mapping[str, Any]) -> dict[str, Any]:
        """Return tools as programs call them: asked about and recorded, where that is wanted."""
        if self._control.before_call is None:
            return _own_tools(tools)
        return _own_tools(tools, self._before_call, self._after_call)

    def _before_call(self, name: str, arguments: Mapping[str, Any]) -> None:
        before = self._control.before_call
        if before is not None:
            with self._ended_without_record():
                before(name, arguments)

    def _after_call(self, record: CallRecord) -> None:
        with self._ended_without_record():
            self._control.after_call(record)

    @contextlib.contextmanager
    def _ended_without_record(self) -> Iterator[None]:
        """End the run where a line of the record is lost: a program could catch the error."""
        try:
            yield
        except AuditError:
            self._interpreter.interrupt()
            raise

    def _notes(self) -> str:
        return self._shown.note() + self._output_callback.note()

    def leave_to_parent(self) -> None:
        """Separate the executor of a forked copy of the process; called in the copy.

        The variables are memory, so each process has its own. Files are not.
        """
        if self._turns.acquire(blocking=False):  # it is free, or this thread's
            self._turns.release()
        else:
            self._half_run = True
        self._files.leave_to_parent()

    def _check_whole(self) -> None:
        if self._half_run:
            raise as_upstreams(
                InterpreterError(
                    "Another thread was running a program in this executor when the process was "
                    "forked, and its copy here has half of that run; create another executor in "
                    "this process, after the fork"
                )
            )

    def _take_turn(self) -> None:
        """Wait for a call in another thread, a little longer than its limit."""
        self._check_whole()
        timeout = self.timeout_seconds
        if not self._turns.acquire(timeout=-1 if timeout is None else timeout + _PATIENCE):
            raise as_upstreams(
                InterpreterError(
                    f"This executor has been busy in another thread for more than {timeout} "
                    "seconds; use one for each thread"
                )
            )

    def text_of_output(self, output: Any) -> str:
        """Return ``str(output)`` for the agent, made within the limits of a call, without tools.

        Args:
            output: Value that a call returned, perhaps an instance of the program's own class.

        Returns:
            the text, or the reason why there is none.
        """
        text = plain_text(output)
        if text is not None:
            return text
        self._take_turn()
        try:
            if self._in_call:  # the program waits for the tool that asks
                return without_text(output, InterpreterError(_INSIDE))
            return self._format_output(output)
        finally:
            self._turns.release()

    def _format_output(self, value: Any) -> str:
        interpreter, state = self._interpreter, self.state
        names = ("_print_outputs", "_operations_count")
        figures = {name: state[name] for name in names if name in state}
        state[_VALUE] = value
        try:
            text = interpreter.run(f"f'{{{_VALUE}!s}}'", tools=False).output
            # A __str__ that exits in success ends the run without a value.
            return without_text(value, SystemExit()) if text is None else exact_text(text)
        except InterpreterError as error:
            return without_text(value, error.__cause__ or error)
        finally:
            state.pop(_VALUE, None)
            state.update(figures)

    def interrupt(self) -> None:
        """Interrupt the running code from another thread; state is kept, and the call raises.

        No-op when idle. A running tool is interrupted if it has an ``interrupt()``, as agents have;
        any other tool runs to its end first.
        """
        with telemetry.operation("interrupt", type(self).__name__, self._operation.context):
            self._control.interrupt()
            self._interpreter.interrupt()

    def send_variables(self, variables: dict[str, Any]) -> None:
        """Put ``variables`` into the state."""
        self._check_whole()
        variables = accept.mapping("variables", variables)
        self._interpreter.send_variables(variables)

    def remove_variables(self, names: Sequence[str]) -> None:
        """Remove variables of the code.

        Args:
            names: Names of variables; those that are not there are ignored.
        """
        self._check_whole()
        for name in accept.names("names", names):
            self.state.pop(name, None)

    def variables(self) -> Variables:
        """Return the program's public variables, functions and classes: the objects themselves."""
        variables = {name: value for name, value in self.state.items() if is_public(name)}
        modules = [name for name in variables if isinstance(variables[name], types.ModuleType)]
        for name in modules:
            del variables[name]
        return Variables(variables, dict.fromkeys(modules, "a module"))

    def send_tools(self, tools: dict[str, Any]) -> None:
        """Make ``tools`` callable by name, in place of those sent before."""
        self._check_whole()
        tools = accept.mapping("tools", tools)
        self.static_tools = {**tools, **upstream.BASE_PYTHON_TOOLS, **self.additional_functions}
        self._send_functions()
        self._sent_tools = dict(tools)
        self._interpreter.send_tools(self._own(tools))

    @property
    def folder(self) -> str | None:
        """Work folder of the code's ``open()``; ``None`` without ``files=``."""
        return self._files.folder().path if self._given_files.wanted else None

    @contextlib.contextmanager
    def _file_store(self, action: str) -> Iterator[FileStore]:
        if not self._given_files.wanted:
            raise ConfigurationError(
                f"{action}: this executor was created without files: pass files= to it, even {{}}"
            )
        yield self._files.folder()

    def cleanup(self) -> None:
        """Remove the work folder of ``files=``; the executor has no other resources."""
        control = getattr(self, "_control", None)
        if control is not None:
            control.close()
        files = getattr(self, "_files", None)
        if files is not None:  # the constructor may have failed
            files.remove()
