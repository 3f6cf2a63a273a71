# ruff: noqa: E501 - programs and names, kept on one line each
"""Generator of programs that search for an escape: chains of attributes, calls and indirections.

Each probe is a program of one line, run after the same prelude, and passes what it found to ``leak``. Limit programs put an endless construct into wrappers that swallow exceptions, and then call ``trip``.
"""

from __future__ import annotations

import ast
import builtins
import collections
import functools
import importlib.machinery
import random
import string
import types
import typing
from collections.abc import Sequence

from guarded_modules import SEARCHED

from smolagents_fork.interpreter.guarded import policy

#: Built-in functions and classes, modules, and what the host gives to programs.
ROOTS = [
    *("search", "lookup", "thing", "leak", "Exception"),
    *(
        name
        for name, value in sorted(vars(builtins).items())
        if isinstance(value, (type, types.BuiltinFunctionType))
        and not (name.startswith("_") or name in policy.REFUSED_BUILTINS)
        and not (isinstance(value, type) and issubclass(value, BaseException))
    ),
    *SEARCHED,
]
MADE = (
    "(lambda: 0)",
    "(lambda x, y=1: x)",
    "(i for i in (1, 2))",
    "thing.grow",
    "thing.fail",
    "lookup.__call__",
    "own",
    "own()",
    "own().m",
    "gen()",
    "coro",
    "caught()",
    "''",
    "'{0.__globals__}'",
    "()",
    "[].append",
    "{}",
    "type(search)",
    "type(own)",
    "type(gen())",
    "type(thing)",
    "type(math)",
    "math.sqrt",
    "json.dumps",
    "json.JSONEncoder",
    "random.Random()",
    "random.random",
    "collections.namedtuple('N', 'a')",
    "collections.OrderedDict()",
    "re.compile('a')",
    "re.match('a', 'a')",
    "functools.partial(search)",
    "functools.wraps(search)(own)",
    "functools.lru_cache(search)",
    "operator.attrgetter('size')",
    "string.Formatter()",
    "string.Template('$a')",
    "enum.Enum",
    "dataclasses.make_dataclass('D', ['x'])",
    "dataclasses.field()",
    "contextlib.suppress(KeyError)",
    "contextlib.ExitStack()",
    "copy.copy(thing)",
    "copy.deepcopy(own())",
    "itertools.count()",
    "datetime.datetime.now()",
    "decimal.getcontext()",
    "typing.List[int]",
    "property(search)",
    "classmethod(search)",
    "staticmethod(search)",
)
#: What has attributes that lead out of a program.
INSPECTED = (
    *(types.FunctionType, types.MethodType, types.CodeType, types.FrameType, types.CellType),
    *(types.TracebackType, types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType),
    *(types.ModuleType, types.GenericAlias, type, property, BaseException, memoryview),
    *(collections.defaultdict, functools.partial, string.Formatter, typing.ForwardRef),
    *(importlib.machinery.ModuleSpec, importlib.machinery.SourceFileLoader),
)
DECIDED = (
    *(policy.GUARDED_DUNDERS, policy.GUARDED_ATTRIBUTES, policy.CALLED_ONLY, policy.FORMATS),
    *(policy.SIZED_METHODS, policy.REFUSED_BUILTINS),
)
#: Attributes of these, names that policy decides about, and others.
NAMES = [
    *sorted({name for kind in INSPECTED for name in dir(kind)}.union(*DECIDED)),
    "__loader__",
    "__spec__",
    "__objclass__",
    "__type_params__",
    "__dataclass_fields__",
    "__match_args__",
    "cache_info",
    "cache_clear",
    "name",
    "path",
    "_os",
    "_sys",
    "os",
    "sys",
    "modules",
    "environ",
    "io",
    "builtins",
    "codecs",
    "inspect",
    "threading",
    "types",
    "warnings",
    "subprocess",
    "posix",
    "importlib",
    "ctypes",
    "pickle",
    "_key",
    "size",
    "grow",
    "kind",
    "calls",
    "random",
    "loader",
    "find_spec",
    "get_type_hints",
    "ForwardRef",
    "register",
    "dispatch",
    "registry",
    "run_in_executor",
    "get_event_loop",
    "create_subprocess_exec",
    "get_running_loop",
    "update_wrapper",
    "_inst",
    "_collections_abc",
    "append",
    "field_name",
    "conversion",
]
WRAPPERS = (
    "{e}",
    "[{e}][0]",
    "(lambda v: v)({e})",
    "next(iter([{e}]))",
    "max([{e}], key=lambda v: 0)",
    "functools.partial(lambda v: v, {e})()",
    "list(map(lambda v: v, [{e}]))[0]",
    "copy.copy({e})",
    "(v := {e})",
    "{{'k': {e}}}['k']",
    "sorted([{e}], key=id)[0]",
    "functools.reduce(lambda a, b: b, [0, {e}])",
    "[v for v in [{e}]][0]",
    "Holder({e}).value",
    "through({e})",
)
ACCESS = (
    "{e}.{n}",
    "{e}.{n}",
    "{e}.{n}",
    "getattr({e}, '{n}')",
    "getattr({e}, '{a}' + '{b}')",
    "getattr({e}, Lie('{n}'))",
    "operator.attrgetter('{n}')({e})",
    "operator.attrgetter(Lie('{n}'))({e})",
    "operator.methodcaller('{n}')({e})",
    "operator.methodcaller('__getattribute__', '{n}')({e})",
    "object.__getattribute__({e}, '{n}')",
    "type({e}).__getattribute__({e}, '{n}')",
    "super(type({e}), {e}).{n}",
    "vars({e})['{n}']",
    "vars(type({e}))['{n}'].__get__({e})",
    "{e}.__dict__['{n}']",
    "list(map(getattr, [{e}], ['{n}']))[0]",
    "functools.partial(getattr, {e})('{n}')",
    "functools.reduce(getattr, ['{n}'], {e})",
    "string.Formatter().get_field('0.{n}', [{e}], {{}})[0]",
    "dict([(k, getattr({e}, k, None)) for k in dir({e})])['{n}']",
    "copy.copy(Reduces({e}, '{n}'))",
    "Forward({e}).{n}",
)
CALLS = (
    "{e}()",
    "{e}({o})",
    "{e}(object)",
    "{e}(2)",
    "{e}('hostile_canary')",
    "{e}[0]",
    "{e}['__builtins__']",
    "{e}['__import__']",
    "{e}['hostile_canary']",
    "{e}['sys']",
    "{e}[-1]",
    "{e}.get('__import__')",
)
TEXTS = (
    "print('{{0.{n}}}'.format({e}))",
    "print('{{x.{n}}}'.format_map({{'x': {e}}}))",
    "print(str.format('{{0.{n}.{n2}}}', {e}))",
    "print(f'{{{e}.{n}}}')",
    "print('{{0:{{1.{n}}}}}'.format(Spec(), {e}))",
    "print(Lie('{{0.{n}}}').format({e}))",
    "print(string.Formatter().format('{{0.{n}}}', {e}))",
)
WRITES = (
    "setattr({e}, '{n}', {o})",
    "setattr({e}, Lie('{n}'), {o})",
    "object.__setattr__({e}, '{n}', {o})",
    "type.__setattr__({e}, '{n}', {o})",
    "list(map(setattr, [{e}], ['{n}'], [{o}]))",
    "delattr({e}, '{n}')",
    "vars({e}).update({{'{n}': {o}}})",
    "operator.setitem(vars({e}), '{n}', {o})",
)
PRELUDE = (
    f"import {', '.join(SEARCHED)}\n"
    + """\
class Lie(str):
    def startswith(self, *a): return False
    def endswith(self, *a): return False
    def __contains__(self, x): return False
    def __getitem__(self, i): return "a"
    def __str__(self): return "size"
    def isidentifier(self): return True
    def split(self, *a): return ["size"]
class Spec:
    def __format__(self, spec): return spec
class Holder:
    def __init__(self, value): self.value = value
class Reduces:
    def __init__(self, e, n): self.e, self.n = e, n
    def __reduce_ex__(self, p): return (getattr, (self.e, self.n))
class Forward:
    def __init__(self, e): self.e = e
    def __getattr__(self, n): return getattr(self.e, n)
class own:
    "doc"
    tag = 1
    def __init__(self, *a): self.x = 1
    def m(self): return self
Own = own
def gen(): yield 1
async def coroutine(): pass
coro = coroutine()
def caught():
    try:
        thing.fail()
    except Exception as e:
        return e
def through(v):
    def g():
        yield v
    return next(g())
"""
)
# What a limit of `local` ends. It has none for the memory that C code or a library takes: such a
# program ends with a MemoryError, which it may catch.
ENDLESS = (
    "while True: pass",
    "for _ in iter(int, 1): pass",
    "[0] * 10 ** 12",
    "9 ** 9 ** 9",
    "1 << 10 ** 13",
    "'x' * 10 ** 13",
    "time.sleep(999)",
    "spin()",
    "any(map(lambda x: False, itertools.count()))",
    "sorted([2, 1], key=lambda x: spin())",
    "asyncio.run(asyncio.sleep(999))",
    "Bad() == Bad()",
    "{Bad(): 1}",
    "str(Bad())",
    "n = 9\nwhile True: n = n * n",
    "re.sub('a', lambda m: spin(), 'aaa')",
    "functools.reduce(lambda a, b: a, itertools.count())",
    "b'x' * 10 ** 12",
)
SWALLOW = (
    "try:\n{b}\nexcept BaseException:\n    pass",
    "try:\n{b}\nexcept:\n    trip('handler')",
    "try:\n{b}\nexcept Exception as e:\n    pass",
    "for _ in range(10):\n    try:\n{b2}\n    finally:\n        continue",
    "while True:\n    try:\n{b2}\n    finally:\n        break",
    "with contextlib.suppress(BaseException):\n{b}",
    "class C:\n    def __enter__(self): return self\n    def __exit__(self, *a): return True\nwith C():\n{b}",
    "with contextlib.ExitStack() as st:\n    st.push(lambda *a: True)\n    st.callback(trip, 'callback')\n{b}",
    "def fn():\n    try:\n{b2}\n    finally:\n        return 1\nfn()",
    "@contextlib.contextmanager\ndef cm():\n    try:\n        yield\n    except BaseException:\n        pass\nwith cm():\n{b}",
    "def gg():\n    try:\n{b2}\n        yield\n    except BaseException:\n        yield\nlist(gg())",
    "class D:\n    def __del__(self):\n{b2}\nD()",
    "class P:\n    @property\n    def x(self):\n{b2}\nhasattr(P(), 'x')",
    "class I:\n    def __iter__(self): return self\n    def __next__(self):\n        try:\n{b3}\n        except BaseException:\n            return 1\nnext(I())",
    "async def am():\n    try:\n{b2}\n    except BaseException:\n        pass\nasyncio.run(am())",
    "class K:\n    def __lt__(self, o):\n{b2}\ntry:\n    sorted([K(), K()])\nexcept BaseException:\n    pass",
    "try:\n{b}\nexcept* BaseException:\n    pass",
    "def deco(f):\n    def w(*a):\n        try:\n            return f(*a)\n        except BaseException:\n            return 0\n    return w\n@deco\ndef inner():\n{b}\ninner()",
)
LIMIT_PRELUDE = """\
import math, re, random, collections, itertools, queue, functools, contextlib, time, asyncio
def spin():
    while True: pass
class Bad:
    def __eq__(self, o): return spin()
    def __hash__(self): return spin()
    def __str__(self): return spin()
"""


