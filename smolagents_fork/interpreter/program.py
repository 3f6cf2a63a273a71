"""From source to a code object: parse, refuse, rewrite, compile; and the cache of that."""

from __future__ import annotations
import __future__

import ast
import itertools
import warnings
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from types import CodeType
from typing import Any

from ..errors import InterpreterError, ProgramRefusedError
from .build import COUNTER, assign, const, load, place, store
from .kinds import annotate
from .scopes import module_names
from .transform import Refusal, Transformer
from .weights import block_weight, mark_leaves

__all__ = ["Program", "compiled", "generated", "known"]

RESULT = "@result"
_FUNCTION = "@program"
_WRAPPER = "@outside"
#: Programs kept compiled, over all interpreters of the process: code objects hold no state.
_KEEP = 256
_cache: OrderedDict[Any, Program] = OrderedDict()
_by_filename: OrderedDict[str, Program] = OrderedDict()
_generated: OrderedDict[Any, CodeType] = OrderedDict()
_lock = Lock()
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Program:
    """A compiled program.

    Args:
        source: the text it was compiled from.
        code: code of a function whose one free variable is the counter's cell.
        filename: what its frames are known by.
        is_async: whether the top level awaits.
        tree: the tree as written, for messages.
        written: globals that functions of the program bind, perhaps in a later run.
        supposed: globals that must hold numbers or nothing when a run starts; see kinds.annotate.
    """

    source: str
    code: CodeType
    filename: str
    is_async: bool
    tree: ast.Module = field(repr=False)
    supposed: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()


def compiled(
    source: str,
    protected: frozenset[str],
    extra_dunders: frozenset[str],
    max_while: int,
    taken: frozenset[str] = frozenset(),
    hardens: bool = False,
) -> Program:
    """Compile ``source``, or take it from the cache.

    Raises:
        InterpreterError: it is no Python.
        ProgramRefusedError: policy forbids something in it; the message names every such thing.
    """
    key = (source, protected, extra_dunders, max_while, taken, hardens)
    with _lock:
        program = _cache.get(key)
        if program is not None:
            _cache.move_to_end(key)
            return program
    program = _compile(source, protected, extra_dunders, max_while, taken, hardens)
    with _lock:
        _cache[key] = _by_filename[program.filename] = program
        while len(_by_filename) > 2 * _KEEP:
            _by_filename.popitem(last=False)
        while len(_cache) > _KEEP:
            _cache.popitem(last=False)
    return program


def generated(text: str, extra_dunders: frozenset[str]) -> CodeType:
    """Compile what the standard library wrote for a program, as if the program had written it.

    Args:
        text: a module with one function, ``__create_fn__``, as :mod:`dataclasses` writes it.
        extra_dunders: dunder attributes allowed on top of policy.

    Returns:
        Code of a function that returns ``__create_fn__``; its one free variable is the counter's
        cell.

    Raises:
        SyntaxError: it is no Python.
        ProgramRefusedError: policy forbids something in it.
    """
    key = (text, extra_dunders)
    with _lock:
        code = _generated.get(key)
    if code is not None:
        return code
    tree = ast.parse(text, "<generated>")
    mark_leaves(tree)
    own = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    own |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    transformer = Transformer(frozenset(), extra_dunders, 1, frozenset(own))
    body = transformer.statements(tree.body)
    if transformer.refusals:
        raise _refused(text, transformer.refusals)
    made = ast.FunctionDef(
        name=_FUNCTION,
        args=_no_arguments(),
        body=[ast.Nonlocal(names=[COUNTER]), *body, ast.Return(value=load("__create_fn__"))],
        **_rest_of_function(),
    )
    module = _outside(made)
    code = _unwrapped(compile(module, "<generated>", "exec", dont_inherit=True))
    with _lock:
        _generated[key] = code
        while len(_generated) > 2 * _KEEP:
            _generated.popitem(last=False)
    return code


def known(filename: str) -> Program | None:
    """The program whose frames bear ``filename``, if it is still kept."""
    return _by_filename.get(filename)


def _syntax_error(source: str, error: SyntaxError) -> InterpreterError:
    error.filename = "<unknown>"  # upstream's word for it, the same in every run
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


