"""More statements for the generated programs: visible evaluation order, class bodies with blocks, objects whose
operators print, generators driven by ``send``, async code, exception groups, class patterns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from generated import PRELUDE, Generator

__all__ = ["WIDER_PRELUDE", "WiderGenerator"]

WIDER_PRELUDE = (
    PRELUDE
    + """
import asyncio
from dataclasses import dataclass
def t(x):
    print("t", x)
    return x
class Box:
    __hash__ = None  # by its address, the order in a set would be another each time
    def __init__(self, *items): self.items = list(items)
    def __getitem__(self, k):
        print("get", k)
        return self.items[k]
    def __setitem__(self, k, v):
        print("set", k, v)
        self.items[k] = v
    def __delitem__(self, k):
        print("del", k)
        del self.items[k]
    @property
    def first(self):
        print("first")
        return self.items[0]
    @first.setter
    def first(self, v):
        print("first =", v)
        self.items[0] = v
    def __repr__(self): return f"Box{self.items}"
class Op:
    def __init__(self, v): self.v = v
    def __repr__(self): return f"Op({self.v})"
    def __mul__(self, o): return Op(("mul", self.v, o))
    def __rmul__(self, o): return Op(("rmul", self.v, o))
    def __imul__(self, o): self.v = ("imul", self.v, o); return self
    def __add__(self, o): return NotImplemented
    def __radd__(self, o): return Op(("radd", self.v, o))
    def __iadd__(self, o): self.v = ("iadd", self.v, o); return self
    def __mod__(self, o): return Op(("mod", self.v, o))
    def __rmod__(self, o): return Op(("rmod", self.v, o))
    def __pow__(self, o, m=None): return Op(("pow", self.v, o, m))
    def __rpow__(self, o): return NotImplemented
    def __ipow__(self, o): return Op(("ipow", self.v, o))
    def __lshift__(self, o): return Op(("lshift", self.v, o))
    def __matmul__(self, o): return Op(("matmul", self.v, o))
    def __lt__(self, o): print("lt", self.v); return True
    def __eq__(self, o): print("eq", self.v); return isinstance(o, Op)
    def __hash__(self): return 7
    def __contains__(self, o): return bool(self.v)
    def __format__(self, s): return f"Op<{self.v}|{s}>"
    def __index__(self): return 2
    def __bool__(self): print("bool", self.v); return bool(self.v)
    def __call__(self, *a, **k): return (a, k)
    def __getattr__(self, n): return "dynamic " + n
    def __neg__(self): return Op(-self.v)
    def __len__(self): return 3
@dataclass
class Pair:
    left: object
    right: object = None
def report(f):
    print("decorated", f.__name__)
    return f
async def later(x):
    await asyncio.sleep(0)
    return x
async def several(*items):
    for item in items:
        await asyncio.sleep(0)
        yield item
