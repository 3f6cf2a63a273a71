"""Rewrites a program so that what must be guarded goes through a guard, and every block is counted.

Decides nothing about values. What policy forbids whatever the values are becomes an error at the
place where it stands, raised when the program gets there. Everything else becomes a call of a guard
or an inline test that leads to one. The hidden names (``@...``) are bound by guards/builtins_table.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from .. import policy
from .arithmetic import Arithmetic
from .ast_builders import (
    FIELDS,
    assign,
    call,
    const,
    expression,
    if_else,
    load,
    place,
    statement,
    ticks_name,
    walk,
)
from .costs import COMPREHENSIONS, goes_over_items
from .facts import Facts
from .scopes import Scope, all_arguments, mangled

__all__ = ["Rewriter"]

#: Builds a reference to a place for a value of the rewriter's.
_Temporary = Callable[[ast.expr_context], ast.expr]
_Function = TypeVar("_Function", ast.FunctionDef, ast.AsyncFunctionDef)
_CALLING = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, *COMPREHENSIONS)
#: Exception names whose handlers cannot catch what ends a run; after any other it is looked for.
_ORDINARY_ERRORS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, Exception)
)
#: Methods that C code may call without end: they count themselves, whatever they do.
_ENDLESS_PROTOCOLS = frozenset({"__next__", "__anext__", "__getitem__"})
_ERASES_TOOL = "Cannot assign to name '{}': doing this would erase the existing tool!"
_KNOWN_DUNDERS = policy.ALLOWED_DUNDER_NAMES | policy.WRITABLE_DUNDERS
_TICKED_WHILE = statement("for _spent in ticks:\n    pass")
_BOUNDED_WHILE = statement(
    "for _spent in _islice(ticks, most):\n    pass\nelse:\n    _while_exceeded()"
)
_BOUNDED_LOOP = statement("for () in _empties():\n    pass\nelse:\n    _while_exceeded()")
_SHORT_RANGE = expression("argument if _type(argument) is not _range else _fed_range(argument)")
_GROWN_TEXT = expression("name if _len(name := text) < _short else _grown(name, (name := None))")
_MARKED_NAMESPACE = statement("_mark_namespace(_locals())")
_RECEIVER_TEST = statement("_mine = _id(_type(receiver)) in _own")
#: The largest count of digits in a format specification that needs no look.
_FEW_DIGITS = 4


def _set(target: _Temporary, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[target(ast.Store())], value=value)


def normal(name: str) -> str:
    """Give ``name`` as the parser reads it (PEP 3131)."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def _is_object_or_super(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id == "object"


def _has_documentation(node: Any) -> bool:
    return ast.get_docstring(node, clean=False) is not None


