"""Programs by the file name of their code: their text and their tree, for messages."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import linecache
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

from ..errors import InterpreterError

__all__ = ["CompiledProgram", "compiler_errors", "find_program", "new_filename", "register_program"]

#: Programs that are found; the oldest ones are forgotten.
_MOST_PROGRAMS = 512
_programs: OrderedDict[str, CompiledProgram] = OrderedDict()
_numbers = itertools.count(1)
#: Begins the file names of programs, which the filters of warnings match.
_PREFIX = "<program "


@dataclass(frozen=True)
class CompiledProgram:
    """A compiled program.

    Args:
        source: the text it was compiled from.
        code: Code of its top level.
        filename: the file name of its frames.
        is_async: whether the top level awaits.
    """

    source: str
    code: CodeType
    filename: str
    is_async: bool

    @functools.cached_property
    def tree(self) -> ast.Module:
        """The tree as written, for messages."""
        return ast.parse(self.source, self.filename)

    def locate_at_end(self, code: CodeType) -> CodeType:
        """Return ``code``, which has one line, as code of the program's last line."""
        lines = (line for _, _, line in self.code.co_lines() if line)
        return code.replace(co_filename=self.filename, co_firstlineno=max(lines, default=1))


def new_filename() -> str:
    """Return a file name for the code of the next program."""
    return f"{_PREFIX}{next(_numbers)}>"


def register_program(program: CompiledProgram) -> None:
    """Let messages find a program, and libraries its source text."""
    _programs[program.filename] = program
    source = program.source
    # Without a time of change, which keeps linecache from looking for a file.
    lines = source.splitlines(keepends=True)
    linecache.cache[program.filename] = (len(source), None, lines, program.filename)
    while len(_programs) > _MOST_PROGRAMS:
        forgotten, _ = _programs.popitem(last=False)
        linecache.cache.pop(forgotten, None)


def find_program(filename: str) -> CompiledProgram | None:
    """Return the program whose frames have ``filename``, if it is still known."""
    return _programs.get(filename)


@contextlib.contextmanager
def compiler_errors(source: str) -> Iterator[None]:
    """Raise errors of Python's parser and compiler in the block as those of a program.

    Their warnings about it are ignored, whatever the process makes of warnings.

    Raises:
        InterpreterError: it is not Python, or too deeply nested; also one that the block raises.
    """
    _ignore_compiler_warnings()
    try:
        yield
    except InterpreterError:
        raise
    except SyntaxError as error:
        raise syntax_error(source, error) from None
    except (RecursionError, MemoryError) as error:
        raise InterpreterError(
            f"Code parsing failed: it is nested too deeply ({type(error).__name__}: {error})"
        ) from None
    except (ValueError, TypeError, OverflowError) as error:
        raise InterpreterError(
            f"Code parsing failed due to: {type(error).__name__}: {error}"
        ) from error


def _ignore_compiler_warnings() -> None:
    """Have this process ignore what the compiler warns of in programs.

    The filter stays. ``warnings.catch_warnings()`` sets the filters of all threads, so that of two
    that compile at the same time one would lose its own, and the process those it had before.
    """
    first = [entry[3] for entry in warnings.filters[:1]]
    if [getattr(module, "pattern", None) for module in first] != [_PREFIX]:
        warnings.filterwarnings("ignore", module=_PREFIX)


def syntax_error(source: str, error: SyntaxError) -> InterpreterError:
    """Return the error of a text that is not Python."""
    error.filename = "<unknown>"  # upstream's name for it, the same in every run
    line = error.text
    if line is None and error.lineno and error.lineno <= len(source.splitlines()):
        line = source.splitlines()[error.lineno - 1]
    shown = ""
    if line:
        first = max(0, (error.offset or 1) - 1)  # tabs stay, so that the caret stands below
        before = "".join(c if c == "\t" else " " for c in line[:first].ljust(first))
        shown = f"\n    {line.rstrip()}\n    {before}^"  # four spaces in, as Python shows it
    return InterpreterError(
        f"Code parsing failed on line {error.lineno or 1} due to: {type(error).__name__}: {error}"
        f"{shown}"
    )
