"""The interpreter: state, tools, limits and runs. Composes its parts once, in its constructor."""

from __future__ import annotations

import ast
import contextlib
import inspect
import pydoc
import signal
import textwrap
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InterpreterError, ProgramFailedError, ProgramRefusedError
from ...output import PrintContainer, print_whole
from ...text.texts import class_name, encodable, is_successful_exit
from .. import messages
from ..imports import DEFAULT_IMPORTS
from ..program_text import CompiledProgram
from ..stops import FinalAnswer, ProgramStop
from .compiling.ast_builders import place_of
from .compiling.program import bind, compile_program
from .guards.attributes import AttributeGuard
from .guards.builtins_table import program_builtins, program_guards
from .guards.program_classes import ProgramClasses
from .guards.sizes import Sizes
from .guards.tools import ToolCaller
from .guards.views import ModuleViews
from .meter import Meter, RunLimits, recursion_room
from .modules.event_loops import EventLoops
from .modules.overrides import InterpreterParts, overrides_of
from .modules.places import ProgramPlaces, note_import
from .modules.threads import ProgramThreads
from .policy import REFUSED_BUILTINS

__all__ = ["Interpreter", "Result"]

_RESERVED = ("__builtins__", "__import__", "__loader__", "__spec__")


@dataclass
class Result:
    """Result of a run.

    Args:
        output: value of the last expression or assignment at the top level, or the final answer.
        logs: what the run printed, cut to ``max_print_outputs_length``.
        is_final_answer: whether the run ended in ``final_answer(...)``.
    """

    output: Any
    logs: str
    is_final_answer: bool


