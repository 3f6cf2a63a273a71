"""The interpreter: state, tools, limits and runs."""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import InterpreterError, ProgramRefusedError
from . import messages, replaced, shared_keys, unraisable
from .guards import Guards
from .help import helper
from .kinds import SUPPOSED_BUILTINS
from .limits import Limits, Result
from .meter import FinalAnswer, LateStop, Meter, ProgramStop
from .modules import Modules
from .output import PrintContainer, truncated
from .policy import DEFAULT_IMPORTS
from .program import Program, compiled
from .replaced_output import OutputStream

__all__ = ["Interpreter"]

#: Seconds a thread waits for another's run on top of that run's own limit.
_PATIENCE = 10.0
_RESERVED = ("__builtins__", "__import__", "__loader__", "__spec__")


class Interpreter:
    """Runs programs in Python's own semantics, under policy and limits; keeps state between runs.

    Args:
        additional_authorized_imports: modules programs may import besides the default ones.
        limits: what one run may use.
        additional_functions: functions programs may call and may not overwrite.
        default_imports: modules programs may always import.
        state: the dict to keep the program's globals in; a new one by default.
        replaceable_functions: functions programs may call and may overwrite.
        extra_dunders: dunder attributes to allow on top of policy, at the caller's own risk.
        data_files: whether numpy and pandas may use files below the working directory.
    """

    def __init__(
        self,
        additional_authorized_imports: Iterable[str] = (),
        *,
        limits: Limits | None = None,
        additional_functions: Mapping[str, Callable[..., Any]] | None = None,
        default_imports: Iterable[str] = DEFAULT_IMPORTS,
        state: dict[str, Any] | None = None,
        replaceable_functions: Mapping[str, Callable[..., Any]] | None = None,
        extra_dunders: Iterable[str] = (),
        data_files: bool = False,
    ) -> None:
        self.limits = limits or Limits()
        self.meter = Meter(self.limits)
        authorized = {*default_imports, *additional_authorized_imports}
        self.modules = Modules(authorized, self.meter, data_files)
        self.guards = Guards(
            self.meter, self.modules.view, self.modules.is_view, self.modules.called_member
        )
        self.modules.guards = self.guards
        self.guards.data_files = data_files
        # Any library that is not Python's own may use numpy.
        roots = {one.split(".")[0] for one in authorized}
        self.guards.hardens = not roots <= sys.stdlib_module_names
        self.guards.roots = lambda: {one.split(".")[0] for one in self.modules.authorized}
        self.modules.sizes = self.guards.sizes
        self.guards.deepcopy = lambda x, memo: replaced.members("copy", self.modules)["deepcopy"](
            x, memo
        )
        self.guards.generator = lambda: (
            replaced.members("numpy.random", self.modules)["seed"].__self__
        )
        self.guards.changing = lambda module: self.modules.borrowed.use(module).changing()
        shared_keys.know_hosts()
        self.modules.borrowed = self.guards.host.borrowed
        self.modules.borrowed.defines = lambda: bool(self.guards.own or self.guards.derived)
        self.modules.threads = self.guards.host.threads
        self.meter.roots = self.guards.roots
        self.modules.namespace = self._namespace
        self.guards.extra_dunders = frozenset(extra_dunders)
        self.state: dict[str, Any] = {"__name__": "__main__"} if state is None else state
        self.guards.globals = self.state
        self.output = PrintContainer()
        self.modules.stdout = OutputStream("<stdout>", self._write)
        self.modules.stderr = OutputStream("<stderr>", self._write)
        self.guards.stdout = self.modules.stdout
        self._lock = threading.RLock()
        self._tools: dict[str, Any] = {}
        self._functions = dict(additional_functions or {})
        self._replaceable = dict(replaceable_functions or {})
        self._builtins: dict[str, Any] | None = None
        self._written: set[str] = set()
        self._files: set[str] = set()
        self._given: frozenset[str] = frozenset()
        self._protected: frozenset[str] = frozenset(self._functions)

    # -- what programs find --

    def send_tools(self, tools: Mapping[str, Callable[..., Any]]) -> None:
        """Make ``tools`` callable by name; programs may not assign to these names."""
        self._tools = dict(tools)
        self._protected = frozenset({*self._tools, *self._functions})
        self._builtins = None

    def protect(self, names: Iterable[str]) -> None:
        """Let programs not assign to ``names`` either, whatever they stand for."""
        self._protected = self._protected | frozenset(names)

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Put ``variables`` into the state; a module among them arrives as a view."""
        for name, value in variables.items():
            if name in _RESERVED:
                raise ProgramRefusedError(f"Cannot send a variable named {name!r}")
            if isinstance(value, types.ModuleType):
                value = self.modules.view(value)
            self.state[name] = value

    def _namespace(self) -> dict[str, Any]:
        if self._builtins is None:
            tools = {**self._tools, **self._functions}
            if tools.get("__import__") is __import__:
                tools["__import__"] = self.modules.import_by_name
            if "final_answer" in tools:
                tools["final_answer"] = self._final_answer(tools["final_answer"])
            self.modules.tools = frozenset(tools)
            given = {**self._replaceable, **tools}
            self._given = frozenset(name for name in SUPPOSED_BUILTINS if name in given)
            handed = {
                n: self.guards.handle(n, tool) for n, tool in {**self._replaceable, **tools}.items()
            }
            described = {**self._replaceable, **tools, **self._tools, **self._functions}
            shown = helper(handed, described, self.guards, self._print)
            namespace = self.guards.namespace({"print": self._print, "help": shown, **handed})
            namespace["__name__"] = "__main__"  # for states that do not say
            namespace["__doc__"] = None
            rounds = self.limits.max_while_iterations
            namespace.update(
                {
                    "@import": self.modules.import_,
                    "@import_from": self.modules.import_from,
                    "@import_all": self._import_all,
                    "@empties": lambda: itertools.repeat((), rounds + 1),
                }
            )
            self._builtins = namespace
        return self._builtins

    def _import_all(self, module: str) -> None:
        names = self.modules.names(module)
        self.state.update({n: value for n, value in names.items() if n not in self._protected})

    def _final_answer(self, tool: Callable[..., Any]) -> Callable[..., Any]:
        def final_answer(*arguments: Any, **keywords: Any) -> Any:
            self.meter.finish(tool(*arguments, **keywords))

        return final_answer

    def _print(self, *values: Any, **keywords: Any) -> None:
        separator, end = keywords.pop("sep", " "), keywords.pop("end", "\n")
        file, flush = keywords.pop("file", None), keywords.pop("flush", False)
        if keywords:
            print(**keywords)  # never prints: raises in the words of the running Python
        for name, given in (("sep", separator), ("end", end)):
            if given is not None and not isinstance(given, str):
                raise TypeError(f"{name} must be None or a string, not {type(given).__name__}")
        file = self.modules.stdout if file is None else file
        write = file.write
        separator = " " if separator is None else separator
        for position, value in enumerate(values):
            if position:
                write(separator)
            write(str(value))
        write("\n" if end is None else end)
        if flush:
            file.flush()

    def _write(self, text: str) -> None:
        if len(text) > 1000:
            self.meter.charge(len(text) >> 8)
        self.output.append(text)

    # -- runs --

    def run(self, code: str) -> Result:
        """Run ``code`` and return what it gave. Runs from several threads follow one another.

        Raises:
            InterpreterError: it is no Python.
            ProgramRefusedError: policy forbids something in it, found before or while it ran.
            ProgramFailedError: it raised; ``__cause__`` is the exception.
            LimitExceededError: it reached a limit.
            ProgramInterruptedError: :meth:`interrupt` was called.
        """
        timeout = self.limits.timeout_seconds
        if not self._lock.acquire(timeout=-1 if timeout is None else timeout + _PATIENCE):
            raise InterpreterError(
                f"This interpreter has been busy in another thread for {timeout} seconds and more; "
                "use one for each thread"
            )
        try:
            if self.meter.running:
                raise InterpreterError(
                    "This interpreter is running the program that made this call; "
                    "use another one for a run inside a run"
                )
            return self._run(code)
        finally:
            self._lock.release()

    def interrupt(self) -> None:
        """End the run that is going on, from another thread; without one nothing happens.

        It ends as at a limit, at its next look at the clock: no handler of the program keeps it.
        A tool at work that has an ``interrupt()`` is asked to stop; any other ends first.
        """
        if self.meter.interrupt():
            self.guards.host.interrupt()

    def _run(self, code: str) -> Result:
        limits = self.limits
        self.modules.stdout.forget_targets()
        self.modules.stderr.forget_targets()
        self.output = PrintContainer(limits.max_print_outputs_length)
        self.state["_print_outputs"] = self.output
        self.state["_operations_count"] = self.meter.count = {"counter": 0}
        program = self._compiled(code)
        function = self._function(program)
        meter = self.meter
        value: Any = None
        failure: BaseException | None = None
        with _recursion(limits.max_recursion_depth):
            threads = self.modules.threads
            self._files.add(program.filename)
            listener = unraisable.Listener(self.state, self.modules.stderr.write, self._files)
            threads.begin(listener)
            self.modules.borrowed.begin()
            unraisable.begin(listener)
            try:
                meter.begin(limits)
                self.state["_operations_count"] = meter.count
                try:
                    try:
                        value = self._call(program, function)
                    except Exception as error:
                        failure = messages.failed(error, program)
                    threads.wait()
                except (FinalAnswer, ProgramStop) as end:
                    if meter.final is None and meter.stop is None:
                        # A program got hold of the class and raised one of its own.
                        failure = messages.failed(end, program)
                    elif isinstance(end, LateStop):
                        meter.came_late(end)
                except (KeyboardInterrupt, GeneratorExit) as error:
                    if not messages.raised_by_program(error):
                        raise  # the host's
                    failure = messages.failed(error, program)
                except BaseException as error:
                    failure = messages.failed(error, program)
            except LateStop as late:
                meter.came_late(late)  # in the middle of one of these handlers
            finally:
                stop, final = meter.stop, meter.final
                while meter.running:
                    try:
                        meter.end()
                    except LateStop:
                        continue  # the last that can come
                unraisable.end()
                threads.end()
                self.modules.loops.end()
                self.modules.borrowed.end()
                if program.code.co_names:
                    shared_keys.settle_metaclasses()
                self.state.pop("__builtins__", None)
                self.output.value = truncated(self.output.value, limits.max_print_outputs_length)
        if stop is not None:
            raise messages.stopped(stop, program, waited=threads.waited)
        if final is not None:
            return Result(meter.answer, self.output.value, True)
        if failure is not None:
            raise failure
        return Result(value, self.output.value, False)

    def _compiled(self, code: str) -> Program:
        """``code`` compiled, without suppositions about numbers that the state contradicts."""
        state = self.state
        extra, most = self.guards.extra_dunders, self.limits.max_while_iterations
        hardens = self.guards.hardens
        self._namespace()
        taken = frozenset(name for name in SUPPOSED_BUILTINS if name in state) | self._given
        program = compiled(code, self._protected, extra, most, taken, hardens)
        wrong = [
            name
            for name in program.supposed
            if name in self._written
            or (name in state and type(state[name]) not in (int, float, bool))
            or (name not in state and name in self._builtins)  # type: ignore[operator]
        ]
        if wrong:
            taken |= {*wrong, "*"}
            program = compiled(code, self._protected, extra, most, taken, hardens)
        self._written |= program.written
        return program

    def _function(self, program: Program) -> types.FunctionType:
        # A function takes its builtins from its globals when it is made. The key stays while the
        # program runs: should anything evaluate a string in its globals, it finds the same guards.
        self.state["__builtins__"] = self._namespace()
        return types.FunctionType(program.code, self.state, "<module>", None, (self.meter.cell,))

    def _call(self, program: Program, function: types.FunctionType) -> Any:
        if not program.is_async:
            return function()
        coroutine = function()
        if not self.modules.allows("asyncio"):
            try:
                coroutine.send(None)
            except StopIteration as done:
                return done.value
            coroutine.close()
            raise InterpreterError(
                "The program waits for an event loop; authorise 'asyncio' to give it one"
            )
        from .replaced_waiting import run_coroutine

        with self.meter.unbroken():
            self.modules.borrowed.use("asyncio")
        return run_coroutine(self.modules, coroutine)


_recursion_lock = threading.Lock()
_recursion_users = 0
_recursion_before = 0


@contextlib.contextmanager
def _recursion(depth: int) -> Any:
    """Room for ``depth`` frames on top of the caller's; the process's own limit comes back."""
    global _recursion_users, _recursion_before
    here, frame = 0, sys._getframe()
    while frame is not None:
        here, frame = here + 1, frame.f_back  # type: ignore[assignment]
    with _recursion_lock:
        if _recursion_users == 0:
            _recursion_before = sys.getrecursionlimit()
        _recursion_users += 1
        wanted = here + depth
        if _recursion_users == 1 or wanted > sys.getrecursionlimit():
            sys.setrecursionlimit(wanted)
    try:
        yield
    finally:
        with _recursion_lock:
            _recursion_users -= 1
            if _recursion_users == 0:
                # Too low for where we are now would be an error; it cannot be, we were here before.
                sys.setrecursionlimit(_recursion_before)
