"""Source text to a code object: parse, check, rewrite, compile; and the cache of that."""

from __future__ import annotations
import __future__

import ast
import gc
import sys
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from types import CodeType
from typing import Any

from ....errors import InterpreterError, ProgramRefusedError
from ....forks import ForkSafeLock
from ...last_value import keep_last_value
from ...program_text import Program, new_filename, register_program, syntax_error
from .. import policy
from ..meter import recursion_limit
from .ast_builders import (
    TYPE_CONSTANTS,
    assign,
    call,
    const,
    function_definition,
    load,
    place,
    tree_below,
)
from .facts import Facts
from .rewriter import Rewriter

__all__ = ["GuardedProgram", "ProgramOptions", "compile_program"]

_RESULT = "@result"
_FUNCTION = "@program"
#: Programs kept compiled, over all interpreters of the process: code objects have no state.
_KEEP = 256
#: Bytecode that nested ``finally`` blocks may expand to, in nodes of the tree.
_MOST_EXPANDED = 300_000
#: Frames that the rewriter may use: as many as the parser's own limit of nesting asks for.
_DEEPEST = 6000
_cache: OrderedDict[Any, GuardedProgram] = OrderedDict()
_lock = ForkSafeLock()
_COROUTINE = 0x80  # CO_COROUTINE


@dataclass(frozen=True)
class ProgramOptions:
    """Facts about the interpreter that a program is compiled for.

    Args:
        protected: names that the top level may not bind.
        extra_dunders: dunder attributes allowed on top of policy.
        max_while: iterations that one ``while`` loop may make.
        max_operations: operations that one run may make.
        taken: names of builtins that something else may stand behind.
        written: globals that functions of earlier programs may bind.
        trust_globals: whether variables of the top level may be taken for numbers.
    """

    protected: frozenset[str]
    extra_dunders: frozenset[str]
    max_while: int
    max_operations: int
    taken: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    trust_globals: bool = True


@dataclass(frozen=True)
class GuardedProgram(Program):
    """A compiled program.

    Args:
        costs: of the blocks that take ticks.
        assumed: globals that must be numbers or unbound when a run starts.
        written: globals that functions of the program bind, perhaps in a later run.
    """

    costs: frozenset[int] = frozenset()
    assumed: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()


def compile_program(source: str, options: ProgramOptions) -> GuardedProgram:
    """Compile ``source``, or take it from the cache.

    Raises:
        InterpreterError: it is not Python, or too deeply nested.
        ProgramRefusedError: it has a syntax node without a rule.
    """
    key = (source, options)
    with _lock:
        program = _cache.get(key)
        if program is not None:
            _cache.move_to_end(key)
            return program
    # Trees have no cycles; looking for some would take an eighth of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        program = _compile(source, options)
    finally:
        if collects:
            gc.enable()
    with _lock:
        _cache[key] = program
        register_program(program)
        while len(_cache) > _KEEP:
            _cache.popitem(last=False)
    return program


# -- parsing --


def _compile(source: str, options: ProgramOptions) -> GuardedProgram:
    filename = new_filename()
    with warnings.catch_warnings():
        # A program's "is" with a literal is not a concern of the host's warning filters.
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source, filename)
            below = tree_below(tree)
            types = set(map(type, below))
            if not types <= policy.ALLOWED_NODES:
                raise _unsupported(below)
            if any(getattr(node, "finalbody", None) for node in below):
                _check_expansion(tree, len(below))
            # Compiled as it stands first: the compiler's own errors, in its own words.
            plain = compile(
                source, filename, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
            )
            # On 3.10 a frame of Python takes the thread's own stack, as the parser's limit has it.
            deep = recursion_limit(_DEEPEST, lower=False)
            with deep if sys.version_info >= (3, 11) else nullcontext():
                return _rewritten(source, tree, below, filename, plain, options)
        except SyntaxError as error:
            raise syntax_error(source, error) from None
        except (RecursionError, MemoryError) as error:
            raise InterpreterError(
                f"Code parsing failed: it is nested too deeply ({type(error).__name__}: {error})"
            ) from None
        except ProgramRefusedError as error:
            raise ProgramRefusedError(f"Code execution failed: {error}") from None
        except InterpreterError:
            raise
        except (ValueError, TypeError, OverflowError) as error:
            raise InterpreterError(
                f"Code parsing failed due to: {type(error).__name__}: {error}"
            ) from error


def _expanded(statements: list[ast.stmt], finals: int) -> int:
    """Count the nodes that CPython's compiler makes code for, copies of ``finally`` included.

    A ``finally`` block is compiled twice, and once more for each statement that leaves through it.

    Args:
        statements: a block.
        finals: the count for all ``finally`` blocks around it.
    """
    total = 0
    for statement in statements:
        if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
            total += finals
        inner = finals
        final = getattr(statement, "finalbody", None)
        if final:
            copied = _expanded(final, finals)
            total += 2 * copied
            inner += copied
        if total > _MOST_EXPANDED:
            return total
        compound = False
        for field in ("body", "orelse", "handlers", "cases"):
            blocks = getattr(statement, field, None)
            if not isinstance(blocks, list) or not blocks:
                continue
            compound = True
            if field in ("handlers", "cases"):
                total += sum(_expanded(block.body, inner) for block in blocks)
            else:
                total += _expanded(blocks, inner)
        total += 4 if compound else sum(1 for _ in ast.walk(statement))
    return total


