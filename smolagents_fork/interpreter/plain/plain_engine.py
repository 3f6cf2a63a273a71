"""Engine that runs a program as it is: its namespace, its builtins, its value and its end."""

from __future__ import annotations

import ast
import asyncio
import builtins
import functools
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ...codec.types.image_values import draw_figure
from ...errors import InterpreterError, ProgramRefusedError
from ...output import flush_streams, program_print
from ...text.texts import is_successful_exit
from .. import messages
from ..last_value import keep_last_value
from ..program_builtins import ProgramThreads, leave, refuse_debugger, refuse_input
from ..program_displays import ProgramDisplays, show_images_by
from ..program_loop import ProgramLoop
from ..program_text import CompiledProgram, compiler_errors, new_filename, register_program
from ..stops import FinalAnswer, ProgramStop
from .import_policy import import_function

__all__ = ["PlainEngine", "show_all_figures"]

_Result = TypeVar("_Result")
#: Name in the namespace of the program's value, which no program can write.
_VALUE = "@value"
_FORGET_VALUE = compile(f"variables.pop({_VALUE!r}, None)", "", "exec")
_COROUTINE = 0x80  # CO_COROUTINE
#: Importing a module runs in functions of these files; a stop there would leave half a module.
_IMPORT_MACHINERY = "<frozen importlib."


class PlainEngine:
    """Runs programs in a real ``__main__`` module, which keeps their state.

    There is one engine in a process: the module is ``sys.modules["__main__"]``.

    Args:
        authorized: modules that import statements of programs may name.
        on_display: takes the MIME bundle of each figure and displayed value.
    """

    def __init__(
        self, authorized: Iterable[str], on_display: Callable[[Mapping[str, Any]], None]
    ) -> None:
        self._displays = ProgramDisplays(on_display)
        _displays[:] = [self._displays]
        self._tools: dict[str, Any] = {}
        self._threads = ProgramThreads()
        self._loop = ProgramLoop()
        self._module = types.ModuleType("__main__")
        self._module.__dict__["__builtins__"] = {
            **vars(builtins),
            "__import__": import_function(
                authorized, functools.partial(show_images_by, self._show_image)
            ),
            "breakpoint": refuse_debugger,
            "display": self._displays.display,
            "exit": leave,
            "input": refuse_input,
            "print": program_print,
            "quit": leave,
        }
        self._hidden = frozenset(self._module.__dict__)
        sys.modules["__main__"] = self._module
        sys.argv = [""]  # those of this process are its host's

    # -- what programs find --

    def send_tools(self, tools: Mapping[str, Callable[..., Any]]) -> None:
        """Make ``tools`` variables of the program; those of earlier calls stay."""
        self._tools.update(tools)
        self._module.__dict__.update(tools)

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Set variables of the program.

        Raises:
            ProgramRefusedError: a name is Python's own.
        """
        for name in variables:
            if name in self._hidden:
                raise ProgramRefusedError(f"Cannot send a variable named {name!r}")
        self._module.__dict__.update(variables)

    def remove_variables(self, names: Iterable[str]) -> None:
        """Remove those of :meth:`variables` that have these names."""
        for name in self.variables().keys() & set(names):
            del self._module.__dict__[name]

    def variables(self) -> dict[str, Any]:
        """Return the program's variables, without tools and what every module has."""
        return {
            name: value
            for name, value in self._module.__dict__.items()
            if name not in self._hidden and self._tools.get(name) is not value
        }

    # -- runs --

    def run(self, code: str, use: Callable[[Any], _Result]) -> _Result:
        """Run a program and return what ``use`` makes of its value.

        Args:
            code: text of the program.
            use: takes the value of the last statement; it counts as part of the program, with its
                time and its stop, since it calls methods of the program's classes.

        Raises:
            FinalAnswer: the program called ``final_answer``.
            InterpreterError: it is not Python, or it raised; ``__cause__`` is the exception, or it
                was stopped.
        """
        program = compile_plain(code)
        try:
            outcome = self._within(program, use)
        except ProgramStop as stop:
            raise messages.make_stop_error(stop, program) from None
        if isinstance(outcome, InterpreterError):
            raise outcome
        return outcome

    @staticmethod
    def is_in_program(frame: types.FrameType | None) -> bool:
        """Return whether a signal's handler may stop the program in a frame.

        Only what the program and its value run is stopped, and no import in the middle.
        """
        while frame is not None:
            if frame.f_code is PlainEngine._within.__code__:
                return True
            if frame.f_code.co_filename.startswith(_IMPORT_MACHINERY):
                return False
            frame = frame.f_back
        return False

    def _within(
        self, program: CompiledProgram, use: Callable[[Any], _Result]
    ) -> _Result | InterpreterError:
        """Do all of a run that may be stopped; return the error of a program that raised."""
        try:
            try:
                value = draw_figure(self._execute(program))
            finally:
                self._displays.show_changed_figures()
                if note := self._threads.note():
                    print(note, end="", file=sys.__stdout__)
                flush_streams()
            return use(value)
        except (FinalAnswer, ProgramStop):
            raise
        except BaseException as error:
            return messages.make_failure(error, program)
        finally:
            # The value ends in a frame of the program, where warnings about it belong.
            value = None
            exec(program.locate_at_end(_FORGET_VALUE), {"variables": self._module.__dict__})

    def _execute(self, program: CompiledProgram) -> Any:
        """Run a program; return the value of its last statement."""
        namespace = self._module.__dict__
        # Without it, a program that has assigned to the name could never end its agent's run.
        if "final_answer" in self._tools:
            namespace["final_answer"] = self._tools["final_answer"]
        # A stop may have broken off the end of a loop, which would count as running for ever.
        if asyncio._get_running_loop() is not None:
            asyncio._set_running_loop(None)
        # As in a notebook: one loop for all top-level await, and get_event_loop() finds it.
        if self._loop.loop is not None or program.is_async or "asyncio" in program.source:
            asyncio.set_event_loop(self._loop.current())
        try:
            if program.is_async:
                self._loop.run(eval(program.code, namespace))
            else:
                exec(program.code, namespace)
        except SystemExit as error:
            if not is_successful_exit(error):
                raise
        return namespace.get(_VALUE)

    def _show_image(self, image: Any) -> bool:
        self._displays.display(image)
        return True


#: Displays of the engine of this process.
_displays: list[ProgramDisplays] = []


def show_all_figures() -> None:
    """Display and close the open figures, as ``pyplot.show`` does in a notebook."""
    for displays in _displays:
        displays.show_figures()


# -- compiling --


def compile_plain(source: str) -> CompiledProgram:
    """Compile a program whose last statement leaves its value.

    Raises:
        InterpreterError: it is not Python, or too deeply nested.
    """
    filename = new_filename()
    with compiler_errors(source):
        tree = ast.parse(source, filename)
        keep_last_value(tree.body, _VALUE)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(tree, filename, "exec", flags, dont_inherit=True)
    program = CompiledProgram(source, code, filename, bool(code.co_flags & _COROUTINE))
    register_program(program)
    return program
