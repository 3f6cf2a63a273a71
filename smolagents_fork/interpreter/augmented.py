"""Rewrites of augmented assignments whose result can be far larger than their operands.

As in operators.py: Python's own operator runs whenever the types say that nothing can grow, and
what is added to a list item by item is metered, for it may be fed by that list.
"""

from __future__ import annotations

import ast
import copy

from .build import assign, call, const, is_type, load, place, store, walrus
from .operators import (
    DIGIT,
    between,
    is_charged,
    is_float,
    is_kind,
    is_number,
    is_text,
    may_rebind,
    never_sequence,
    temporary,
    ungrown,
)
from .scopes import Scope

__all__ = ["augmented"]

_IN_PLACE = {ast.Mult: "@imul", ast.Pow: "@ipower", ast.LShift: "@ishift", ast.Mod: "@imodulo"}
#: Nodes of an expression that may be written twice.
_LONG_CODE = 150
#: Values that are no iterator, whatever they hold.
_NO_ITERATOR = (
    ast.Constant,
    ast.JoinedStr,
    ast.List,
    ast.Tuple,
    ast.ListComp,
    ast.SetComp,
    ast.Dict,
)


def _added(node: ast.AugAssign, own: str, scope: Scope) -> list[ast.stmt]:
    """``own += value``: numbers at once; what is gained, and what a list takes, under a guard.

    In place first: CPython appends to a local string without copying it.
    """
    value = node.value
    if isinstance(value, ast.Constant) and len(str(value.value)) <= 16:
        return [node]  # linear, and little at a time: the count of operations bounds it
    appended = ast.Expr(value=call("@appended", load(own)))
    finite = isinstance(value, _NO_ITERATOR)
    if not scope.walrus:
        node.value = value if finite else place(call("@fed", value), value)
        return [node, place(appended, node)]

    def unless(test: ast.expr) -> ast.stmt:
        negated = ast.UnaryOp(op=ast.Not(), operand=test)
        return place(ast.If(test=negated, body=[appended], orelse=[]), node)

    if is_text(getattr(value, "unguarded", value)):
        fed = copy.deepcopy(value) if finite else call("@fed", copy.deepcopy(value))
        other = ast.AugAssign(target=store(own), op=ast.Add(), value=fed)
        short = ast.Compare(
            left=call("@len", load(own)), ops=[ast.Lt()], comparators=[load("@most_items")]
        )
        text = ast.If(
            test=is_type(load(own), "@str"),
            body=[node, unless(short)],
            orelse=[other, copy.deepcopy(appended)],
        )
        return [place(text, node)]
    asked, kind = call("@type", load(own)), temporary(scope)
    check = unless(ungrown(asked, kind, lambda: load(own), "@most_items"))
    if finite:
        return [node, check]
    if sum(1 for _ in ast.walk(value)) > _LONG_CODE:
        held, type_ = temporary(scope), temporary(scope)
        integer = ast.Compare(
            left=walrus(type_, call("@type", walrus(held, value))),
            ops=[ast.Is()],
            comparators=[load("@int")],
        )
        number = ast.BoolOp(op=ast.Or(), values=[integer, is_kind(type_, "@float")])
        node.value = place(
            ast.IfExp(test=number, body=load(held), orelse=call("@fed", load(held))), value
        )
        return [node, check]
    # A number stays one, whatever is added, so one look at it before is enough. A sequence cannot
    # be added to it, however large a sum of two has become.
    other = ast.AugAssign(target=store(own), op=ast.Add(), value=call("@fed", copy.deepcopy(value)))
    before = ast.Compare(
        left=walrus(kind, call("@type", load(own))), ops=[ast.Is()], comparators=[load("@int")]
    )
    number = ast.BoolOp(op=ast.Or(), values=[before, is_kind(kind, "@float")])
    node.value = getattr(value, "unguarded", value)
    return [place(ast.If(test=number, body=[node], orelse=[other, check]), node)]