def _unsupported(nodes: Iterable[ast.AST]) -> ProgramRefusedError:
    """Make the error for syntax without a rule, such as that of a later Python."""
    node = next(node for node in nodes if type(node) not in policy.ALLOWED_NODES)
    line = getattr(node, "lineno", 1)
    return ProgramRefusedError(f"{type(node).__name__} is not supported. (line {line})")


def _check_expansion(tree: ast.Module, nodes: int) -> None:
    size = _expanded(tree.body, 0)
    if size > _MOST_EXPANDED and size > 20 * nodes:
        raise InterpreterError(
            f"Code parsing failed: its nested finally blocks would expand to more than "
            f"{_MOST_EXPANDED:,} nodes; put them into functions"
        )


# -- rewriting --


def _rewritten(
    source: str,
    tree: ast.Module,
    below: Mapping[ast.AST, list[ast.AST]],
    filename: str,
    plain: CodeType,
    options: ProgramOptions,
) -> GuardedProgram:
    is_async = bool(plain.co_flags & _COROUTINE)
    future = plain.co_flags & __future__.annotations.compiler_flag
    facts = Facts(tree, below, options.taken, options.written, options.trust_globals)
    names = facts.module_names
    if _keep_documentation(tree, below):
        names.add("__doc__")
    cost = facts.costs.block(tree.body)
    tree.body = [s for s in tree.body if getattr(s, "module", None) != "__future__"]
    _note_sources(tree.body, source.splitlines())
    keep_last_value(tree.body, _RESULT)
    # Python 3.14 evaluates annotations only when somebody asks.
    evaluates = not future and not hasattr(ast, "TemplateStr")
    rewriter = Rewriter(
        facts,
        options.protected,
        options.extra_dunders,
        options.max_while,
        options.max_operations,
        evaluates,
        keeps_annotations=bool(future),
    )
    body = rewriter.statements(tree.body)
    like = ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
    start: list[ast.stmt] = [ast.Global(names=sorted(names))] if names else []
    start.append(ast.Expr(value=call("@charge", const(max(1, cost)))))
    start.append(assign(_RESULT, const(None)))
    function = function_definition(
        _FUNCTION, [*start, *body, ast.Return(value=load(_RESULT))], is_async=is_async
    )
    place(function, like)
    module = ast.Module(body=[function], type_ignores=[])
    code = _unwrapped(compile(module, filename, "exec", future, dont_inherit=True))
    costs, written = frozenset(rewriter.prices), frozenset(facts.written)
    return GuardedProgram(source, code, filename, is_async, costs, facts.assumed, written)


def _note_sources(body: list[ast.stmt], lines: list[str]) -> None:
    """Keep the source of top-level functions and classes, where upstream keeps it."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            text = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
            # The innermost decorator: it sees the function itself.
            statement.decorator_list.append(place(call("@source", const(text)), statement))


def _keep_documentation(tree: ast.Module, nodes: Iterable[ast.AST]) -> bool:
    """Give a program that asks for ``__doc__`` what a module's would be."""
    text = ast.get_docstring(tree, clean=False)
    if text is None or not any(
        isinstance(node, ast.Name) and node.id == "__doc__" for node in nodes
    ):
        return False
    tree.body.insert(0, place(assign("__doc__", const(text)), tree.body[0]))
    return True


# -- names of the compiled code --


def _unwrapped(module: CodeType) -> CodeType:
    """Take the program's code out of its function, its names as if it were a module's."""
    program = next(c for c in module.co_consts if isinstance(c, CodeType))
    prefix = f"{_FUNCTION}.<locals>."
    return _renamed(program, prefix, top=True)


def _renamed(code: CodeType, prefix: str, top: bool = False) -> CodeType:
    constants: list[object] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constant = _renamed(constant, prefix)
        elif isinstance(constant, str) and constant.startswith(prefix):
            constant = constant[len(prefix) :]  # a qualified name, up to Python 3.10
        constants.append(TYPE_CONSTANTS.get(constant, constant))
    changes: dict[str, Any] = {"co_consts": tuple(constants)}
    qualified: str | None = getattr(code, "co_qualname", None)
    if top:
        changes["co_name"] = "<module>"
        if qualified is not None:
            changes["co_qualname"] = "<module>"
    elif qualified is not None and qualified.startswith(prefix):
        changes["co_qualname"] = qualified[len(prefix) :]
    return code.replace(**changes)
