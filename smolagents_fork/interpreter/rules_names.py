"""Rules for names, attributes and calls: what may be spelled, and what goes through a guard."""

from __future__ import annotations

import ast
import unicodedata

from . import policy
from .build import call, const, load, place, words
from .policy_data import MEMORY_PROTOCOLS
from .rules import Rules
from .scopes import mangled

__all__ = ["NameRules"]


#: Names that stand for a class and never for a stand-in.
_BUILTIN_CLASSES = frozenset(
    words("bool complex dict float frozenset int list object set str tuple type")
)
#: Expressions whose value is no class or object of the program's.
_NEVER_OWN = (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.JoinedStr, ast.Lambda)


def _is_never_own(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, _NEVER_OWN)


def _is_object_or_super(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id == "object"


def _is_rough(node: ast.Call) -> bool:
    """Whether a call of ``round`` may be asked for digits before the point."""
    digits = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    return any(not isinstance(value, ast.Constant) for value in digits)


def _is_type_of(node: ast.expr) -> bool:
    """Whether an expression is ``type(x)``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "type"
        and len(node.args) == 1
    )


def _is_plain_class(node: ast.expr) -> bool:
    """Whether an expression is a class whatever it is compared with, and no stand-in for one."""
    if isinstance(node, ast.Name):
        return node.id in _BUILTIN_CLASSES
    return _is_type_of(node) or (isinstance(node, ast.Attribute) and node.attr == "__class__")


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "super"
        and not node.args
        and not node.keywords
    )


def mark_described(node: ast.AST) -> None:
    """Note that an expression only names or compares a type, and calls nothing."""
    node.described = True  # type: ignore[attr-defined]


class NameRules(Rules):
    """Names, attributes and calls."""

    def bindable(self, name: str | None, node: ast.AST, kind: str = "") -> None:
        """Refuse to bind what the top level may not bind, in any form of binding.

        ``kind`` is that of the scope it is bound in, where it is not the present one.
        """
        if name is None:
            return
        kind = kind or self.scope.kind
        name = unicodedata.normalize("NFKC", name)
        if name in self.generated:
            return
        if name in MEMORY_PROTOCOLS and kind == "class":
            self.refuse(
                f"Cannot define {name}: it would let the program read memory by address. "
                "Define __array__, which returns an array",
                node,
            )
        elif name == "super":
            # super().__init__ is read without a guard: the name means what it says.
            self.refuse("Cannot assign to name 'super': it belongs to the interpreter", node)
        elif name.startswith("__") and name.endswith("__"):
            # A class decorator defines __repr__ in a function and gives it to the class.
            known = name in policy.ALLOWED_DUNDER_NAMES or name in policy.WRITABLE_DUNDERS
            if kind != "class" and not known:
                self.refuse(f"Cannot assign to name '{name}': it belongs to the interpreter", node)
        elif kind == "module" and name in self.protected:
            self.refuse(
                f"Cannot assign to name '{name}': doing this would erase the existing tool!", node
            )
        elif name in ("_print_outputs", "_operations_count") and kind == "module":
            self.refuse(f"Cannot assign to name '{name}': it belongs to the interpreter", node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            self.bindable(node.id, node)
        elif node.id == "__import__" and node.id not in self.protected:
            return place(load("@__import__"), node)
        elif self._is_held(node):
            return place(call("@sized_type", node), node)
        elif node.id.startswith("__") and node.id.endswith("__"):
            known = policy.ALLOWED_DUNDER_NAMES | policy.WRITABLE_DUNDERS | self.protected
            known |= self.generated
            if node.id not in known and node.id not in policy.REFUSED_BUILTINS:
                self.refuse(f"Forbidden access to name: {node.id}", node)
        return node

    def _is_held(self, node: ast.Name) -> bool:
        """Whether a name may stand for a type or function whose calls must be looked at."""
        if node.id == "type":
            return self.hardens and not getattr(node, "identity", False)
        return node.id in policy.SIZED_TYPES | policy.KEYED_FUNCTIONS and not getattr(
            node, "described", False
        )

    def _refused_dunder(self, name: str, node: ast.AST, called: bool) -> None:
        if called:
            self.refuse(f"Forbidden call to dunder function: {name}", node)
        hint = {"__class__": "; use type(x)", "__dict__": "; use vars(x)"}.get(name, "")
        self.refuse(f"Forbidden access to dunder attribute: {name}{hint}", node)

    def attribute(self, node: ast.Attribute, called: bool = False) -> ast.expr:
        name = unicodedata.normalize("NFKC", node.attr)
        dunder = name.startswith("__") and name.endswith("__")
        described = getattr(node, "described", False)
        if isinstance(node.value, ast.Name):
            node.value.described = True  # type: ignore[attr-defined]  # bytes.fromhex
        if name not in ("__call__", "__class__", "__getitem__"):
            node.value.identity = True  # type: ignore[attr-defined]  # type(x).__name__
        node.value = self.visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            return self._written_attribute(node, name, dunder)
        if dunder:
            if name == "__members__":
                return place(call("@getattr", node.value, const(name)), node)
            if name in policy.ALLOWED_DUNDERS or name in self.extra_dunders:
                leads = self.hardens and name in ("__origin__", "__args__")
                return place(call("@held", node), node) if leads else node
            bare = getattr(node, "bare", False)
            if name == "__class__" and (described or called or not bare):
                kept = called or not self.hardens or getattr(node, "identity", False)
                return node if kept else place(call("@held", node), node)
            refused = (bare and name == "__dict__") or _is_never_own(node.value)
            if refused and name in policy.OWN_DUNDERS:
                self._refused_dunder(name, node, called)
                return node
            if name == "__init__" and _is_super(node.value):
                return node  # of what the program made
            if name == "__getattribute__" and not _is_object_or_super(node.value):
                self._refused_dunder(name, node, called)
            if name in policy.GUARDED_DUNDERS:
                return place(call("@getattr", node.value, const(name)), node)
            self._refused_dunder(name, node, called)
            return node
        if name.startswith("_"):
            private = mangled(name, self.scope.class_name)
            node.value = self._vetted(node.value, private, "@private")
            return node
        if name in policy.GUARDED_ATTRIBUTES or name in policy.DATA_ATTRIBUTES:
            return place(call("@called" if called else "@getattr", node.value, const(name)), node)
        if name in policy.SIZED_METHODS and not called:
            return place(call("@getattr", node.value, const(name)), node)
        if name in policy.PROXY_ATTRIBUTES and not called:
            node.value = self._vetted(node.value, name, "@proxied")
        return node

    def _vetted(self, value: ast.expr, name: str, guard: str) -> ast.expr:
        """``value`` if its class is the program's own, else what the guard makes of it."""
        if isinstance(value, ast.Name):
            own: ast.expr
            if value.id == self.scope.receiver:
                # The class of a method's first argument is looked at once a call.
                self.scope.receiver_used = True
                own = load("@mine")
                decide = call(guard, load(value.id), const(name))
                return place(ast.IfExp(test=own, body=value, orelse=decide), value)
            own = ast.Compare(
                left=call("@id", call("@type", load(value.id))),
                ops=[ast.In()],
                comparators=[load("@own")],
            )
            decide = call(guard, load(value.id), const(name))
            return place(ast.IfExp(test=own, body=value, orelse=decide), value)
        return place(call(guard, value, const(name)), value)

    def _written_attribute(self, node: ast.Attribute, name: str, dunder: bool) -> ast.expr:
        verb = "assign to" if isinstance(node.ctx, ast.Store) else "delete"
        if dunder and name not in policy.WRITABLE_DUNDERS:
            self.refuse(f"Cannot {verb} dunder attribute: {name}", node)
        guard = "@augmentable" if getattr(node, "augmented", False) else "@writable"
        node.value = self._vetted(node.value, mangled(name, self.scope.class_name), guard)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Attribute) and not node.attr.startswith("__"):
            node.value.described = True  # type: ignore[attr-defined]  # x.__class__.public
        elif isinstance(node.value, ast.Attribute):
            bare = node.attr not in ("__name__", "__qualname__", "__mro__", "__doc__")
            node.value.bare = bare  # type: ignore[attr-defined]  # x.__class__.__init__
        return self.attribute(node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        sides = [node.left, *node.comparators]
        for side in sides:
            if isinstance(side, (ast.Attribute, ast.Name)):
                mark_described(side)  # a.__class__ is b.__class__
        identities = all(isinstance(one, (ast.Is, ast.IsNot)) for one in node.ops)
        if identities and all(map(_is_plain_class, sides)):
            for side in sides:
                side.identity = True  # type: ignore[attr-defined]
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Attribute):
            name = function.attr
            if name in policy.SIZED_METHODS and not self._small_call(node):
                receiver = self.visit(function.value)
                self.generic_arguments(node)
                node.func = place(load("@sized_call"), function)
                node.args = [receiver, place(const(name), function), *node.args]
                return node
            if isinstance(function.value, ast.Attribute):
                function.value.described = True  # type: ignore[attr-defined]
            by_class = function.attr == "__class__"
            node.func = self.attribute(function, called=True)
            if by_class:
                self.generic_arguments(node)
                node.args.insert(0, node.func)
                node.func = place(load("@constructed"), function)
                return node
        elif isinstance(function, ast.Name) and function.id == "type":
            # type(x) only reads; type(name, bases, namespace) makes a class, which must be known.
            makes = len(node.args) != 1 or isinstance(node.args[0], ast.Starred) or node.keywords
            if not makes and isinstance(node.args[0], ast.Name):
                mark_described(node.args[0])  # type(bytes)
            self.generic_arguments(node)
            held = self.hardens and not getattr(node, "identity", False)
            if makes or held:
                # A parameter may bear the name, so that what it stands for goes along.
                node.func = place(load("@make_class"), function)
                node.args.insert(0, function)
            return node
        elif isinstance(function, ast.Name) and function.id in policy.SIZED_TYPES:
            node.func = place(load("@make"), function)
            self.generic_arguments(node)
            node.args.insert(0, function)
            return node
        elif _is_type_of(function):
            # type(x)(...): the class of something, perhaps a metaclass.
            function.identity = True  # type: ignore[attr-defined]
            node.func = place(load("@constructed"), function)
            made = self.visit(function)
            self.generic_arguments(node)
            node.args.insert(0, made)
            return node
        elif (
            isinstance(function, ast.Name)
            and function.id == "sum"
            and (len(node.args) > 1 or node.keywords)
        ):
            # With a start it may be of lists, which grow with each that is added.
            node.func = place(load("@sum"), function)
            self.generic_arguments(node)
            node.args.insert(0, function)
            return node
        elif isinstance(function, ast.Name) and function.id == "round" and _is_rough(node):
            node.func = place(load("@round_off"), function)
            self.generic_arguments(node)
            node.args.insert(0, function)
            return node
        elif isinstance(function, ast.Name) and function.id in policy.KEYED_FUNCTIONS:
            if any(keyword.arg in (None, "key") for keyword in node.keywords):
                node.func = self.visit(function)
        else:
            node.func = self.visit(function)
        self.generic_arguments(node)
        return node

    def generic_arguments(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
            for argument in node.args:
                for inner in ast.walk(argument):
                    inner.described = True  # type: ignore[attr-defined]
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]

    @staticmethod
    def _small_call(node: ast.Call) -> bool:
        """Whether a call of a sized method can only give a result as small as its arguments say."""
        assert isinstance(node.func, ast.Attribute)
        if node.func.attr == "sort":
            return not any(keyword.arg in (None, "key") for keyword in node.keywords)
        if node.keywords or any(not isinstance(a, ast.Constant) for a in node.args):
            return False
        values = [a.value for a in node.args if isinstance(a, ast.Constant)]
        if node.func.attr in ("ljust", "rjust", "center", "zfill", "expandtabs"):
            return not values or (type(values[0]) is int and values[0] <= 1000)
        if node.func.attr == "replace" and len(values) >= 2:
            old, new = values[:2]
            return isinstance(old, str) and isinstance(new, str) and 0 < len(old) >= len(new)
        return node.func.attr == "to_bytes" and type(values[0]) is int and values[0] <= 1000