def _compile(
    source: str,
    protected: frozenset[str],
    extra_dunders: frozenset[str],
    max_while: int,
    taken: frozenset[str],
    hardens: bool,
) -> Program:
    filename = f"<program {next(_numbers)}>"
    with warnings.catch_warnings():
        # A program's "is" with a literal is no concern of the host's warning filters.
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source, filename)
            # Compiled as it stands first: the compiler's own errors, in its own words.
            plain = compile(
                source, filename, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
            )
            written = ast.parse(source, filename)
        except SyntaxError as error:
            raise _syntax_error(source, error) from None
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            raise InterpreterError(
                f"Code parsing failed due to: {type(error).__name__}: {error}"
            ) from None
        is_async = bool(plain.co_flags & 0x80)  # CO_COROUTINE: the top level awaits
        future = plain.co_flags & __future__.annotations.compiler_flag
        try:
            supposed = annotate(tree, taken)
            mark_leaves(tree)
            globals_ = [n for g in ast.walk(tree) if isinstance(g, ast.Global) for n in g.names]
            transformer = Transformer(protected, extra_dunders, max_while, hardens=hardens)
            module = _rewritten(source, tree, transformer, is_async, future)
            code = compile(module, filename, "exec", future, dont_inherit=True)
        except SyntaxError as error:
            raise _syntax_error(source, error) from None
        except RecursionError as error:
            raise InterpreterError(
                f"Code parsing failed: it is nested too deeply ({error})"
            ) from None
        except InterpreterError:
            raise
        except (ValueError, TypeError) as error:  # a form the compiler does not take
            raise InterpreterError(
                f"Code parsing failed due to: {type(error).__name__}: {error}"
            ) from error
    return Program(
        source, _unwrapped(code), filename, is_async, written, supposed, frozenset(globals_)
    )


def _rewritten(
    source: str,
    tree: ast.Module,
    transformer: Transformer,
    is_async: bool,
    future: int,
) -> ast.Module:
    _keep_documentation(tree)
    names = module_names(tree)
    weight = block_weight(tree.body)
    tree.body = [s for s in tree.body if not _is_future(s)]
    sources = {
        statement: ast.unparse(statement)
        for statement in tree.body
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    _keep_last_value(tree.body)
    body = transformer.statements(tree.body)
    if transformer.refusals:
        raise _refused(source, transformer.refusals)
    for statement, text in sources.items():
        # The innermost decorator: sees the function itself.
        mark = ast.Call(func=load("@source"), args=[const(text)], keywords=[])
        assert isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        statement.decorator_list.append(place(mark, statement))
    body = [_without_annotation(s, future) for s in body]
    like = ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
    start: list[ast.stmt] = [ast.Nonlocal(names=[COUNTER])]
    if names:
        start.append(ast.Global(names=sorted(names)))
    start.append(transformer.counted(weight, like))
    start.append(assign(RESULT, const(None)))
    kind = ast.AsyncFunctionDef if is_async else ast.FunctionDef
    function = kind(
        name=_FUNCTION,
        args=_no_arguments(),
        body=[*start, *body, ast.Return(value=load(RESULT))],
        **_rest_of_function(),
    )
    return _outside(function)


def _no_arguments() -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def _rest_of_function() -> dict[str, Any]:
    rest: dict[str, Any] = {"decorator_list": [], "returns": None, "type_comment": None}
    if "type_params" in ast.FunctionDef._fields:
        rest["type_params"] = []
    return rest


def _outside(function: ast.stmt) -> ast.Module:
    """A module with ``function`` inside another that has the counter."""
    outside = ast.FunctionDef(
        name=_WRAPPER,
        args=_no_arguments(),
        body=[assign(COUNTER, const(0)), function],
        **_rest_of_function(),
    )
    place(outside, ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0))
    return ast.fix_missing_locations(ast.Module(body=[outside], type_ignores=[]))


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _refused(source: str, refusals: list[Refusal]) -> ProgramRefusedError:
    lines = source.splitlines()
    said: dict[tuple[str, int], None] = {}
    for refusal in refusals:
        said[(refusal.message, refusal.line)] = None
    messages = [
        f"Code execution failed at line '{lines[line - 1].strip() if line <= len(lines) else ''}' "
        f"(line {line}) due to: InterpreterError: {message}"
        for message, line in said
    ]
    return ProgramRefusedError("\n".join(messages))