class Fuzzer:
    """Generator of the programs of one seed."""

    def __init__(self, seed: int, corpus: Sequence[str] = ()) -> None:
        self.random = random.Random(seed)
        self.corpus = list(corpus)

    def _name(self) -> str:
        return self.random.choice(NAMES)

    def chain(self) -> str:
        """Return an expression of one root and up to five steps."""
        expression = self.random.choice([self.random.choice(ROOTS), self.random.choice(MADE)])
        for _ in range(self.random.randint(1, 5)):
            name = self._name()
            cut = self.random.randrange(1, len(name)) if len(name) > 1 else 1
            step = self.random.choice(
                [self.random.choice(ACCESS)] * 4
                + [self.random.choice(CALLS)] * 2
                + [self.random.choice(WRAPPERS)]
            )
            expression = step.format(
                e=expression, n=name, a=name[:cut], b=name[cut:], o=self.random.choice(ROOTS)
            )
        return expression

    def probe(self) -> str:
        """Return one line that tries an access and passes the result on."""
        kind = self.random.random()
        if kind < 0.75:
            return f"leak({self.chain()})"
        shape = self.random.choice(TEXTS if kind < 0.87 else WRITES)
        target = self.random.choice([*ROOTS, *MADE]) if self.random.random() < 0.6 else self.chain()
        return shape.format(e=target, n=self._name(), n2=self._name(), o=self.random.choice(ROOTS))

    def probes(self, count: int) -> list[str]:
        found: list[str] = []
        while len(found) < count:
            line = self.mutant() if self.corpus and self.random.random() < 0.3 else self.probe()
            if line and _parses(line):
                found.append(line)
        return found

    def mutant(self) -> str:
        """Return a statement of a known hostile program with names and constructs exchanged."""
        tree = ast.parse(self.random.choice(self.corpus))
        lines = [s for s in tree.body if isinstance(s, (ast.Expr, ast.Assign))]
        # The line that calls the canary proves nothing on its own.
        lines = [s for s in lines if not ast.unparse(s).startswith("trip(")]
        if not lines:
            return ""
        statement = self.random.choice(lines)
        changed = _Mutation(self.random).visit(statement)
        return ast.unparse(ast.fix_missing_locations(changed)).replace("\n", "; ")

    def limit_program(self) -> str:
        """Return an endless construct in one to three swallowing wrappers, followed by the canary."""
        body = self.random.choice(ENDLESS)
        for _ in range(self.random.randint(1, 3)):
            wrapper = self.random.choice(SWALLOW)
            if "async def" in wrapper and "asyncio.run" in body:
                continue  # a nested loop is a separate error, not a limit
            body = wrapper.format(b=_indent(body, 1), b2=_indent(body, 2), b3=_indent(body, 3))
        return f"{LIMIT_PRELUDE}{body}\ntrip('after')\n"


class _Mutation(ast.NodeTransformer):
    def __init__(self, source: random.Random) -> None:
        self.random = source

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if self.random.random() < 0.25:
            node.attr = self.random.choice(NAMES)
        if self.random.random() < 0.25 and isinstance(node.ctx, ast.Load):
            road = self.random.choice(
                [
                    "getattr({e}, {n!r})",
                    "operator.attrgetter({n!r})({e})",
                    "getattr({e}, Lie({n!r}))",
                ]
            )
            return ast.parse(road.format(e=ast.unparse(node.value), n=node.attr), mode="eval").body
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and self.random.random() < 0.12:
            node.id = self.random.choice(ROOTS)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and node.value.isidentifier() and self.random.random() < 0.3:
            return ast.Constant(self.random.choice(NAMES))
        return node


def _indent(text: str, levels: int) -> str:
    return "\n".join("    " * levels + line for line in text.splitlines())


def _parses(line: str) -> bool:
    try:
        compile(line, "<probe>", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True