def augmented(node: ast.AugAssign, scope: Scope) -> list[ast.stmt]:
    """``node``, its value rewritten already, with its result guarded if it can grow."""
    target, operator = node.target, node.op
    if isinstance(operator, ast.Add):
        if never_sequence(node.value) or is_number(target) or is_charged(node.value):
            return [node]
        if not isinstance(target, ast.Name):
            # What is added bounds what is gained; the target must not be read twice.
            if isinstance(node.value, ast.Constant):
                return [node]
            if isinstance(node.value, ast.Name) and scope.walrus:
                held = temporary(scope)
                integer = ast.Compare(
                    left=walrus(held, call("@type", load(node.value.id))),
                    ops=[ast.Is()],
                    comparators=[load("@int")],
                )
                node.value = ast.IfExp(
                    test=ast.BoolOp(op=ast.Or(), values=[integer, is_kind(held, "@float")]),
                    body=node.value,
                    orelse=call("@addend", load(node.value.id)),
                )
            else:
                node.value = call("@addend", node.value)
            return [place(node, node)]
        return _added(node, target.id, scope)
    if type(operator) not in _IN_PLACE:
        return [node]
    if isinstance(operator, ast.Mult) and is_float(node.value):
        return [node]
    if not isinstance(target, ast.Name):
        return _augmented_part(node, scope)
    value, own = node.value, target.id
    decide: list[ast.stmt] = [assign(own, call(_IN_PLACE[type(operator)], load(own), value))]
    if is_number(target) and (isinstance(operator, ast.Mod) or is_float(target)):
        return [node]
    if not scope.walrus or may_rebind(value):
        return [place(s, node) for s in decide]
    if isinstance(operator, ast.Mod):
        # In place, as written: its error names the operator that the program uses.
        branch = ast.If(test=is_type(load(own), "@int"), body=[node], orelse=decide)
        return [place(branch, node)]
    if not isinstance(operator, ast.Mult):
        return [place(s, node) for s in decide]
    held, kind = temporary(scope), temporary(scope)
    node.value = load(held)
    forgotten = walrus(held, const(None))
    decide = [assign(own, call("@imul", load(own), load(held), forgotten))]
    large = ast.If(
        test=ast.BoolOp(
            op=ast.And(),
            values=[
                is_kind(kind, "@int"),
                ast.UnaryOp(op=ast.Not(), operand=between(load(own), const(-DIGIT), DIGIT)),
            ],
        ),
        body=[ast.Expr(value=call("@large", load(own)))],
        orelse=[],
    )
    same = ast.Compare(
        left=walrus(kind, call("@type", load(own))),
        ops=[ast.Is()],
        comparators=[call("@type", load(held))],
    )
    plain = ast.BoolOp(op=ast.Or(), values=[is_kind(kind, "@int"), is_kind(kind, "@float")])
    branch = ast.If(
        test=ast.BoolOp(op=ast.And(), values=[same, plain]), body=[node, large], orelse=decide
    )
    return [place(assign(held, value), node), place(branch, node)]


def _augmented_part(node: ast.AugAssign, scope: Scope) -> list[ast.stmt]:
    """``x.y *= z`` and ``x[y] *= z``: the target is evaluated once, as Python does."""
    target = node.target
    assert isinstance(target, (ast.Attribute, ast.Subscript))
    if scope.kind == "class":
        # No names here: they would land in the class's namespace.
        key = const(target.attr) if isinstance(target, ast.Attribute) else target.slice
        kind = "@attribute_part" if isinstance(target, ast.Attribute) else "@item_part"
        operation = load(_IN_PLACE[type(node.op)])
        part = call(kind, operation, target.value, key)
        whole = ast.Call(func=part, args=[node.value], keywords=[])
        return [place(ast.Expr(value=whole), node)]
    return _augmented_in_function(node, target, scope)


def _augmented_in_function(
    node: ast.AugAssign, target: ast.Attribute | ast.Subscript, scope: Scope
) -> list[ast.stmt]:
    holder, key = temporary(scope), temporary(scope)
    result: list[ast.stmt] = [assign(holder, target.value)]
    used = [holder]

    def part(context: ast.expr_context) -> ast.expr:
        if isinstance(target, ast.Attribute):
            return ast.Attribute(value=load(holder), attr=target.attr, ctx=context)
        return ast.Subscript(value=load(holder), slice=load(key), ctx=context)

    if isinstance(target, ast.Subscript):
        result.append(assign(key, target.slice))
        used.append(key)
    value = call(_IN_PLACE[type(node.op)], part(ast.Load()), node.value)
    result.append(ast.Assign(targets=[part(ast.Store())], value=value))
    # Nothing of it may stay behind in a class's namespace, or keep an object alive.
    result.append(ast.Delete(targets=[ast.Name(id=name, ctx=ast.Del()) for name in used]))
    return [place(statement, node) for statement in result]