def _result_is(value: ast.expr) -> ast.Assign:
    return ast.Assign(targets=[store(RESULT)], value=value)


def _keep_documentation(tree: ast.Module) -> None:
    """Give a program that asks for ``__doc__`` what a module's would be."""
    text = ast.get_docstring(tree, clean=False)
    if text is not None and any(
        isinstance(node, ast.Name) and node.id == "__doc__" for node in ast.walk(tree)
    ):
        tree.body.insert(0, place(assign("__doc__", const(text)), tree.body[0]))


def _keep_last_value(body: list[ast.stmt]) -> None:
    """Make the last statement leave its value: an expression, an assignment, or a block's last."""
    if not body:
        return
    last = body[-1]
    if isinstance(last, ast.Expr):
        body[-1] = place(_result_is(last.value), last)
    elif isinstance(last, ast.Assign):
        last.targets.insert(0, place(store(RESULT), last))
    elif isinstance(last, ast.AnnAssign) and last.value is not None and last.simple:
        follow = place(_result_is(load(last.target.id)), last)  # type: ignore[union-attr]
        follow.hidden = True  # type: ignore[attr-defined]
        body.append(follow)
    elif isinstance(last, ast.AugAssign) and isinstance(last.target, ast.Name):
        follow = place(_result_is(load(last.target.id)), last)
        follow.hidden = True  # type: ignore[attr-defined]
        body.append(follow)
    elif isinstance(last, (ast.If, ast.For, ast.AsyncFor, ast.While)):
        _keep_last_value(last.body)
        _keep_last_value(last.orelse)
    elif isinstance(last, (ast.With, ast.AsyncWith)):
        _keep_last_value(last.body)
    elif isinstance(last, ast.Try) or type(last).__name__ == "TryStar":
        _keep_last_value(last.orelse or last.body)  # type: ignore[attr-defined]
        for handler in last.handlers:  # type: ignore[attr-defined]
            _keep_last_value(handler.body)
    elif isinstance(last, ast.Match):
        for case in last.cases:
            _keep_last_value(case.body)


class _Annotations(ast.NodeTransformer):
    """Annotated names of the top level are global, which no function may say of its own."""

    def __init__(self, future: int) -> None:
        self.future = future

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if not isinstance(node.target, ast.Name):
            return node
        result: list[ast.stmt] = []
        if node.value is not None:
            result.append(ast.Assign(targets=[node.target], value=node.value))
        if not self.future and not hasattr(ast, "TemplateStr") and node.simple:
            # Python 3.14 evaluates annotations only when somebody asks.
            result.append(ast.Expr(value=node.annotation))
        return [place(s, node) for s in result] or place(ast.Pass(), node)


def _without_annotation(statement: ast.stmt, future: int) -> Any:
    result = _Annotations(future).visit(statement)
    if isinstance(result, list):
        return ast.If(
            test=const(True),
            body=result,
            orelse=[],
            lineno=statement.lineno,
            col_offset=0,
            end_lineno=statement.end_lineno,
            end_col_offset=0,
        )
    return result


def _unwrapped(module: CodeType) -> CodeType:
    """The program's code out of its wrappers, its names as if it were a module's."""
    outside = next(c for c in module.co_consts if isinstance(c, CodeType))
    program = next(c for c in outside.co_consts if isinstance(c, CodeType))
    prefix = f"{_WRAPPER}.<locals>.{_FUNCTION}.<locals>."
    return _renamed(program, prefix, top=True)


def _renamed(code: CodeType, prefix: str, top: bool = False) -> CodeType:
    constants: list[object] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constant = _renamed(constant, prefix)
        elif isinstance(constant, str) and constant.startswith(prefix):
            constant = constant[len(prefix) :]  # a qualified name, up to Python 3.10
        constants.append(constant)
    changes: dict[str, Any] = {"co_consts": tuple(constants)}
    qualified: str | None = getattr(code, "co_qualname", None)
    if top:
        changes["co_name"] = "<module>"
        if qualified is not None:
            changes["co_qualname"] = "<module>"
    elif qualified is not None and qualified.startswith(prefix):
        changes["co_qualname"] = qualified[len(prefix) :]
    return code.replace(**changes)