class Later:
    async def __aenter__(self):
        print("aenter")
        return 5
    async def __aexit__(self, kind, value, trace):
        print("aexit", kind and kind.__name__)
        return kind is KeyError"""
)


class WiderGenerator(Generator):
    """Generator with additional statements; see :class:`Generator`."""

    prelude = WIDER_PRELUDE

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.in_async = False

    # -- expressions --

    def atom(self) -> str:
        if self.chance(0.12):
            return self.pick(
                f"t({self.random.randint(0, 4)})",
                f"Op({self.random.randint(0, 2)})",
                f"Pair({self.random.randint(0, 2)})",
                "Box(1, 2)",
                "frozenset({1})",
                "bytearray(b'ab')",
                "2 ** 70",
                "-7.5",
                "1e300",
                "(1 + 2j)",
                "'%s|%d'",
                "'{}-{k}'",
                "slice(0, 2)",
                "...",
            )
        return super().atom()

    def expression(self, depth: int = 3) -> str:
        if depth > 0 and self.chance(0.12):
            makers: list[Callable[[int], str]] = [
                self.chained,
                self.formatted,
                self.traced_call,
                self.sliced,
                self.keyed,
                self.nested_comprehension,
            ]
            return self.random.choice(makers)(depth - 1)
        if self.in_async and self.chance(0.15):
            return f"(await later({self.expression(depth - 1)}))"
        return super().expression(depth)

    def chained(self, depth: int) -> str:
        signs = [
            self.pick("<", "<=", "==", "!=", ">", "in", "is", "is not", "not in") for _ in range(3)
        ]
        return f"({self.traced()} {signs[0]} {self.traced()} {signs[1]} {self.expression(depth)})"

    def traced(self) -> str:
        return f"t({self.random.choice([self.name(), str(self.random.randint(0, 3))])})"

    def formatted(self, depth: int) -> str:
        one, two = self.expression(depth), self.traced()
        return self.pick(
            f"('%s %r' % ({one}, {two}))",
            f"('%5s|' % {two})",
            f"'{{}} {{0!r:>6}} {{k}}'.format({one}, k={two})",
            f"'{{0}} {{1!r:>6}} {{k}}'.format({one}, {two}, k=3)",
            f"'{{:>{{w}}}}|'.format({two}, w=4)",
            f"'{{0[0]}}'.format({one})",
            f"format({two}, '>5')",
            f"f'{{{self.name()}!r:>{{{self.random.randint(1, 9)}}}}}'",
            f"f'{{{two}:>3}}{{{self.name()}=}}'",
            f"'{{a}}'.format_map({{'a': {one}}})",
            f"'-'.join(map(str, [{one}, {two}]))",
        )

    def traced_call(self, depth: int) -> str:
        return self.pick(
            f"Op({self.random.randint(0, 2)})({self.traced()}, *[{self.traced()}], k={self.expression(depth)}, **{{'z': {self.traced()}}})",
            f"sorted([{self.traced()}, {self.traced()}], key=lambda v: {self.pick('v', '-v', 'str(v)', 'undefined')})",
            f"[f for f in [lambda: {self.name()}]][0]()",
            f"(lambda *a, k={self.traced()}, **d: (a, k, d))({self.traced()}, q={self.expression(depth)})",
            f"next(iter({self.expression(depth)}), 'end')",
            f"getattr({self.expression(depth)}, {self.pick(repr('real'), repr('v'), repr('left'))}, 'none')",
            f"isinstance({self.expression(depth)}, {self.pick('int', '(str, bytes)', 'range', 'Op', 'list | None')})",
            f"pow({self.traced()}, {self.random.randint(0, 3)})",
            f"max({self.traced()}, {self.traced()}, key=lambda v: -v)",
        )

    def sliced(self, depth: int) -> str:
        value = self.random.choice([self.name(), self.display(depth), "'abcdef'", "Box(1, 2, 3)"])
        parts = [self.pick("", str(self.random.randint(-2, 3)), self.traced()) for _ in range(2)]
        return f"{value}[{':'.join(parts)}{self.pick('', ':2', ':-1')}]"

    def keyed(self, depth: int) -> str:
        return f"{{{self.traced()}: {self.traced()}, **{self.expression(depth)}}}"

    def nested_comprehension(self, depth: int) -> str:
        return self.pick(
            "[[i * j for j in range(i)] for i in range(3)]",
            f"[(i, j) for i in range(3) if i for j in {self.expression(depth)}]",
            f"{{i: [j for j in range(2) if j != i] for i in {self.expression(depth)}}}",
            f"[{self.name()} := i for i in range(2)]",
            f"any(({self.name()} := i) > 0 for i in range(3))",
            f"list(i for i in {self.expression(depth)} if not i)",
            f"dict((i, {self.name()}) for i in 'ab')",
            "[g() for g in [lambda: i for i in range(2)]]",
        )

    # -- statements --

    def statement(self, depth: int) -> list[str]:
        if self.chance(0.25):
            if depth <= 0 or self.chance(0.55):
                makers: list[Callable[[], list[str]]] = [
                    self.traced_target,
                    self.traced_target,
                    self.slice_assignment,
                    self.wider_augmented,
                    self.asserted,
                    self.raised_from,
                    self.starred,
                ]
                return self.random.choice(makers)()
            wider: list[Callable[[int], list[str]]] = [
                self.class_body,
                self.driven_generator,
                self.delegating,
                self.grouped,
                self.class_patterns,
                self.two_managers,
                self.wider_closure,
                self.decorated,
                self.asynchronous,
                self.walrus_loop,
                self.finally_loop,
            ]
            return self.random.choice(wider)(depth - 1)
        return super().statement(depth)

    def traced_target(self) -> list[str]:
        operator = self.pick("=", "+=", "*=", "**=", "%=", "<<=", "-=", "//=", "|=", "@=")
        target = self.pick(
            "box[t(0)]",
            "box.first",
            "box[t(1)]",
            "op.v",
            "box.items[t(0)]",
            "pair.left",
            "pair.right",
            "box[5]",
        )
        value = self.pick(
            f"t({self.random.randint(0, 3)})", "t('s')", "Op(1)", "None", self.expression(1)
        )
        if operator in ("*=", "**=", "<<="):
            value = self.pick("t(2)", "1.5", "Op(2)", "'x'", "True")
        return [f"{target} {operator} {value}"]

    def slice_assignment(self) -> list[str]:
        return [
            self.pick(
                f"{self.name()}[1:2] = {self.expression(1)}",
                f"{self.name()}[:0] = [t(1)]",
                f"{self.name()}[::2] = {self.expression(1)}",
                f"del {self.name()}[::2]",
                "del box[t(0)]",
                f"box[t(0):] = {self.expression(1)}",
                f"{self.name()} = {self.name()}[t(0)] = {self.expression(1)}",
                f"box.first, {self.name()} = t(1), t(2)",
            )
        ]

    def wider_augmented(self) -> list[str]:
        operator = self.pick("+=", "*=", "%=", "**=", "<<=", "-=", "/=", "^=", ">>=")
        value = self.pick("2", "0", "1.5", "'a'", "[1]", "(1,)", "Op(1)", "t(1)", "True", "None")
        return [f"{self.name()} {operator} {value}"]

    def asserted(self) -> list[str]:
        return [f"assert {self.expression(1)}, {self.expression(1)}"]

    def raised_from(self) -> list[str]:
        kind, cause = (
            self.pick("ValueError", "KeyError"),
            self.pick("None", "TypeError('c')", "t(1)"),
        )
        return [
            "try:",
            f"    raise {kind}({self.traced()}) from {cause}",
            "except Exception as e2:",
            "    print(repr(e2), repr(e2.__cause__), e2.__suppress_context__, repr(e2.__context__))",
        ]

    def starred(self) -> list[str]:
        return self.random.choice(
            [
                [f"for i in *{self.name()}, {self.traced()}: print(i)"],
                [f"{self.name()}, *{self.name()} = {self.expression(1)}"],
                [f"({self.name()}, [{self.name()}, *e]), f = {self.expression(1)}, 1"],
                [f"print(*{self.name()}, sep=t('|'), end=t('.'))"],
                [f"for box.first, *g in [(1, 2), {self.expression(0)}]: print(g)"],
            ]
        )

    def class_body(self, depth: int) -> list[str]:
        name = self.fresh("C")
        saved = self.in_loop, self.in_function, self.in_generator, self.in_async
        self.in_loop = self.in_function = self.in_generator = self.in_async = False
        body = [line for line in self.block(depth, 3) if ":=" not in line]
        self.in_loop, self.in_function, self.in_generator, self.in_async = saved
        text = "\n".join(body)
        if "break" in text or "continue" in text or not body:
            body = [f"{self.name()} = {self.name()}"]
        counted = ["n = 0", "while n < 3:", "    n += 1", f"    {self.name()} = n"]
        if self.chance(0.4):
            counted += ["    if n == 2: break", "else:", "    late = n"]
        keep = f"print(sorted(k for k in vars({name}) if len(k) == 1))"
        part = self.pick(
            "d2 = {'k': 2}\nd2['k'] *= 3",
            "xs = [i for i in range(3)]",
            "def m(self): return __class__.__name__",
            f"global {self.name()}",
        )
        lines = [f"class {name}:"]
        if part.startswith("global"):
            lines.append(f"    {part}")
        else:
            lines += self.indented(part.splitlines())
        lines += self.indented(body)
        if self.chance(0.5):
            lines += self.indented(counted)
        return [*lines, keep]

    def driven_generator(self, depth: int) -> list[str]:
        name = self.fresh("gen")
        body = self.scoped(depth, generator=True, size=2)
        steps = [
            self.pick(
                "next(it)",
                f"it.send({self.atom()})",
                "it.throw(ValueError('thrown'))",
                "it.throw(KeyError(1))",
                "it.close()",
            )
            for _ in range(4)
        ]
        kind = self.pick("ValueError", "Exception", "GeneratorExit")
        # Python itself complains about a generator that yields when it is closed.
        again = "raise" if kind == "GeneratorExit" else "yield repr(e3)"
        lines = [
            f"def {name}():",
            f"    x = yield {self.atom()}",
            "    print('sent', x)",
            "    try:",
        ]
        lines += [f"        {line}" for line in body if not line.startswith("global")] or [
            "        pass"
        ]
        lines += ["        yield 'body'", f"    except {kind} as e3:"]
        lines += [f"        {self.pick('print(repr(e3))', again, 'raise')}"]
        lines += [
            "    finally:",
            "        print('finally')",
            f"    return {self.atom()}",
            f"it = {name}()",
        ]
        for step in steps:
            lines += [
                "try:",
                f"    print({step})",
                "except StopIteration as stop:",
                "    print('stop', stop.value)",
            ]
            lines += ["except Exception as e4:", "    print(repr(e4))"]
        return lines

    def delegating(self, depth: int) -> list[str]:
        inner, outer = self.fresh("inner"), self.fresh("outer")
        del depth
        return [
            f"def {inner}():",
            f"    x = yield {self.expression(1)}",
            "    print('inner', x)",
            f"    return {self.expression(1)}",
            f"def {outer}():",
            f"    r = yield from {self.pick(inner + '()', inner + '()', 'range(2)', self.name())}",
            "    print('r', r)",
            "    yield r",
            f"print(list({outer}()))",
        ]

    def grouped(self, depth: int) -> list[str]:
        if sys.version_info < (3, 11):
            return self.shown()
        raised = self.pick(
            "ExceptionGroup('g', [ValueError(1), KeyError('k')])",
            "ExceptionGroup('g', [ExceptionGroup('h', [TypeError()]), ValueError(2)])",
            "ValueError(3)",
            "KeyError(4)",
        )
        saved = self.in_loop, self.in_function
        self.in_loop = self.in_function = False
        lines = ["try:", *self.indented([*self.block(depth, 1), f"raise {raised}"])]
        for kind in self.random.sample(["ValueError", "(KeyError, TypeError)", "OSError"], 2):
            lines += [f"except* {kind} as eg:", "    print(repr(eg), eg.exceptions)"]
            lines += self.indented(self.block(depth, 1))
        if self.chance(0.4):
            lines += ["finally:", *self.indented(self.block(depth, 1))]
        self.in_loop, self.in_function = saved
        return lines

    def class_patterns(self, depth: int) -> list[str]:
        subject = self.pick(
            "Pair(t(1), [2, 3])",
            "Op(1)",
            "Pair('x')",
            "[Pair(1), Op(2)]",
            "{'p': Pair(1, 2)}",
            self.expression(1),
        )
        patterns = self.random.sample(
            [
                "Pair(x, [y, *z])",
                "Pair(left=str() as s)",
                "Pair(1 | 2 as n, None)",
                "Op(v=v)",
                "[Pair(left=l), *_]",
                "{'p': Pair(x, y), **rest}",
                "Pair()",
                "int() | float() as num",
                "[*_, Op()]",
                "-1 | 2 | 'x'",
                "(x, (y, *_)) | [x, y, *_]",
                "bool(b1)",
            ],
            3,
        )
        lines = [f"match {subject}:"]
        for pattern in patterns:
            guard = self.pick("", "", f" if {self.traced()}", " if (w := t(1)) and w > 0")
            lines += [f"    case {pattern}{guard}:", f"        print({pattern!r})"]
            lines += [f"        {line}" for line in self.block(depth, 1)]
        return [*lines, "    case other:", "        print('other', other)"]

    def two_managers(self, depth: int) -> list[str]:
        one, two = self.pick("True", "False", "None"), self.pick("True", "False", "t(0)")
        target = self.pick(" as box.items[0:1]", " as (a, box.first)", " as box.left", "", " as g")
        return [
            f"with Manager({one}){target}, Manager({two}) as [b, *c]:",
            *self.indented(self.block(depth, 2)),
        ]

    def wider_closure(self, depth: int) -> list[str]:
        outer, inner, deep = self.fresh("outer"), self.fresh("inner"), self.fresh("deep")
        one, two = self.random.sample(["a", "b", "c", "d"], 2)
        del depth
        return [
            f"def {outer}():",
            f"    {one} = {self.expression(1)}",
            f"    def {inner}():",
            f"        global {two}",
            f"        nonlocal {one}",
            f"        {two} = {self.traced()}",
            f"        {one} {self.pick('=', '+=', '*=')} {self.pick('2', 't(1)', repr('q'))}",
            f"        def {deep}(x={self.traced()}):",
            f"            nonlocal {one}",
            f"            {self.pick('del ' + one, one + ' = x', 'pass')}",
            f"            return {one}",
            f"        return {deep}(), {one}",
            f"    return [{inner}(), {one}, {two}]",
            f"print({outer}())",
        ]

    def decorated(self, depth: int) -> list[str]:
        name = self.fresh("fn")
        del depth
        lines = [
            "@report",
            "@identity",
            f"def {name}(x, y={self.traced()}, *, k={self.traced()}):",
            f"    'doc of {name}'",
            f"    return {self.expression(1)}",
            f"print({name}({self.traced()}), {name}.__doc__, {name}.__defaults__, {name}.__kwdefaults__)",
        ]
        return lines

    def asynchronous(self, depth: int) -> list[str]:
        if self.in_async or self.in_function:
            return self.shown()
        name = self.fresh("co")
        saved = self.in_loop, self.in_function, self.in_generator
        self.in_loop, self.in_function, self.in_generator, self.in_async = False, True, False, True
        body = [line for line in self.block(depth, 2) if not line.lstrip().startswith("global")]
        value = self.expression(2)
        self.in_loop, self.in_function, self.in_generator = saved
        self.in_async = False
        if any(word in line for line in body for word in ("def ", "lambda", "class ")):
            body = ["pass"]
        if "lambda" in value or " for " in value:
            value = "await later(1)"
        block = self.pick(
            f"async for a in several({self.traced()}, 2):\n    print('item', a)\nelse:\n    print('else')",
            f"async with Later() as b, Later():\n    raise {self.pick('KeyError', 'ValueError')}(1)",
            "print([x async for x in several(1, 2) if x])",
            "print(await asyncio.gather(later(1), later(2)))",
            "print({x: await later(x) for x in range(2)})",
        )
        lines = [f"async def {name}():", *self.indented(block.splitlines()), *self.indented(body)]
        return [*lines, f"    return {value}", f"print(asyncio.run({name}()))"]

    def walrus_loop(self, depth: int) -> list[str]:
        name = self.fresh("left")
        return [f"{name} = 3", f"while ({name} := {name} - 1) >= 0:", *self.looped(depth)]

    def finally_loop(self, depth: int) -> list[str]:
        name = self.fresh("fn")
        leave = self.pick(
            "return 'body'", "raise KeyError(i)", "continue", "break", "pass", "1 / 0"
        )
        after = self.pick("print('f', i)", "continue", "break", "return 'finally'", "i = 9")
        del depth
        return [
            f"def {name}():",
            "    for i in range(3):",
            "        try:",
            f"            if i: {leave}",
            f"            print(i, {self.traced()})",
            "        except LookupError as e5:",
            f"            print(repr(e5)); {self.pick('raise', 'continue', 'pass', 'return 1')}",
            "        finally:",
            f"            if i == 1: {after}",
            "    else:",
            "        return 'else'",
            "    return i",
            f"print({name}())",
        ]

    def start(self) -> list[str]:
        return ["box, op, pair = Box(1, [2], 'z'), Op(1), Pair(1, [2])"]