def _outside_function(node: ast.stmt) -> list[ast.AST]:
    """List what the scope around a statement evaluates, if that defines a function."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [node]
    return [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]


class Rewriter:
    """Rewrites one program.

    Args:
        facts: the facts about the program's tree.
        protected: names of tools, which may not be bound at the top level.
        extra_dunders: dunder attributes allowed on top of policy.
        max_while: iterations that one ``while`` loop may make.
        max_operations: operations that one run may make.
        evaluates_annotations: whether annotations of variables are evaluated.
        keeps_annotations: whether annotations become text, in the program's own words.
    """

    def __init__(
        self,
        facts: Facts,
        protected: frozenset[str],
        extra_dunders: frozenset[str],
        max_while: int,
        max_operations: int,
        evaluates_annotations: bool = True,
        keeps_annotations: bool = False,
    ) -> None:
        self._facts = facts
        self._costs = facts.costs
        self._arithmetic = Arithmetic(facts)
        self._protected = protected
        self._allowed_dunders = policy.ALLOWED_DUNDERS | extra_dunders
        self._max_while = max_while
        self._max_operations = max_operations
        self._evaluates_annotations = evaluates_annotations
        self._keeps_annotations = keeps_annotations
        self._scopes: list[Scope] = [Scope("module")]
        self._numbers = itertools.count()
        #: Names bound in the present statement that may not be; each a message.
        self._refused_bindings: list[str] = []
        #: Attributes whose value itself is kept: ``b = a.__class__``.
        self._bare: set[ast.AST] = set()
        #: Arguments of builtins that go over them in C.
        self._consumed: set[ast.AST] = set()
        self._rules: dict[type, Callable[[Any], Any]] = {}
        #: The costs of the blocks that take ticks.
        self.prices: set[int] = set()

    # -- walking --

    @property
    def _scope(self) -> Scope:
        return self._scopes[-1]

    def _visit(self, node: Any) -> Any:
        kind = type(node)
        rule = self._rules.get(kind)
        if rule is None:
            rule = getattr(self, f"_visit_{kind.__name__}", self._children)
            self._rules[kind] = rule
        return rule(node)

    def _children(self, node: Any) -> Any:
        for field in FIELDS[type(node)]:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                setattr(node, field, self._visit(value))
            elif type(value) is list and value:
                if isinstance(value[0], ast.stmt):
                    value[:] = self.statements(value)
                elif isinstance(value[0], (ast.AST, type(None))):
                    value[:] = [None if part is None else self._visit(part) for part in value]
        return node

    def _visit_all(self, nodes: list[Any]) -> list[Any]:
        return [self._visit(node) for node in nodes]

    def statements(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """Rewrite a block."""
        result: list[ast.stmt] = []
        for node in nodes:
            outer, self._refused_bindings = self._refused_bindings, []
            made = self._visit(node)
            for message in self._refused_bindings:
                result.append(place(ast.Expr(value=call("@refuse", const(message))), node))
            self._refused_bindings = outer
            if type(made) is list:
                result.extend(made)
            elif made is not None:
                result.append(made)
        return result

    @contextmanager
    def _inside(self, kind: str, **changes: Any) -> Iterator[Scope]:
        """Enter a scope; without ``changes`` it continues the rules of the one around it."""
        outer = self._scope
        new = Scope(kind, outer.class_name, outer.walrus, outer.banned, numbers=outer.numbers)
        for name, value in changes.items():
            setattr(new, name, value)
        self._scopes.append(new)
        try:
            yield new
        finally:
            self._scopes.pop()

    def _temporary(self) -> _Temporary:
        """Give a place for a value that nothing else uses: in a class not in its namespace."""
        if self._scope.kind == "class":
            name = f"v{next(self._numbers)}"
            return lambda context: ast.Attribute(load("@scratch"), name, context)
        hidden = self._scope.temporary()
        return lambda context: ast.Name(hidden, context)

    # -- counting --

    def _ticks(self, cost: int) -> ast.expr:
        """Build a read of the ticks for blocks of ``cost`` operations."""
        self.prices.add(cost)
        return load(ticks_name(cost))

    def _counted(self, cost: int, like: ast.AST) -> ast.stmt:
        """Build a statement that counts a block."""
        return place(ast.Expr(value=call("@next", self._ticks(cost))), like)

    def _metered(self, items: ast.expr, cost: int) -> ast.expr:
        """Build what a loop goes over: each item for a tick."""
        return place(call("@compress", items, self._ticks(cost)), items)

    # -- what is refused --

    def _refusal(self, message: str, node: ast.AST, error: str = "@refuse") -> ast.expr:
        return place(call(error, const(message)), node)

    def _bind(self, name: str | None, kind: str = "") -> None:
        """Note a binding of ``name`` that is not allowed; ``kind`` is that of its scope."""
        if name is None:
            return
        kind = kind or self._scope.kind
        name = normal(name)
        message = f"Cannot assign to name '{name}': it belongs to the interpreter"
        if name == "super":
            # super().__init__ is read without a guard: the name means what it says.
            self._refused_bindings.append(message)
        elif policy.is_dunder(name):
            # A class decorator defines __repr__ in a function and gives it to the class.
            if kind != "class" and name not in _KNOWN_DUNDERS:
                self._refused_bindings.append(message)
        elif kind == "module" and name in self._protected:
            self._refused_bindings.append(_ERASES_TOOL.format(name))

    # -- names and attributes --

    def _visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if not isinstance(node.ctx, ast.Load):
            self._bind(name)
        elif name == "iter":
            return place(call("@iter", node), node)
        elif name[:2] == "__" and policy.is_dunder(name):
            if name == "__import__" and name not in self._protected:
                return place(load("@__import__"), node)
            if name not in (_KNOWN_DUNDERS | self._protected | policy.REFUSED_BUILTINS.keys()):
                return self._refusal(f"Forbidden access to name: {name}", node)
        return node

    def _refused_dunder(self, name: str, node: ast.AST, called: bool) -> ast.expr:
        hint = {"__class__": "; use type(x)", "__dict__": "; use vars(x)"}.get(name, "")
        what = "call to dunder function" if called else "access to dunder attribute"
        return self._refusal(f"Forbidden {what}: {name}{hint}", node, "@refuse_attribute")

    def _visit_Attribute(self, node: ast.Attribute, called: bool = False) -> ast.expr:
        name = normal(node.attr)
        dunder = policy.is_dunder(name)
        bare = node in self._bare
        node.value = self._visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            return self._written(node, name, dunder)
        if dunder:
            if bare and name in ("__class__", "__dict__"):
                return self._refused_dunder(name, node, called)
            if name in self._allowed_dunders or name == "__class__":
                return node
            if name == "__getattribute__" and not _is_object_or_super(node.value):
                return self._refused_dunder(name, node, called)
            if name in policy.GUARDED_DUNDERS:
                return place(call("@read", node.value, const(name)), node)
            return self._refused_dunder(name, node, called)
        if name[:1] == "_":
            return self._private(node, mangled(name, self._scope.class_name))
        if called and name in policy.CALLED_ONLY:
            return place(call("@called", node.value, const(name)), node)
        if name in policy.GUARDED_ATTRIBUTES or (name in policy.SIZED_METHODS and not called):
            return place(call("@read", node.value, const(name)), node)
        return node

    def _is_receiver(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self._scope.receiver

    def _private(self, node: ast.Attribute, name: str) -> ast.expr:
        """Rewrite a read of an attribute that begins with an underscore."""
        value = node.value
        if name in policy.ALLOWED_UNDERSCORE:
            return node
        guarded = place(call("@read", value, const(name)), node)
        if self._is_receiver(value):
            # The class of a method's first argument is looked at once a call.
            self._scope.receiver_uses += 1
            return place(if_else(load("@mine"), node, guarded), node)
        return guarded

    def _written(self, node: ast.Attribute, name: str, dunder: bool) -> ast.expr:
        """Rewrite a target: what is written into is looked at, once."""
        if dunder and name not in policy.WRITABLE_DUNDERS:
            verb = "assign to" if isinstance(node.ctx, ast.Store) else "delete"
            self._refused_bindings.append(f"Cannot {verb} dunder attribute: {name}")
        value = node.value
        guarded = call("@writable", value, const(mangled(name, self._scope.class_name)))
        if self._is_receiver(value):
            self._scope.receiver_uses += 1
            node.value = place(if_else(load("@mine"), value, guarded), value)
        else:
            node.value = place(guarded, value)
        return node

    # -- calls --

    def _visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Attribute):
            if function.attr in policy.SIZED_METHODS and not self._is_small_call(node):
                name = place(const(function.attr), function)
                return self._guarded_call("@sized_call", node, self._visit(function.value), name)
            node.func = self._visit_Attribute(function, called=True)
        elif isinstance(function, ast.Name):
            if function.id == "type" and self._makes_class(node):
                # A parameter may bear the name, so that what it stands for goes along.
                return self._guarded_call("@make_class", node, function)
            if function.id in policy.OF_THE_SCOPE and not node.args and not node.keywords:
                return self._of_scope(node)
            if function.id in policy.CONSUMERS:
                self._consumed.update(node.args)
                if self._scope.walrus:
                    node.args = [self._not_a_long_range(one) for one in node.args]
            elif function.id == "range" and node in self._consumed:
                self._arguments_of(node)
                return place(call("@fed_range", node), node)
            node.func = self._visit_Name(function)
        else:
            node.func = self._visit(function)
        self._arguments_of(node)
        return node

    @staticmethod
    def _not_a_long_range(argument: ast.expr) -> ast.expr:
        """Meter a variable that is a range, before C code goes over it."""
        if not isinstance(argument, ast.Name):
            return argument
        return place(_SHORT_RANGE(argument=argument), argument)

    def _of_scope(self, node: ast.Call) -> ast.expr:
        """Rewrite ``locals()`` and its like: a function's hidden names are not shown."""
        kinds = [s.kind for s in self._scopes if s.kind in "module function class lambda".split()]
        if kinds[-1] == "module":
            return node
        in_class = const(kinds[-1] == "class")
        return place(call("@of_scope", node.func, call("@locals"), in_class), node)

    def _arguments_of(self, node: ast.Call) -> None:
        node.args = self._visit_all(node.args)
        for keyword in node.keywords:
            keyword.value = self._visit(keyword.value)

    def _guarded_call(self, guard: str, node: ast.Call, *first: ast.expr) -> ast.expr:
        self._arguments_of(node)
        node.func = place(load(guard), node.func)
        node.args = [*first, *node.args]
        return node

    @staticmethod
    def _makes_class(node: ast.Call) -> bool:
        """Tell ``type(name, bases, namespace)`` from ``type(x)``, which only reads."""
        return len(node.args) != 1 or isinstance(node.args[0], ast.Starred) or bool(node.keywords)

    @staticmethod
    def _is_small_call(node: ast.Call) -> bool:
        """Tell whether a sized method's result is as small as its constant arguments say."""
        assert isinstance(node.func, ast.Attribute)
        if node.keywords or not all(isinstance(a, ast.Constant) for a in node.args):
            return False
        values = [a.value for a in node.args if isinstance(a, ast.Constant)]
        name = node.func.attr
        if name in ("ljust", "rjust", "center", "zfill", "expandtabs", "to_bytes"):
            return not values or (type(values[0]) is int and values[0] <= 1000)
        if name == "replace" and len(values) >= 2:
            old, new = values[:2]
            return isinstance(old, str) and isinstance(new, str) and 0 < len(old) >= len(new)
        return False

    # -- operators, displays and formats --

    def _visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left = self._visit(node.left)
        right = self._visit(node.right)
        return self._arithmetic.binary(node, left, right, self._scope)

    def _visit_List(self, node: ast.List | ast.Tuple) -> ast.expr:
        stars = any(isinstance(element, ast.Starred) for element in node.elts)
        node.elts = self._visit_all(node.elts)
        if stars and isinstance(node.ctx, ast.Load):
            return place(call("@grown", node), node)
        return node

    _visit_Tuple = _visit_List

    def _visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        values = sum(isinstance(part, ast.FormattedValue) for part in node.values)
        node.values = self._visit_all(node.values)
        if values < 2:
            return node  # one value, and a constant beside it: nothing doubles
        if not self._scope.walrus:
            return place(call("@grown", node), node)
        return place(_GROWN_TEXT(self._scope.temporary, text=node), node)

    def _visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        node.value = self._visit(node.value)
        specification = node.format_spec
        if specification is None:
            return node
        assert isinstance(specification, ast.JoinedStr)
        parts = specification.values
        if len(parts) == 1 and isinstance(parts[0], ast.Constant):
            digits = "".join(c if c.isdigit() else " " for c in str(parts[0].value)).split()
            if all(len(number) <= _FEW_DIGITS for number in digits):
                return node
        specification.values = self._visit_all(parts)
        # The guard's result is the very specification that formats the value.
        vetted = call("@specification", specification)
        inner = ast.FormattedValue(value=vetted, conversion=-1, format_spec=None)
        node.format_spec = place(ast.JoinedStr(values=[inner]), node)
        return node

    def _visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self._visit(node.value)
        holders = [scope for scope in self._scopes if scope.kind != "comprehension"]
        # A walrus in a comprehension binds around it.
        self._bind(node.target.id, holders[-1].kind)
        return node

    # -- assignments --

    def _visit_Expr(self, node: ast.Expr) -> ast.stmt:
        self._note_bare(node.value)
        node.value = self._visit(node.value)
        return node

    def _note_bare(self, value: ast.expr) -> None:
        """Note ``b = a.__class__`` at the top level, which upstream refuses."""
        if self._scope.kind == "module":
            self._bare.add(value)

    def _visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self._note_bare(node.value)
        node.value = self._visit(node.value)
        if any(isinstance(getattr(target, "slice", None), ast.Slice) for target in node.targets):
            node.value = place(call("@addend", node.value), node)
        node.targets = self._visit_all(node.targets)
        return node

    def _visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        node.annotation = self._annotation(node.annotation) or node.annotation
        if node.value is not None:
            node.value = self._visit(node.value)
        node.target = self._visit(node.target)
        if self._scope.kind != "module" or not isinstance(node.target, ast.Name):
            return node
        # A global name of the top level, which no function may annotate.
        result: list[ast.stmt] = []
        if node.value is not None:
            result.append(ast.Assign(targets=[node.target], value=node.value))
        if self._evaluates_annotations and node.simple:
            result.append(ast.Expr(value=node.annotation))
        return [place(s, node) for s in result] or place(ast.Pass(), node)

    def _visit_AugAssign(self, node: ast.AugAssign) -> Any:
        value = self._visit(node.value)
        guard = self._arithmetic.in_place_guard(node)
        target = node.target
        if isinstance(target, ast.Name):
            self._bind(target.id)
            if guard is None:
                node.value = value
                return node
            return self._arithmetic.augmented_name(node, target.id, value, self._scope)
        private = isinstance(target, ast.Attribute) and not policy.is_plain(normal(target.attr))
        if guard == "@iadd":
            value = self._arithmetic.added_to_part(node, value, self._scope)
        if private or guard not in (None, "@iadd"):
            return self._augmented_part(node, value)
        node.value = value
        node.target = self._visit(target)
        return node

    def _augmented_part(self, node: ast.AugAssign, value: ast.expr) -> ast.stmt:
        """Rewrite ``x.y *= z`` and ``x[y] *= z``: the target is evaluated once, as Python does."""
        target = node.target
        assert isinstance(target, (ast.Attribute, ast.Subscript))
        operation = const(type(node.op).__name__)
        holder = self._visit(target.value)
        if isinstance(target, ast.Attribute):
            name = normal(target.attr)
            if policy.is_dunder(name) and name not in policy.WRITABLE_DUNDERS:
                self._refused_bindings.append(f"Cannot assign to dunder attribute: {name}")
            guard, key = "@attribute_part", const(mangled(name, self._scope.class_name))
        else:
            guard, key = "@item_part", self._visit(target.slice)
        # One call reads the part, before the value is evaluated, and gives what writes it.
        part = call(guard, operation, holder, key)
        whole = ast.Call(func=part, args=[value], keywords=[])
        return place(ast.Expr(value=whole), node)

    # -- functions and classes --

    def _visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self._parameters(node.args)
        calls = any(isinstance(n, _CALLING) or goes_over_items(n) for n in walk(node.body))
        cost = max(1, self._costs.expression(node.body))
        with self._inside("lambda", walrus=not self._scope.banned, receiver=None):
            node.body = self._visit(node.body)
            if calls:
                # Without a call a lambda is bounded by what calls it, which is counted.
                tick = call("@next", self._ticks(cost))
                node.body = place(if_else(tick, node.body, const(None)), node.body)
        return node

    def _parameters(self, arguments: ast.arguments) -> None:
        """Rewrite defaults and annotations, which belong to the scope around."""
        arguments.defaults = self._visit_all(arguments.defaults)
        arguments.kw_defaults = [
            None if default is None else self._visit(default) for default in arguments.kw_defaults
        ]
        for argument in all_arguments(arguments):
            if argument.arg == "super" or policy.is_dunder(argument.arg):
                self._refused_bindings.append(
                    f"Cannot use '{argument.arg}' as the name of a parameter"
                )
            argument.annotation = self._annotation(argument.annotation)

    def _annotation(self, annotation: ast.expr | None) -> ast.expr | None:
        if annotation is None or self._keeps_annotations:
            return annotation
        with self._inside("annotation", walrus=False, banned=True):
            result: ast.expr = self._visit(annotation)
        return result

    def _type_parameters(self, node: ast.AST) -> None:
        for parameter in getattr(node, "type_params", []):
            with self._inside("annotation", walrus=False, banned=True):
                self._children(parameter)

    def _function(self, node: _Function) -> _Function:
        self._bind(node.name)
        cost = max(1, self._costs.block(node.body))
        counted_at, cost = self._start_of_count(node, cost)
        node.decorator_list = self._visit_all(node.decorator_list)
        self._parameters(node.args)
        node.returns = self._annotation(node.returns)
        self._type_parameters(node)
        receiver = self._receiver(node) if self._scope.kind == "class" else None
        with self._inside(
            "function", walrus=True, banned=False, numbers=iter(range(1 << 30)), receiver=receiver
        ) as inner:
            before: list[ast.stmt] = self.statements(node.body[:counted_at])
            after: list[ast.stmt] = self.statements(node.body[counted_at:])
        start: list[ast.stmt] = []
        if _has_documentation(node):
            start.append(before.pop(0))
        if inner.receiver_uses:
            start.append(place(_RECEIVER_TEST(receiver=receiver), node.body[0]))
        like = after[0] if after else node.body[0]
        after.insert(0, self._counted(cost, like))
        node.body = [*start, *before, *after]
        return node

    def _start_of_count(self, node: _Function, cost: int) -> tuple[int, int]:
        """Find the statement before which a function's cost is counted.

        An early return that can run at most one operation of the program's is counted by the
        caller.
        """
        first = int(_has_documentation(node))
        cost = max(1, cost - 2 * first)
        body = node.body[first:]
        if len(body) < 2 or isinstance(node, ast.AsyncFunctionDef):
            return first, cost
        if node.name in _ENDLESS_PROTOCOLS:
            return first, cost
        match body[0]:
            case ast.If(
                test=test, body=[ast.Return(value=ast.Name() | ast.Constant() | None)], orelse=[]
            ):
                pass
            case _:
                return first, cost
        match test:
            case ast.Compare(left=left, comparators=[right]) if not goes_over_items(test):
                parts = [left, right]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                parts = [operand]
            case _:
                parts = [test]
        simple = all(isinstance(part, (ast.Name, ast.Constant)) for part in parts)
        return first + simple, cost

    def _receiver(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
        """Name a method's first argument, if nothing in the method binds it anew."""
        first = [*node.args.posonlyargs, *node.args.args][:1]
        if not first:
            return None
        name = first[0].arg
        return name if self._facts.is_bound_once(name, node) else None

    _visit_FunctionDef = _visit_AsyncFunctionDef = _function

    def _visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        self._bind(node.name)
        node.decorator_list = self._visit_all(node.decorator_list)
        node.bases = self._visit_all(node.bases)
        for keyword in node.keywords:
            keyword.value = self._visit(keyword.value)
        self._type_parameters(node)
        documentation = _has_documentation(node)
        numbers = iter(range(1 << 30))
        with self._inside("class", class_name=node.name, walrus=False, numbers=numbers):
            node.body = self.statements(node.body)
        node.body.append(place(_MARKED_NAMESPACE(), node))
        if node.decorator_list:
            node.decorator_list.append(place(load("@note_class"), node))
        node.decorator_list.insert(0, place(load("@finish_class"), node))
        # Guards are read past the namespace, which a metaclass of the program may prepare.
        # Names in functions are not looked for in the class.
        direct = [part for one in node.body for part in _outside_function(one)]
        hidden = {
            inner.id
            for inner in walk(*direct)
            if isinstance(inner, ast.Name) and inner.id[:1] == "@" and not inner.id[1:].isdigit()
        }
        names = sorted(hidden - {"@mine"})
        if names:
            node.body.insert(1 if documentation else 0, place(ast.Global(names=names), node))
        return node

    def _visit_Global(self, node: ast.Global) -> ast.stmt | None:
        for name in node.names:
            if name in self._protected:
                self._refused_bindings.append(_ERASES_TOOL.format(name))
            elif name[:2] == "__" and name not in policy.ALLOWED_DUNDER_NAMES:
                self._refused_bindings.append(f"Forbidden access to name: {name}")
        # At the top level every name is global already.
        return None if self._scope.kind == "module" else node

    # -- loops and comprehensions --

    def _visit_For(self, node: ast.For | ast.AsyncFor) -> Any:
        cost = max(1, self._costs.block(node.body))
        first = node.body[0]
        node.iter = self._visit(node.iter)
        node.target = self._visit(node.target)
        start: list[ast.stmt] = []
        if isinstance(node, ast.For):
            node.iter = self._metered(node.iter, cost)
        else:
            start.append(self._counted(cost, first))
        node.body = [*start, *self.statements(node.body)]
        node.orelse = self.statements(node.orelse)
        return node

    _visit_AsyncFor = _visit_For

    def _visit_While(self, node: ast.While) -> list[ast.stmt]:
        """Make a ``for`` loop over ticks, as many as rounds are allowed; running dry is the limit.

        The count of operations alone bounds a loop whose rounds are dear enough. In a class body,
        where the loop's variable would land in the namespace, the loop goes over ``()``.
        """
        in_class = self._scope.kind == "class"
        cost = max(1, self._costs.expression(node.test) + self._costs.block(node.body))
        first = node.body[0]
        test = self._visit(node.test)
        body = [*([self._counted(cost, first)] if in_class else []), *self.statements(node.body)]
        orelse = self.statements(node.orelse)
        # Where "else" may run in the loop it needs no name.
        kept = any(isinstance(n, (ast.Break, ast.Continue)) for n in walk(*orelse))
        finished = self._temporary()
        leave = [_set(finished, const(True))] if kept else orelse
        stop = ast.If(
            test=ast.UnaryOp(op=ast.Not(), operand=test), body=[*leave, ast.Break()], orelse=[]
        )
        loop: Any
        if in_class:
            loop = _BOUNDED_LOOP()
        elif cost * self._max_while > self._max_operations:
            loop = _TICKED_WHILE(ticks=self._ticks(cost))
        else:
            loop = _BOUNDED_WHILE(ticks=self._ticks(cost), most=const(self._max_while + 1))
        loop.orelse = [place(one, first) for one in loop.orelse]
        loop.body = [place(stop, node.test), *body]
        whole: list[ast.stmt] = [loop]
        if kept:
            # Set back first: the statement may run again before "else" ends.
            back = _set(finished, const(False))
            other = ast.If(test=finished(ast.Load()), body=[back, *orelse], orelse=[])
            whole = [_set(finished, const(False)), loop, other]
        return [place(one, node) for one in whole]

    def _visit_ListComp(self, node: Any) -> ast.expr:
        generators: list[ast.comprehension] = node.generators
        costs = [self._round_cost(node, position) for position in range(len(generators))]
        rules = {"walrus": False, "banned": True}
        # Only the first source is evaluated in the scope around.
        with self._inside("comprehension source", **rules):
            generators[0].iter = self._visit(generators[0].iter)
        in_class = self._scope.kind == "class"
        receiver = None if in_class else self._scope.receiver
        with self._inside(
            "comprehension", walrus=self._scope.walrus and not in_class, receiver=receiver
        ) as inner:
            for position, generator in enumerate(generators):
                if position:
                    with self._inside("comprehension source", **rules):
                        generator.iter = self._visit(generator.iter)
                generator.target = self._visit(generator.target)
                generator.ifs = self._visit_all(generator.ifs)
                if generator.is_async:
                    tick = call("@next", self._ticks(costs[position]))
                    generator.ifs.insert(0, place(tick, node))
                    continue
                generator.iter = self._metered(generator.iter, costs[position])
            for field in ("key", "value") if isinstance(node, ast.DictComp) else ("elt",):
                setattr(node, field, self._visit(getattr(node, field)))
        self._scope.receiver_uses += inner.receiver_uses
        assert isinstance(node, ast.expr)
        return node

    _visit_SetComp = _visit_DictComp = _visit_GeneratorExp = _visit_ListComp

    def _round_cost(self, node: Any, position: int) -> int:
        costs, generators = self._costs, node.generators
        last = position + 1 == len(generators)
        inner = costs.iteration(node) if last else costs.expression(generators[position + 1].iter)
        return max(1, costs.total(generators[position].ifs) + inner)

    # -- try, with, match --

    def _visit_Try(self, node: Any) -> ast.stmt:
        self._children(node)
        if node.finalbody:
            node.finalbody.insert(0, self._counted(1, node.finalbody[0]))
        assert isinstance(node, ast.stmt)
        return node

    _visit_TryStar = _visit_Try

    def _visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        ordinary = all(isinstance(k, ast.Name) and k.id in _ORDINARY_ERRORS for k in kinds)
        self._bind(node.name)
        cost = max(1, self._costs.block(node.body))
        if node.type is not None:
            node.type = self._visit(node.type)
        start = [self._counted(cost, node.body[0])]
        if not ordinary:
            start.append(place(ast.Expr(value=call("@check")), node.body[0]))
        node.body = [*start, *self.statements(node.body)]
        return node

    def _visit_With(self, node: ast.With | ast.AsyncWith) -> list[ast.stmt]:
        self._children(node)
        # __exit__ may have swallowed what ends the run.
        return [node, place(ast.Expr(value=call("@check")), node)]

    _visit_AsyncWith = _visit_With

    def _visit_Match(self, node: ast.Match) -> Any:
        node.subject = self._visit(node.subject)
        classes: list[tuple[_Temporary, ast.stmt]] = []
        for case in node.cases:
            case.pattern = self._pattern(case.pattern, classes)
            if case.guard is not None:
                case.guard = self._visit(case.guard)
        for case in node.cases:
            case.body = self.statements(case.body)
        result: list[ast.stmt] = [*(guard for _name, guard in classes), node]
        if self._scope.kind == "class":
            result += [place(_set(hidden, const(None)), node) for hidden, _guard in classes]
        return result

    def _pattern(self, node: Any, classes: list[tuple[_Temporary, ast.stmt]]) -> Any:
        if isinstance(node, ast.MatchClass):
            return self._class_pattern(node, classes)
        if isinstance(node, ast.MatchValue):
            value = self._visit(node.value)
            if isinstance(value, (ast.Call, ast.IfExp)):
                # What a guard gives, in the form a pattern may have.
                value = place(
                    ast.Attribute(value=call("@keep", value), attr="value", ctx=ast.Load()), node
                )
            node.value = value
            return node
        if isinstance(node, (ast.MatchAs, ast.MatchStar)):
            self._bind(node.name)
        elif isinstance(node, ast.MatchMapping):
            self._bind(node.rest)
            node.keys = self._visit_all(node.keys)
        for field in ("pattern", "patterns"):
            value = getattr(node, field, None)
            if isinstance(value, list):
                setattr(node, field, [self._pattern(one, classes) for one in value])
            elif value is not None:
                setattr(node, field, self._pattern(value, classes))
        return node

    def _class_pattern(
        self, node: ast.MatchClass, classes: list[tuple[_Temporary, ast.stmt]]
    ) -> ast.pattern:
        """Rewrite a class pattern: positional ones read what ``__match_args__`` names."""
        for name in node.kwd_attrs:
            plain = normal(name)
            if plain[:1] == "_" or plain in policy.GUARDED_ATTRIBUTES:
                self._refused_bindings.append(
                    f"Forbidden access to attribute in a class pattern: {name}"
                )
        node.patterns = [self._pattern(one, classes) for one in node.patterns]
        node.kwd_patterns = [self._pattern(one, classes) for one in node.kwd_patterns]
        node.cls = self._visit(node.cls)
        if node.patterns or not isinstance(node.cls, (ast.Name, ast.Attribute)):
            hidden = self._temporary()
            looked_at = call("@match_class", node.cls, const(len(node.patterns)))
            classes.append((hidden, place(_set(hidden, looked_at), node.cls)))
            node.cls = place(hidden(ast.Load()), node)
        return node

    # -- imports --

    def _visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return [
            self._imported(
                alias.asname or alias.name.split(".")[0],
                node,
                "@import",
                alias.name,
                alias.asname is not None,
            )
            for alias in node.names
        ]

    def _imported(self, name: str, node: ast.stmt, guard: str, *arguments: object) -> ast.stmt:
        self._bind(name)
        return place(assign(name, call(guard, *map(const, arguments))), node)

    def _visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.level:
            message = "Relative imports are not possible here: there is no package"
            return place(ast.Expr(value=call("@refuse", const(message))), node)
        module = node.module or ""
        if module == "__future__":
            return node
        result: list[ast.stmt] = []
        for alias in node.names:
            if alias.name == "*":
                what = ast.Expr(value=call("@import_all", const(module)))
                result.append(place(what, node))
                continue
            name = alias.asname or alias.name
            result.append(self._imported(name, node, "@import_from", module, alias.name))
        return result