class Interpreter:
    """Runs programs in Python's own semantics, under policy and limits; keeps state between runs.

    Args:
        additional_authorized_imports: modules programs may import besides the default ones.
        limits: what one run may use.
        default_imports: modules programs may always import.
        state: the dict to keep the program's globals in; a new one by default.
        extra_dunders: dunder attributes to allow on top of policy, at the caller's own risk.
        on_output: takes printed text while the program runs, in the thread that prints.
        on_display: takes the MIME bundle of each figure and displayed value, in the same way.
    """

    def __init__(
        self,
        additional_authorized_imports: Iterable[str] = (),
        *,
        limits: RunLimits | None = None,
        default_imports: Iterable[str] = DEFAULT_IMPORTS,
        state: dict[str, Any] | None = None,
        extra_dunders: Iterable[str] = (),
        on_output: Callable[[str], None] | None = None,
        on_display: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        self.limits = limits or RunLimits()
        self.state: dict[str, Any] = {"__name__": "__main__"} if state is None else state
        self.output = PrintContainer()
        self.meter = Meter(self.limits)
        self._extra_dunders = frozenset(extra_dunders)
        self._sizes = Sizes(self.meter)
        self._classes = ProgramClasses()
        authorized = {*default_imports, *additional_authorized_imports}
        self.modules = ModuleViews(authorized, self._overrides)
        self._attributes = AttributeGuard(
            self._classes, weakref.proxy(self.modules), self._extra_dunders
        )
        self._places = ProgramPlaces(self._write, self.state, self.modules.real, on_display)
        self._on_output = on_output
        self._threads = ProgramThreads(self.meter, self._places)
        waiting = self._threads.members()
        self._loops = EventLoops(self.meter, waiting["ThreadPoolExecutor"])
        self._parts = InterpreterParts(
            self._sizes,
            self._attributes,
            self._places,
            {**waiting, "run": self._loops.run, "get_event_loop": self._loops.get},
            self.modules,
        )
        self._caller = ToolCaller(
            self.meter, self._classes.owns, self._attributes.check, self._places.suspended
        )
        self._tools: dict[str, Any] = {}
        self._functions: dict[str, Any] = {}
        self._replaceable: dict[str, Any] = {}
        self._builtins: dict[str, Any] | None = None
        self._given_builtins: dict[str, Any] = {}
        #: The guards of this interpreter's programs, by the constants that stand for them.
        self._guards: dict[Any, Any] = {}
        self._protected: frozenset[str] = frozenset()

    # -- what programs find --

    def send_tools(self, tools: Mapping[str, Callable[..., Any]]) -> None:
        """Make ``tools`` callable by name; programs may not assign to these names."""
        self._tools = dict(tools)
        self._protected = frozenset({*self._tools, *self._functions})
        self._builtins = None

    def send_functions(self, functions: Mapping[str, Any], replaceable: Mapping[str, Any]) -> None:
        """Make functions callable beside the tools; the second ones may be overwritten."""
        self._functions, self._replaceable = dict(functions), dict(replaceable)
        self.send_tools(self._tools)

    def send_builtins(self, builtins: Mapping[str, Any]) -> None:
        """Let programs have ``builtins``, which policy refuses: something else confines them."""
        self._given_builtins = dict(builtins)
        self._builtins = None

    def protect(self, names: Iterable[str]) -> None:
        """Let programs not assign to ``names`` either, whatever they stand for."""
        self._protected = self._protected | frozenset(names)

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Put ``variables`` into the state, all or none; a module arrives as a view.

        Raises:
            ProgramRefusedError: a name is the interpreter's own, or a module is not authorised.
        """
        values = dict(variables)
        for name, value in variables.items():
            if name in _RESERVED:
                raise ProgramRefusedError(f"Cannot send a variable named {name!r}")
            if isinstance(value, types.ModuleType):
                values[name] = self.modules.view(value)
        self.state.update(values)

    def _namespace(self) -> dict[str, Any]:
        """Make the builtins of programs, for the tools at hand."""
        if self._builtins is not None:
            return self._builtins
        tools = {**self._tools, **self._functions}
        if tools.get("__import__") is __import__:
            tools["__import__"] = self.modules.import_by_name
        if "final_answer" in tools:
            tools["final_answer"] = self._final_answer(tools["final_answer"])
        self.modules.tools = frozenset(tools)
        callables = {**self._replaceable, **tools}
        handed = {name: self._caller.proxy(name, tool) for name, tool in callables.items()}
        self._builtins = program_builtins(
            self._attributes,
            self._sizes,
            {
                "print": self._print,
                "help": self._help,
                "display": self._places.displays.display,
                **self._given_builtins,
                **handed,
            },
        )
        guards = program_guards(self._attributes, self._classes, self._sizes, self.meter)
        imports = (self.modules.import_module, self.modules.import_from, self._import_all)
        names = ("import", "import_from", "import_all")
        guards |= dict(zip(names, map(_weak, imports), strict=True))
        self._guards = {place_of(name): value for name, value in guards.items()}
        # For states that do not say.
        self._builtins |= {"__name__": self._classes.module, "__doc__": None}
        return self._builtins

    def _import_all(self, module: str) -> None:
        names = self.modules.names(module)
        self.state.update({n: value for n, value in names.items() if n not in self._protected})

    def _final_answer(self, tool: Callable[..., Any]) -> Callable[..., Any]:
        def final_answer(*arguments: Any, **keywords: Any) -> Any:
            self.meter.finish(tool(*arguments, **keywords))

        return final_answer

    def _print(self, *values: Any, file: Any = None, **keywords: Any) -> None:
        print_whole(*values, file=file, own=self._places, **keywords)

    def _help(self, *values: Any) -> None:
        """Print what Python's ``help`` shows, without a pager; a text would import by name."""
        for value in values:
            thing = str if isinstance(value, str) else value
            self._print(pydoc.plain(pydoc.render_doc(thing, "Help on %s:")))

    def _write(self, text: str) -> None:
        text = encodable(text)
        if len(text) > 1000:
            self.meter.charge(len(text) >> 8)
        if self._on_output is not None:
            with self._places.suspended():
                self._on_output(text)
        self.output.append(text)

    def adopt(self, other: Interpreter) -> None:
        """Let programs treat what those of ``other`` made as their own; it is not running."""
        self._classes.adopt(other._classes)

    def _overrides(self, module: types.ModuleType) -> dict[str, Any]:
        note_import(module)
        return overrides_of(module, self._parts)

    # -- runs --

    def run(self, code: str, *, tools: bool = True) -> Result:
        """Run ``code`` and return what it gave. The caller lets one run follow the other.

        Args:
            code: the program.
            tools: whether it may call tools; outside a run nothing may.

        Raises:
            InterpreterError: it is not Python.
            ProgramRefusedError: policy forbids something that it did.
            ProgramFailedError: it raised; ``__cause__`` is the exception.
            LimitExceededError: it reached a limit.
            ProgramInterruptedError: :meth:`interrupt` was called.
        """
        limits, meter, threads = self.limits, self.meter, self._threads
        self._places.stdout.targets.clear()
        self._places.stderr.targets.clear()
        self.output = PrintContainer(limits.max_print_outputs_length)
        self.state["_print_outputs"] = self.output
        self.state["_operations_count"] = {"counter": 0}
        meter.count = 0
        program, function = self._compile(code)
        value: Any = None
        failure: InterpreterError | None = None
        with recursion_room(limits.max_recursion_depth), _interruptions() as interruptions:
            threads.waited = False
            try:
                meter.begin(limits, tools)
                try:
                    with self._places.routed():
                        value = self._loops.run(function()) if program.is_async else function()
                except (FinalAnswer, ProgramStop):
                    pass
                except BaseException as error:
                    if interruptions and issubclass(type(error), KeyboardInterrupt):
                        raise  # the host's own
                    # Its class may be the program's, so that limits may be reached meanwhile.
                    with contextlib.suppress(FinalAnswer, ProgramStop):
                        if not is_successful_exit(error):
                            failure = _failure(error, program)
                was_over = meter.end is not None
                with contextlib.suppress(FinalAnswer, ProgramStop):
                    threads.wait()
            finally:
                end, answer = meter.end, meter.answer
                meter.finish_run()
                threads.end()
                self._loops.close()
                meter.ready_for_callbacks()
                self.state.pop("__builtins__", None)
        self.output.value = logs = self.output.text()
        if isinstance(end, FinalAnswer):
            return Result(self._with_source(answer), logs, True)
        if end is not None:
            raise messages.make_stop_error(end, program, waited=threads.waited and not was_over)
        if failure is not None:
            raise failure
        return Result(self._with_source(value), logs, False)

    def interrupt(self) -> None:
        """End the run that is going on, from another thread; without one nothing happens.

        It ends as at a limit, at its next check: no handler of the program keeps it. A tool at work
        that has an ``interrupt()`` is asked to stop; any other ends first.
        """
        if self.meter.interrupt():
            self._caller.interrupt()

    def _with_source(self, value: Any) -> Any:
        """Note the source of a function that leaves the program where upstream keeps it."""
        if type(value) is types.FunctionType and self._classes.owns(value):
            with contextlib.suppress(OSError, SyntaxError):  # a lambda's line is not a program
                text = textwrap.dedent(inspect.getsource(value))
                tree = ast.parse(text, value.__code__.co_filename)
                value.__source__ = ast.unparse(tree)  # type: ignore[attr-defined]
        return value

    def _compile(self, code: str) -> tuple[CompiledProgram, types.FunctionType]:
        # A function takes its builtins from its globals when it is made. The key stays while the
        # program runs: should anything evaluate a string in its globals, it finds the same guards.
        self.state["__builtins__"] = self._namespace()
        if self.state.get("__name__") == self._classes.module:
            self.state["__name__"] = self._classes.module  # the object, not the text
        program = compile_program(
            code, self._protected, self._extra_dunders, self.limits.max_while_iterations
        )
        bound = bind(program, self._guards, self._classes.register_code)
        return program, types.FunctionType(bound, self.state, "<module>")


def _weak(method: Any) -> Callable[..., Any]:
    """Make a guard of a method whose object leads to the program's state.

    The garbage collector does not look into constants of code: a guard that leads from there to
    the program's functions would keep them for ever.
    """
    reference = weakref.WeakMethod(method)

    def call(*arguments: Any) -> Any:
        bound_method = reference()
        if bound_method is None:
            raise RuntimeError("the interpreter that ran this program is gone")
        return bound_method(*arguments)

    return call


def _failure(error: BaseException, program: CompiledProgram) -> InterpreterError:
    """Make the error of a program that raised; of its class only the name is safe to tell."""
    try:
        return messages.make_failure(
            error,
            program,
            REFUSED_BUILTINS,
            "; it goes deeper than max_recursion_depth allows",
        )
    except Exception:
        return ProgramFailedError(f"Code execution failed due to: {class_name(error)}")


#: Signals noted in the main thread while a program ran there.
_interrupts: list[int] = []


def _note_interrupt(number: int, frame: Any) -> None:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)


@contextlib.contextmanager
def _interruptions() -> Iterator[list[int]]:
    """Note a real Ctrl-C, which a program's own ``KeyboardInterrupt`` is not taken for.

    Only the main thread gets one, and only while Python's own handler is in force is it noted. A
    run inside a tool of another run sees the same notes.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield _interrupts if main else []
        return
    _interrupts.clear()
    signal.signal(signal.SIGINT, _note_interrupt)
    try:
        yield _interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
