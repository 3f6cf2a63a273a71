"""Which scope a piece of a program is in, and which names the top level binds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Scope", "mangled", "module_names"]


@dataclass
class Scope:
    """One scope of the program while it is rewritten.

    Args:
        kind: ``module``, ``function``, ``class``, ``lambda`` or ``comprehension``.
        class_name: the innermost class around, for private names.
        walrus: whether ``:=`` may bind a hidden name here: not where it would land in a class's
            namespace, nor where the grammar forbids it.
        banned: whether the grammar forbids ``:=`` however deep inside: comprehension sources and
            annotations.
        match_classes: classes of the current match's positional patterns, and how they are vetted.
        receiver: the name of a method's first argument, which it never binds anew.
        receiver_used: whether the method asks for its class.
        loops: the loops around, in this function: hidden names of the rounds left, of the rounds
            handed out, and the weight of one.
    """

    kind: str
    class_name: str | None = None
    walrus: bool = True
    banned: bool = False
    match_classes: list[tuple[str, ast.stmt]] = field(default_factory=list)
    receiver: str | None = None
    receiver_used: bool = False
    loops: list[tuple[str, str, int]] = field(default_factory=list)
    temporaries: Iterator[int] = field(default_factory=lambda: iter(range(1 << 30)))


def mangled(name: str, class_name: str | None) -> str:
    """``name`` as the compiler stores it inside a class (language reference, 6.2.1)."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stripped = class_name.lstrip("_")
    return f"_{stripped}{name}" if stripped else name


class _Binder(ast.NodeVisitor):
    def __init__(self) -> None:
        self.names: dict[str, ast.AST] = {}

    def bind(self, name: str | None, node: ast.AST) -> None:
        if name is not None:
            self.names.setdefault(name, node)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bind(node.id, node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.bind(node.name, node)
        for part in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.visit(part)
        self._globals_inside(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bind(node.name, node)
        for part in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.visit(part)
        self._globals_inside(node)

    def _globals_inside(self, node: ast.AST) -> None:
        # ``global x`` in a function: x is the module's name whatever the module does with it.
        for inner in ast.walk(node):
            if isinstance(inner, ast.Global):
                for name in inner.names:
                    self.bind(name, inner)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for part in (*node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.visit(part)

    def _comprehension(self, node: ast.AST) -> None:
        # Its own targets stay inside; a walrus in it binds outside.
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                self.bind(inner.target.id, inner)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name != "*":
                self.bind(alias.asname or alias.name.split(".")[0], node)

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self.bind(node.name, node)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self.bind(node.name, node)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        self.bind(node.name, node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.bind(node.rest, node)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        for name in node.names:
            self.bind(name, node)

    def visit_TypeAlias(self, node: ast.AST) -> None:
        self.visit(node.name)  # type: ignore[attr-defined]


def module_names(tree: ast.Module) -> dict[str, ast.AST]:
    """Names the top level binds, each with the node that first does."""
    binder = _Binder()
    binder.visit(tree)
    return binder.names
