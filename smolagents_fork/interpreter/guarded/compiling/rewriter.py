"""Rewrites a program so that what must be guarded goes through a guard, and every block is counted.

Decides nothing about values. Syntax that policy forbids for any value becomes an error in its
place, raised when the program reaches it. Everything else becomes a call of a
guard; guards/builtins_table.py has them by name.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from .. import policy
from .ast_builders import assign, call, const, guard, load, place, store, walk

__all__ = ["Rewriter"]

#: Builds a reference to a place for a value of the rewriter's.
_Temporary = Callable[[ast.expr_context], ast.expr]
_Function = TypeVar("_Function", ast.FunctionDef, ast.AsyncFunctionDef)
#: Operators whose result can be far larger than their operands, with their guards.
_SIZED_OPERATORS = {ast.Mult: "multiply", ast.Pow: "power", ast.LShift: "shift"}
_CHECKED_METHODS = policy.SIZED_METHODS | policy.FORMATS
#: Literal factors and shifts up to this add little at a time.
_SMALL = 100
_ERASES_TOOL = "Cannot assign to name '{}': doing this would erase the existing tool!"
_KNOWN_DUNDERS = policy.ALLOWED_DUNDER_NAMES | policy.WRITABLE_DUNDERS
#: Variable of a method that tells whether its first argument is of a class of the program.
_MINE = "@mine"


def _set(target: _Temporary, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[target(ast.Store())], value=value)


def _literal(node: ast.expr) -> Any:
    """Give the number that an expression is, if it is one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) in (int, float) else None


def _stays_small(operator: ast.operator, left: ast.expr | None, right: ast.expr) -> bool:
    """Tell whether a literal operand keeps a result near the size of the other operand.

    A float repeats nothing, and makes no integer; a small factor, or a shift by few bits, grows
    what there is by as much at most.
    """
    base, other = left and _literal(left), _literal(right)
    if float in (type(base), type(other)):
        return True
    if isinstance(operator, ast.Pow):
        return type(base) is int and type(other) is int and base.bit_length() * other <= 128
    factors = (other,) if isinstance(operator, ast.LShift) else (base, other)
    return any(type(factor) is int and factor <= _SMALL for factor in factors)


def _is_object_or_super(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id == "object"


@dataclasses.dataclass
class Scope:
    """One scope of the program while it is rewritten.

    Args:
        kind: ``module``, ``function``, ``class``, ``lambda`` or ``comprehension``.
        class_name: the innermost class around, for private names.
        receiver: the name of a method's first argument, which the method never binds anew.
        receiver_uses: how many accesses ask whether the receiver is of a class of the program.
        loops: how many loops of this scope are around.
    """

    kind: str
    class_name: str | None = None
    receiver: str | None = None
    receiver_uses: int = 0
    loops: int = 0


def normal(name: str) -> str:
    """Give ``name`` as the parser reads it (PEP 3131)."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def mangle(name: str, class_name: str | None) -> str:
    """Give ``name`` as the compiler stores it inside a class (language reference, 6.2.1)."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stripped = class_name.lstrip("_")
    return f"_{stripped}{name}" if stripped else name


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """List the parameters of a function."""
    plain = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return [*plain, *(a for a in (arguments.vararg, arguments.kwarg) if a)]


def binds(node: ast.AST, name: str) -> bool:
    """Tell whether a node may bind ``name`` itself, whatever its children do."""
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.alias):
        return (node.asname or node.name.split(".")[0]) == name
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return name in node.names
    return name in (getattr(node, "name", None), getattr(node, "rest", None))


