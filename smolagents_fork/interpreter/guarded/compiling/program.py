"""Source text to a code object: parse, check, rewrite, compile, bind."""

from __future__ import annotations
import __future__

import ast
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from ....errors import InterpreterError, ProgramRefusedError
from ...last_value import keep_last_value
from ...program_text import CompiledProgram, compiler_errors, new_filename, register_program
from ..meter import recursion_room
from .ast_builders import assign, check_nodes, const, load, place
from .rewriter import Rewriter

__all__ = ["bind", "compile_program"]

_RESULT = "@result"
_FUNCTION = "@program"
#: Frames that the rewriter may use: as many as the parser's own limit of nesting asks for.
_DEEPEST = 6000
#: ``finally`` blocks that may be nested in each other: as many bits has what becomes of the inner.
_MOST_FINALLY = 10
_COROUTINE = 0x80  # CO_COROUTINE
_ANNOTATIONS = __future__.annotations.compiler_flag


def compile_program(
    source: str, protected: frozenset[str], extra_dunders: frozenset[str], max_while: int
) -> CompiledProgram:
    """Compile a program. Its code runs once it is bound.

    Args:
        source: its text.
        protected: names that the top level may not bind.
        extra_dunders: dunder attributes allowed on top of policy.
        max_while: iterations that one ``while`` loop may make.

    Raises:
        InterpreterError: it is not Python, or too deeply nested.
        ProgramRefusedError: it has a syntax node without a rule.
    """
    filename = new_filename()
    # The compiler also warns of calls of the constants that stand for guards.
    with compiler_errors(source):
        try:
            tree = ast.parse(source, filename)
            check_nodes(tree)
            if "finally" in source:
                check_finally_blocks(tree)
            # Compiled as it stands first: the compiler's own errors, in its own words.
            plain = compile(
                source, filename, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
            )
            rewriter = Rewriter(
                protected,
                extra_dunders,
                max_while,
                keeps_annotations=bool(plain.co_flags & _ANNOTATIONS),
            )
            with recursion_room(_DEEPEST):
                program = _rewritten(source, tree, filename, plain, rewriter)
        except ProgramRefusedError as error:
            raise ProgramRefusedError(f"Code execution failed: {error}") from None
    register_program(program)
    return program


def check_finally_blocks(node: ast.AST, depth: int = 0) -> None:
    """Refuse ``finally`` in ``finally`` in ``finally``: the compiler doubles each.

    Args:
        node: Node of the tree.
        depth: blocks around it.

    Raises:
        InterpreterError: there are more than the limit.
    """
    if depth > _MOST_FINALLY:
        raise InterpreterError(
            f"Code parsing failed: more than {_MOST_FINALLY} finally blocks are nested; put the "
            "inner ones into functions"
        )
    last = getattr(node, "finalbody", [])
    for below in ast.iter_child_nodes(node):
        if not isinstance(below, ast.expr):
            check_finally_blocks(below, depth + (below in last))


# -- rewriting --


def _rewritten(
    source: str, tree: ast.Module, filename: str, plain: CodeType, rewriter: Rewriter
) -> CompiledProgram:
    is_async = bool(plain.co_flags & _COROUTINE)
    names = set(_global_names(plain))
    _keep_documentation(tree, names)
    tree.body = [s for s in tree.body if getattr(s, "module", None) != "__future__"]
    keep_last_value(tree.body, _RESULT)
    body = rewriter.statements(tree.body)
    like = ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
    start: list[ast.stmt] = [ast.Global(names=sorted(names))] if names else []
    start.append(rewriter.tick(like))
    start.append(assign(_RESULT, const(None)))
    function: Any = ast.parse(f"{'async ' * is_async}def f(): pass").body[0]
    function.name = _FUNCTION
    function.body = [*start, *body, ast.Return(value=load(_RESULT))]
    place(function, like)
    module = ast.Module(body=[function], type_ignores=[])
    code = compile(module, filename, "exec", plain.co_flags & _ANNOTATIONS, dont_inherit=True)
    program = next(c for c in code.co_consts if isinstance(c, CodeType))
    return CompiledProgram(source, program, filename, is_async)


def _global_names(code: CodeType) -> Iterator[str]:
    """Yield the names that the top level binds, among others, which are global anyhow."""
    for name in code.co_names:
        if name.isidentifier():
            yield name
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _keep_documentation(tree: ast.Module, names: set[str]) -> None:
    """Give a program that asks for ``__doc__`` what a module's would be."""
    text = ast.get_docstring(tree, clean=False)
    if text is not None and "__doc__" in names:
        tree.body.insert(0, place(assign("__doc__", const(text)), tree.body[0]))


# -- binding --


def bind(program: CompiledProgram, guards: Mapping[Any, Any], note: Any) -> CodeType:
    """Make the code that runs: with an interpreter's guards, its names as if it were a module's.

    Args:
        program: a compiled program.
        guards: the guards, by the constants that stand for them.
        note: takes each code object that is made.
    """
    prefix = f"{_FUNCTION}.<locals>."

    def bind_constants(code: CodeType, top: bool = False) -> CodeType:
        constants: list[object] = []
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                constant = bind_constants(constant)
            elif isinstance(constant, str):
                constant = constant.removeprefix(prefix)  # of a qualified name, up to Python 3.10
            elif isinstance(constant, frozenset):
                constant = guards.get(constant, constant)
            constants.append(constant)
        changes: dict[str, Any] = {"co_consts": tuple(constants)}
        qualified: str | None = getattr(code, "co_qualname", None)
        if top:
            changes["co_name"] = "<module>"
        if qualified is not None:
            changes["co_qualname"] = "<module>" if top else qualified.removeprefix(prefix)
        bound_code = code.replace(**changes)
        note(bound_code)
        return bound_code

    return bind_constants(program.code, top=True)
