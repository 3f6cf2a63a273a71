"""Rules for ``match``: names that patterns bind, attributes and classes that they look at."""

from __future__ import annotations

import ast
import unicodedata

from . import formats, policy
from .build import assign, call, const, load, place
from .rules_names import NameRules

__all__ = ["MatchRules"]


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


class MatchRules(NameRules):
    """``match`` statements and their patterns."""

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.pattern:
        node.cls.described = True  # type: ignore[attr-defined]
        for name in node.kwd_attrs:
            normal = unicodedata.normalize("NFKC", name)
            if normal.startswith("_") or normal in policy.GUARDED_ATTRIBUTES:
                self.refuse(f"Forbidden access to attribute in a class pattern: {name}", node)
        self.generic_visit(node)
        looked = [
            name
            for name in node.kwd_attrs
            if formats.normal(name) in policy.DATA_ATTRIBUTES | policy.PROXY_ATTRIBUTES
        ]
        if node.patterns or looked or self.hardens or not _is_dotted(node.cls):
            # Positional patterns read what __match_args__ names. The class is looked at before the
            # match, and the very class that was looked at is what the pattern uses.
            held = self.hidden()
            looked_at = node.cls
            if node.patterns or looked or self.hardens:
                looked_at = call(
                    "@match_class", node.cls, const(len(node.patterns)), *map(const, looked)
                )
            guard = place(assign(held, looked_at), node.cls)
            self.scope.match_classes.append((held, guard))
            node.cls = place(load(held), node)
        return node

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        outer, self.scope.match_classes = self.scope.match_classes, []
        node.subject = self.visit(node.subject)
        for case in node.cases:
            case.pattern = self.visit(case.pattern)
            if case.guard is not None:
                case.guard = self.visit(case.guard)
        held, self.scope.match_classes = self.scope.match_classes, outer
        for case in node.cases:
            case.body = self.statements(case.body)
        result: list[ast.stmt] = [*(guard for _name, guard in held), node]
        if held and self.scope.kind == "class":
            names: list[ast.expr] = [ast.Name(id=name, ctx=ast.Del()) for name, _guard in held]
            result.append(place(ast.Delete(targets=names), node))
        return result

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.pattern:
        self.bindable(node.name, node)
        self.generic_visit(node)
        return node

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.pattern:
        self.bindable(node.name, node)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.pattern:
        self.bindable(node.rest, node)
        self.generic_visit(node)
        return node