class Rewriter:
    """Rewrites one program.

    Args:
        protected: names of tools, which may not be bound at the top level.
        extra_dunders: dunder attributes allowed on top of policy.
        max_while: iterations that one ``while`` loop may make.
        keeps_annotations: whether annotations become text, in the program's own words.
    """

    def __init__(
        self,
        protected: frozenset[str],
        extra_dunders: frozenset[str],
        max_while: int,
        *,
        keeps_annotations: bool = False,
    ) -> None:
        self._protected = protected
        self._allowed_dunders = policy.ALLOWED_DUNDERS | extra_dunders
        self._max_while = max_while
        # Python 3.14 evaluates annotations only when somebody asks.
        self._evaluates_annotations = not (keeps_annotations or hasattr(ast, "TemplateStr"))
        self._keeps_annotations = keeps_annotations
        self._scopes: list[Scope] = [Scope("module")]
        self._numbers = itertools.count()
        #: How many products the present expression is a right operand of.
        self._products = 0
        #: Names bound in the present statement that may not be; each a message.
        self._refused_bindings: list[str] = []
        #: Attributes whose value itself is kept: ``b = a.__class__``.
        self._bare: set[ast.AST] = set()

    # -- walking --

    @property
    def _scope(self) -> Scope:
        return self._scopes[-1]

    def _visit(self, node: Any) -> Any:
        return getattr(self, f"_visit_{type(node).__name__}", self._children)(node)

    def _children(self, node: Any) -> Any:
        for field in policy.NODES[type(node)].parts:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                setattr(node, field, self._visit(value))
            elif value:
                if isinstance(value[0], ast.stmt):
                    value[:] = self.statements(value)
                else:
                    value[:] = [None if part is None else self._visit(part) for part in value]
        return node

    def _visit_all(self, nodes: list[Any]) -> list[Any]:
        return [self._visit(node) for node in nodes]

    def statements(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """Rewrite a block."""
        result: list[ast.stmt] = []
        for node in nodes:
            outer, self._refused_bindings = self._refused_bindings, []
            replacement = self._visit(node)
            for message in self._refused_bindings:
                result.append(place(ast.Expr(value=call("refuse", const(message))), node))
            self._refused_bindings = outer
            if type(replacement) is list:
                result.extend(replacement)
            else:
                result.append(replacement)
        return result

    @contextmanager
    def _inside(self, scope_kind: str, **changes: Any) -> Iterator[Scope]:
        """Enter a scope; without ``changes`` it continues the rules of the one around it."""
        outer = self._scope
        new = Scope(scope_kind, **{"class_name": outer.class_name, **changes})
        self._scopes.append(new)
        try:
            yield new
        finally:
            self._scopes.pop()

    def _temporary(self) -> _Temporary:
        """Give a place for a value that nothing else uses: in a class not in its namespace."""
        name = f"@{next(self._numbers)}"
        if self._scope.kind == "class":
            return lambda context: ast.Attribute(guard("scratch"), name, context)
        return lambda context: ast.Name(name, context)

    # -- counting --

    @staticmethod
    def _ticking() -> ast.expr:
        return call("next", guard("ticks"))

    def tick(self, like: ast.AST) -> ast.stmt:
        """Build a statement that counts a block, and ends here what has ended the run."""
        return place(ast.If(test=self._ticking(), body=[ast.Pass()], orelse=[]), like)

    @staticmethod
    def _meter_iteration(items: ast.expr) -> ast.expr:
        """Build what a loop goes over: each item for a tick."""
        return place(call("compress", items, guard("ticks")), items)

    # -- what is refused --

    def _refusal(self, message: str, node: ast.AST, error: str = "refuse") -> ast.expr:
        return place(call(error, const(message)), node)

    def _bind(self, name: str | None, scope_kind: str = "") -> None:
        """Note a binding of ``name`` that is not allowed; ``kind`` is that of its scope."""
        if name is None:
            return
        scope_kind = scope_kind or self._scope.kind
        name = normal(name)
        message = f"Cannot assign to name '{name}': it belongs to the interpreter"
        if policy.is_dunder(name):
            # A class decorator defines __repr__ in a function and gives it to the class.
            if scope_kind != "class" and name not in _KNOWN_DUNDERS:
                self._refused_bindings.append(message)
        elif scope_kind == "module" and name in self._protected:
            self._refused_bindings.append(_ERASES_TOOL.format(name))

    # -- names and attributes --

    def _visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if not isinstance(node.ctx, ast.Load):
            self._bind(name)
        elif name[:2] == "__" and policy.is_dunder(name):
            if name == "__import__" and name not in self._protected:
                return place(guard("__import__"), node)
            if name not in (_KNOWN_DUNDERS | self._protected | policy.REFUSED_BUILTINS.keys()):
                return self._refusal(f"Forbidden access to name: {name}", node)
        return node

    def _refuse_dunder(self, name: str, node: ast.AST, called: bool) -> ast.expr:
        hint = {"__class__": "; use type(x)", "__dict__": "; use vars(x)"}.get(name, "")
        what = "call to dunder function" if called else "access to dunder attribute"
        return self._refusal(f"Forbidden {what}: {name}{hint}", node, "refuse_attribute")

    def _visit_Attribute(self, node: ast.Attribute, called: bool = False) -> ast.expr:
        name = normal(node.attr)
        dunder = policy.is_dunder(name)
        bare = node in self._bare
        node.value = self._visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            return self._rewrite_target(node, name, dunder)
        if dunder:
            if bare and name in ("__class__", "__dict__"):
                return self._refuse_dunder(name, node, called)
            if name in self._allowed_dunders or name == "__class__":
                return node
            if name == "__getattribute__" and not _is_object_or_super(node.value):
                return self._refuse_dunder(name, node, called)
            if name in policy.GUARDED_DUNDERS:
                return place(call("read", node.value, const(name)), node)
            return self._refuse_dunder(name, node, called)
        if name[:1] == "_":
            return self._private(node, mangle(name, self._scope.class_name))
        if called and name in policy.CALLED_ONLY:
            return place(call("called", node.value, const(name)), node)
        if name in policy.GUARDED_ATTRIBUTES:
            return place(call("read", node.value, const(name)), node)
        return node

    def _unless_mine(self, value: ast.expr, plain: ast.expr, guarded: ast.expr) -> ast.expr:
        """Do without a guard of a method's first argument, whose class is looked at once a call."""
        if not isinstance(value, ast.Name) or value.id != self._scope.receiver:
            return place(guarded, value)
        self._scope.receiver_uses += 1
        return place(ast.IfExp(test=load(_MINE), body=plain, orelse=guarded), value)

    def _private(self, node: ast.Attribute, name: str) -> ast.expr:
        """Rewrite a read of an attribute that begins with an underscore."""
        if name in policy.ALLOWED_UNDERSCORE:
            return node
        guarded = place(call("read", node.value, const(name)), node)
        return self._unless_mine(node.value, node, guarded)

    def _rewrite_target(self, node: ast.Attribute, name: str, dunder: bool) -> ast.expr:
        """Rewrite a target: what is written into is looked at, once."""
        if dunder and name not in policy.WRITABLE_DUNDERS:
            verb = "delete" if isinstance(node.ctx, ast.Del) else "assign to"
            self._refused_bindings.append(f"Cannot {verb} dunder attribute: {name}")
        value = node.value
        guarded = call("writable", value, const(mangle(name, self._scope.class_name)))
        node.value = self._unless_mine(value, value, guarded)
        return node

    # -- calls --

    def _visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        first: list[ast.expr] = []
        if isinstance(function, ast.Attribute):
            if function.attr in _CHECKED_METHODS and not self._is_small_call(node):
                first = [self._visit(function.value), place(const(function.attr), function)]
                node.func = place(guard("sized_call"), function)
            else:
                node.func = self._visit_Attribute(function, called=True)
        else:
            node.func = self._visit(function)
        node.args = [*first, *self._visit_all(node.args)]
        for keyword in node.keywords:
            keyword.value = self._visit(keyword.value)
        return node

    @staticmethod
    def _is_small_call(node: ast.Call) -> bool:
        """Tell whether a sized method's result is as small as its constant arguments say."""
        assert isinstance(node.func, ast.Attribute)
        if node.keywords or not all(isinstance(a, ast.Constant) for a in node.args):
            return False
        values = [a.value for a in node.args if isinstance(a, ast.Constant)]
        name = node.func.attr
        if name in ("ljust", "rjust", "center", "zfill", "to_bytes"):
            return not values or (type(values[0]) is int and values[0] <= 1000)
        if name == "replace" and len(values) >= 2:
            old, new = values[:2]
            return isinstance(old, str) and isinstance(new, str) and 0 < len(old) >= len(new)
        return False

    # -- operators --

    def _visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        # A long sum is a deep tree on its left side.
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        left: ast.expr = self._visit(chain[-1].left)
        for operation in reversed(chain):
            guarded = _SIZED_OPERATORS.get(type(operation.op))
            if guarded is None or _stays_small(operation.op, operation.left, operation.right):
                operation.left, operation.right = left, self._visit(operation.right)
                left = operation
                continue
            self._products += 1
            right = self._visit(operation.right)
            self._products -= 1
            if guarded == "multiply" and self._scope.loops and self._scope.kind != "class":
                left = self._product(operation, left, right)
            else:
                left = place(call(guarded, left, right), operation)
        return left

    def _product(self, node: ast.BinOp, left: ast.expr, right: ast.expr) -> ast.expr:
        """Build a product in a loop, with a call of the guard for what is not a small number only.

        A call costs as much as the rest of a short round. Both operands have variables of their
        own for that time: each is evaluated once.
        """
        x, y = f"@left{self._products}", "@right"

        def is_a(type_name: str, value: ast.expr) -> ast.expr:
            return ast.Compare(call("type", value), [ast.Is()], [guard(type_name)])

        numbers = (
            [
                is_a("int", ast.NamedExpr(store(y), right)),
                is_a("int", load(x)),
                ast.Compare(load(x), [ast.Lt()], [const(policy.ONE_DIGIT)]),
                ast.Compare(load(x), [ast.Gt()], [const(-policy.ONE_DIGIT)]),
            ],
            [is_a("float", load(y)), is_a("float", load(x))],
            [is_a("float", load(y)), is_a("int", load(x))],
            [is_a("int", load(y)), is_a("float", load(x))],
        )
        # Emptied with the call: a variable keeps what the program may let go of.
        emptied = [ast.NamedExpr(store(name), const(None)) for name in (x, y)]
        node.left = ast.NamedExpr(store(x), left)
        node.right = ast.IfExp(
            ast.BoolOp(ast.Or(), [ast.BoolOp(ast.And(), each) for each in numbers]),
            load(y),
            call("factor", load(x), load(y), *emptied),
        )
        return place(node, node)

    def _visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self._visit(node.value)
        # A walrus in a comprehension binds around it.
        holder = next(scope for scope in reversed(self._scopes) if scope.kind != "comprehension")
        self._bind(node.target.id, holder.kind)
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

    def _visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        guarded = _SIZED_OPERATORS.get(type(node.op))
        target = node.target
        if guarded is None or _stays_small(node.op, None, node.value):
            node.value = self._visit(node.value)
            node.target = self._visit(target)
            return node
        if isinstance(target, ast.Name):
            self._bind(target.id)
            value = call(f"i{guarded}", load(target.id), self._visit(node.value))
            return place(assign(target.id, value), node)
        return self._rewrite_augmented_part(node, guarded)

    def _rewrite_augmented_part(self, node: ast.AugAssign, guarded: str) -> ast.stmt:
        """Rewrite ``x.y *= z`` and ``x[y] *= z``: the target is evaluated once, as Python does."""
        target = node.target
        assert isinstance(target, (ast.Attribute, ast.Subscript))
        holder = self._visit(target.value)
        if isinstance(target, ast.Attribute):
            name = mangle(normal(target.attr), self._scope.class_name)
            part, key = "attribute_part", const(name)
        else:
            part, key = "item_part", self._visit(target.slice)
        # One call reads the part, before the value is evaluated, and gives what writes it.
        write = call(part, guard(f"i{guarded}"), holder, key)
        whole = ast.Call(func=write, args=[self._visit(node.value)], keywords=[])
        return place(ast.Expr(value=whole), node)

    # -- functions and classes --

    def _visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self._parameters(node.args)
        with self._inside("lambda"):
            node.body = self._visit(node.body)
        ticked = ast.IfExp(test=self._ticking(), body=node.body, orelse=const(None))
        node.body = place(ticked, node.body)
        return node

    def _parameters(self, arguments: ast.arguments) -> None:
        """Rewrite defaults and annotations, which belong to the scope around."""
        arguments.defaults = self._visit_all(arguments.defaults)
        arguments.kw_defaults = [
            None if default is None else self._visit(default) for default in arguments.kw_defaults
        ]
        for argument in all_arguments(arguments):
            if policy.is_dunder(argument.arg):
                self._refused_bindings.append(
                    f"Cannot use '{argument.arg}' as the name of a parameter"
                )
            argument.annotation = self._annotation(argument.annotation)

    def _annotation(self, annotation: ast.expr | None) -> ast.expr | None:
        if annotation is None or self._keeps_annotations:
            return annotation
        # Where annotations are evaluated late, they have no variables of the function's.
        with self._inside("comprehension"):
            result: ast.expr = self._visit(annotation)
        return result

    def _function(self, node: _Function) -> _Function:
        self._bind(node.name)
        node.decorator_list = self._visit_all(node.decorator_list)
        self._parameters(node.args)
        node.returns = self._annotation(node.returns)
        self._visit_all(getattr(node, "type_params", []))
        receiver = self._receiver(node) if self._scope.kind == "class" else None
        first = int(ast.get_docstring(node, clean=False) is not None)
        like = node.body[first] if len(node.body) > first else node.body[0]
        with self._inside("function", receiver=receiver) as inner:
            body = self.statements(node.body)
        start = [self.tick(like)]
        if inner.receiver_uses and receiver is not None:
            class_id = call("id", call("type", load(receiver)))
            owned = ast.Compare(left=class_id, ops=[ast.In()], comparators=[guard("own")])
            start.append(place(assign(_MINE, owned), like))
        body[first:first] = start
        node.body = body
        return node

    def _receiver(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
        """Name a method's first argument, if nothing in the method binds it anew."""
        first = [*node.args.posonlyargs, *node.args.args][:1]
        if not first or any(binds(inner, first[0].arg) for inner in walk(*node.body)):
            return None
        return first[0].arg

    _visit_FunctionDef = _visit_AsyncFunctionDef = _function

    def _visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        self._bind(node.name)
        node.decorator_list = self._visit_all(node.decorator_list)
        node.bases = self._visit_all(node.bases)
        for keyword in node.keywords:
            keyword.value = self._visit(keyword.value)
        self._visit_all(getattr(node, "type_params", []))
        with self._inside("class", class_name=node.name):
            node.body = self.statements(node.body)
        return node

    def _visit_Global(self, node: ast.Global) -> ast.stmt:
        for name in node.names:
            self._bind(name, "module")
        # At the top level every name is global already.
        return place(ast.Pass(), node) if self._scope.kind == "module" else node

    # -- loops and comprehensions --

    def _visit_For(self, node: ast.For) -> ast.stmt:
        node.iter = self._meter_iteration(self._visit(node.iter))
        node.target = self._visit(node.target)
        with self._in_loop():
            node.body = self.statements(node.body)
        node.orelse = self.statements(node.orelse)
        return node

    @contextmanager
    def _in_loop(self) -> Iterator[None]:
        self._scope.loops += 1
        yield
        self._scope.loops -= 1

    def _visit_AsyncFor(self, node: ast.AsyncFor) -> ast.stmt:
        first = node.body[0]
        self._children(node)
        node.body.insert(0, self.tick(first))
        return node

    def _visit_While(self, node: ast.While) -> list[ast.stmt]:
        """Make a ``for`` loop over as many ticks as rounds are allowed; it ends at the limit."""
        first = node.body[0]
        with self._in_loop():
            test = self._visit(node.test)
            body = self.statements(node.body)
        orelse = self.statements(node.orelse)
        # Where "else" may run in the loop it needs no name. Each round sets the name to None.
        kept = any(isinstance(n, (ast.Break, ast.Continue)) for n in walk(*orelse))
        finished = self._temporary()
        leave = [_set(finished, const(True))] if kept else orelse
        stop = ast.If(
            test=ast.UnaryOp(op=ast.Not(), operand=test), body=[*leave, ast.Break()], orelse=[]
        )
        rounds = call("repeat", const(None), const(self._max_while + 1))
        loop = ast.For(
            target=finished(ast.Store()),
            iter=call("compress", rounds, guard("ticks")),
            body=[place(stop, node.test), *body],
            orelse=[place(ast.Expr(value=call("while_exceeded")), first)],
        )
        whole: list[ast.stmt] = [loop]
        if kept:
            # Set back first: the statement may run again before "else" ends.
            back = _set(finished, const(None))
            whole.append(ast.If(test=finished(ast.Load()), body=[back, *orelse], orelse=[]))
        return [place(statement, node) for statement in whole]

    def _visit_ListComp(self, node: Any) -> ast.expr:
        generators: list[ast.comprehension] = node.generators
        # Only the first source is evaluated in the scope around.
        generators[0].iter = self._visit(generators[0].iter)
        receiver = None if self._scope.kind == "class" else self._scope.receiver
        with self._inside("comprehension", receiver=receiver) as inner:
            for position, generator in enumerate(generators):
                if position:
                    generator.iter = self._visit(generator.iter)
                generator.target = self._visit(generator.target)
                generator.ifs = self._visit_all(generator.ifs)
                if generator.is_async:
                    generator.ifs.insert(0, place(self._ticking(), node))
                else:
                    generator.iter = self._meter_iteration(generator.iter)
            for field in ("key", "value") if isinstance(node, ast.DictComp) else ("elt",):
                setattr(node, field, self._visit(getattr(node, field)))
        self._scope.receiver_uses += inner.receiver_uses
        assert isinstance(node, ast.expr)
        return node

    _visit_SetComp = _visit_DictComp = _visit_GeneratorExp = _visit_ListComp

    # -- try, with, match --

    def _visit_Try(self, node: Any) -> ast.stmt:
        self._children(node)
        if node.finalbody:
            node.finalbody.insert(0, self.tick(node.finalbody[0]))
        assert isinstance(node, ast.stmt)
        return node

    _visit_TryStar = _visit_Try

    def _visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        self._bind(node.name)
        first = node.body[0]
        self._children(node)
        node.body.insert(0, self.tick(first))
        return node

    def _visit_With(self, node: ast.With | ast.AsyncWith) -> list[ast.stmt]:
        self._children(node)
        # __exit__ may have swallowed what ends the run.
        return [node, self.tick(node)]

    _visit_AsyncWith = _visit_With

    def _visit_Match(self, node: ast.Match) -> ast.stmt:
        node.subject = self._visit(node.subject)
        for case in node.cases:
            self._check_pattern(case.pattern)
            if case.guard is not None:
                case.guard = self._visit(case.guard)
        for case in node.cases:
            case.body = self.statements(case.body)
        return node

    def _check_pattern(self, pattern: ast.pattern) -> None:
        """Note what a pattern binds and reads. It stays as it is: no guard may be in one."""
        for part in walk(pattern):
            self._bind(getattr(part, "name", None) or getattr(part, "rest", None))
            names = [*getattr(part, "kwd_attrs", ()), getattr(part, "attr", "")]
            for name in map(normal, names):
                if name[:1] == "_" or name in policy.GUARDED_ATTRIBUTES:
                    self._refused_bindings.append(
                        f"Forbidden access to attribute in a pattern: {name}; compare it in an 'if'"
                    )
            if isinstance(part, ast.Name) and policy.is_dunder(part.id):
                self._refused_bindings.append(f"Forbidden access to name: {part.id}")

    # -- imports --

    def _visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return [
            self._assign_import(
                alias.asname or alias.name.split(".")[0],
                node,
                "import",
                alias.name,
                alias.asname is not None,
            )
            for alias in node.names
        ]

    def _assign_import(
        self, name: str, node: ast.stmt, importer: str, *arguments: object
    ) -> ast.stmt:
        self._bind(name)
        return place(assign(name, call(importer, *map(const, arguments))), node)

    def _visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.level:
            message = "Relative imports are not possible here: there is no package"
            return place(ast.Expr(value=call("refuse", const(message))), node)
        module = node.module or ""
        result: list[ast.stmt] = []
        for alias in node.names:
            if alias.name == "*":
                what = ast.Expr(value=call("import_all", const(module)))
                result.append(place(what, node))
                continue
            name = alias.asname or alias.name
            result.append(self._assign_import(name, node, "import_from", module, alias.name))
        return result
