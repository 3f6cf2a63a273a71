"""Generator and shrinker of well-formed programs, for comparing CPython with the fork's interpreter.

Programs end by construction: loops run over short ranges, recursion has a depth argument, and big operations have small
operands. Every program ends in ``show(...)`` of its variables, so that a difference anywhere becomes one in the output.
"""

from __future__ import annotations

import ast
import random
import warnings
from collections.abc import Callable, Iterator

NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"]
EXCEPTIONS = [
    "ValueError",
    "KeyError",
    "IndexError",
    "TypeError",
    "ZeroDivisionError",
    "Exception",
    "LookupError",
    "ArithmeticError",
]


class Generator:
    """Generator of the programs of one seed; ``program()`` returns the next."""

    prelude = ""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.depth = 0
        self.in_loop = False
        self.in_function = False
        self.in_generator = False
        self.functions: list[tuple[str, int]] = []
        self.classes: list[str] = []
        self.counter = 0

    # -- helpers --

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def fresh(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def name(self) -> str:
        return self.random.choice(NAMES)

    # -- expressions --

    def expression(self, depth: int = 3) -> str:
        if depth <= 0:
            return self.atom()
        makers: list[Callable[[int], str]] = [
            self.binary,
            self.binary,
            self.comparison,
            self.boolean,
            self.unary,
            self.conditional,
            self.call,
            self.call,
            self.display,
            self.display,
            self.comprehension,
            self.subscript,
            self.f_string,
            self.lambda_call,
            self.walrus,
            self.method,
            lambda _: self.atom(),
            lambda _: self.atom(),
        ]
        return self.random.choice(makers)(depth - 1)

    def atom(self) -> str:
        return self.random.choice(
            [
                self.name(),
                self.name(),
                str(self.random.randint(-9, 20)),
                self.pick(
                    "0", "1", "2", "1.5", "True", "False", "None", "'xy'", "'abc'", "''", "b'q'"
                ),
                self.pick("[]", "{}", "()", "[1, 2]", "(3, 4)", "{'k': 1}", "{5, 6}", "range(4)"),
            ]
        )

    def number(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.4):
            return self.random.choice([self.name(), str(self.random.randint(-5, 12))])
        return f"({self.number(depth - 1)} {self.pick('+', '-', '*', '//', '%', '|', '&', '^')} {self.number(depth - 1)})"

    def binary(self, depth: int) -> str:
        if self.chance(0.5):
            return self.number(depth + 1)
        operator = self.pick("+", "-", "*", "/", "//", "%", "|", "&", "^", "<<", ">>", "**", "@")
        right = self.expression(depth)
        if operator in ("**", "<<"):
            right = str(self.random.randint(0, 4))
        if operator == "*" and self.chance(0.7):
            right = str(self.random.randint(0, 4))
        return f"({self.expression(depth)} {operator} {right})"

    def comparison(self, depth: int) -> str:
        parts = [self.expression(depth)]
        for _ in range(self.random.randint(1, 2)):
            operator = self.pick("<", "<=", "==", "!=", ">", ">=", "is", "is not", "in", "not in")
            if operator.startswith("is"):
                return f"({parts[0]} {operator} None)"
            parts.append(f"{operator} {self.expression(depth)}")
        return f"({' '.join(parts)})"

    def boolean(self, depth: int) -> str:
        operator = self.pick("and", "or")
        return f"({self.expression(depth)} {operator} {self.expression(depth)})"

    def unary(self, depth: int) -> str:
        return f"({self.pick('-', '+', '~', 'not ')}{self.expression(depth)})"

    def conditional(self, depth: int) -> str:
        return (
            f"({self.expression(depth)} if {self.expression(depth)} else {self.expression(depth)})"
        )

    def call(self, depth: int) -> str:
        if self.functions and self.chance(0.5):
            name, count = self.random.choice(self.functions)
            given = [
                self.expression(depth) for _ in range(self.random.randint(max(0, count - 1), count))
            ]
            if self.chance(0.15):
                given.append(f"*{self.expression(depth)}")
            if self.chance(0.15):
                given.append(f"k={self.expression(depth)}")
            return f"{name}({', '.join(given)})"
        if self.classes and self.chance(0.3):
            return f"{self.random.choice(self.classes)}({self.expression(depth)})"
        name = self.pick(
            *[
                "len",
                "str",
                "repr",
                "list",
                "tuple",
                "sorted",
                "sum",
                "max",
                "min",
                "abs",
                "bool",
                "type_name",
                "set",
                "dict",
            ],
            *[
                "enumerate_list",
                "zip_list",
                "reversed_list",
                "any",
                "all",
                "int",
                "float",
                "hash_is",
                "divmod",
                "round",
            ],
        )
        one = self.expression(depth)
        return {
            "type_name": f"type({one}).__name__",
            "enumerate_list": f"list(enumerate({one}))",
            "zip_list": f"list(zip({one}, {self.expression(depth)}))",
            "reversed_list": f"list(reversed({one}))",
            "divmod": f"divmod({one}, {self.atom()})",
            "hash_is": f"(hash({one}) == hash({one}))",
            "set": f"sorted(set({one}))",
        }.get(name, f"{name}({one})")

    def display(self, depth: int) -> str:
        items = [self.expression(depth) for _ in range(self.random.randint(0, 3))]
        if items and self.chance(0.3):
            items[self.random.randrange(len(items))] = f"*{self.expression(depth)}"
        kind = self.pick("list", "tuple", "dict", "set")
        if kind == "list":
            return f"[{', '.join(items)}]"
        if kind == "tuple":
            return f"({', '.join(items)},)" if items else "()"
        if kind == "set":
            return f"sorted({{{', '.join(items)}}})" if items else "[]"
        pairs = [f"{self.expression(0)}: {self.expression(depth)}" for _ in range(len(items))]
        if self.chance(0.3):
            pairs.append(f"**{self.expression(0)}")
        return f"{{{', '.join(pairs)}}}"

    def comprehension(self, depth: int) -> str:
        variable = self.pick("x", "y", "a", "b")
        source = self.pick("range(4)", "'abc'", self.name(), self.expression(depth))
        condition = f" if {self.expression(depth)}" if self.chance(0.4) else ""
        inner = f" for {self.pick('z', 'w')} in range(2)" if self.chance(0.2) else ""
        element = self.random.choice(
            [variable, self.expression(depth), f"({variable}, {self.name()})"]
        )
        clause = f"for {variable} in {source}{condition}{inner}"
        kind = self.pick("list", "list", "dict", "generator", "sum")
        if kind == "dict":
            return f"{{str({variable}): {element} {clause}}}"
        if kind == "generator":
            return f"list({element} {clause})"
        if kind == "sum":
            return f"sum(1 {clause})"
        return f"[{element} {clause}]"

    def subscript(self, depth: int) -> str:
        value = self.random.choice([self.name(), self.display(depth)])
        index = self.random.choice(
            [
                str(self.random.randint(-3, 3)),
                f"{self.random.randint(-2, 2)}:{self.random.randint(0, 3)}",
                "::-1",
                self.expression(0),
            ]
        )
        return f"{value}[{index}]"

    def f_string(self, depth: int) -> str:
        inner = self.expression(depth).replace('"', "'")
        if any(c in inner for c in "'\\{}!:\"") or "lambda" in inner:
            inner = self.name()
        suffix = self.pick("", "!r", "!s", ":>8", ":<5", "=", "!r:^9")
        return f'f"<{{{inner}{suffix}}}>{self.pick("", "tail", "{{}}")}"'

    def lambda_call(self, depth: int) -> str:
        return f"(lambda x, y={self.expression(0)}: {self.pick('x', 'y', '[x, y]', 'x + y')})({self.expression(depth)})"

    def walrus(self, depth: int) -> str:
        return f"({self.name()} := {self.expression(depth)})"

    def method(self, depth: int) -> str:
        target = self.random.choice([self.name(), self.atom()])
        if target[0].isdigit() or target[0] == "-":
            target = f"({target})"
        name = self.pick(
            *[
                "upper()",
                "split()",
                "strip()",
                "keys()",
                "items()",
                "copy()",
                "count(1)",
                "index(1)",
                "title()",
            ],
            *[
                "get('k')",
                "pop()",
                "append(3)",
                "extend([1])",
                "update({})",
                "join('ab')",
                "real",
                "bit_length()",
            ],
            *[
                "startswith('x')",
                "values()",
                "sort()",
                "reverse()",
                "encode()",
                "find('a')",
                "zfill(4)",
            ],
        )
        del depth
        if name.startswith(("keys", "items", "values")):
            return f"list({target}.{name})"
        return f"{target}.{name}"

    # -- statements --

    def block(self, depth: int, size: int = 3) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, size)):
            lines += self.statement(depth)
        return lines

    def indented(self, lines: list[str]) -> list[str]:
        return [f"    {line}" for line in lines] or ["    pass"]

    def statement(self, depth: int) -> list[str]:
        simple = [
            self.assignment,
            self.assignment,
            self.augmented,
            self.shown,
            self.unpacking,
            self.deleted,
        ]
        compound = [
            self.conditional_block,
            self.for_loop,
            self.while_loop,
            self.tried,
            self.tried,
            self.function,
            self.generator,
            self.class_definition,
            self.matched,
            self.with_block,
            self.closure,
        ]
        if self.in_function and self.chance(0.08):
            return [f"return {self.expression(2)}"]
        if self.in_generator and self.chance(0.4):
            return [
                self.pick(
                    f"yield {self.expression(2)}",
                    f"{self.name()} = yield {self.name()}",
                    "yield from range(2)",
                )
            ]
        if self.in_loop and self.chance(0.1):
            return [f"if {self.expression(1)}:", f"    {self.pick('break', 'continue')}"]
        if self.chance(0.05):
            return [f"raise {self.random.choice(EXCEPTIONS)}({self.expression(1)})"]
        if depth <= 0 or self.chance(0.5):
            return self.random.choice(simple)()
        return self.random.choice(compound)(depth - 1)

    def assignment(self) -> list[str]:
        target = self.random.choice(
            [self.name(), self.name(), f"{self.name()} = {self.name()}", f"{self.name()}: int"]
        )
        return [f"{target} = {self.expression()}"]

    def augmented(self) -> list[str]:
        operator = self.pick("+=", "-=", "*=", "//=", "%=", "|=", "&=")
        value = str(self.random.randint(0, 5)) if operator == "*=" else self.expression(2)
        target = self.random.choice([self.name(), self.name(), f"{self.name()}[0]"])
        return [f"{target} {operator} {value}"]

    def unpacking(self) -> list[str]:
        target = self.pick(
            "a, b", "a, *b", "[c, d]", "(a, (b, c))", "*a, b", "a, b, *c", "d['q']", "d[0]"
        )
        return [f"{target} = {self.expression(2)}"]

    def shown(self) -> list[str]:
        extra = self.pick("", "", ", sep='-'", ", end='|'")
        return [f"print({self.expression(2)}, {self.expression(1)}{extra})"]

    def deleted(self) -> list[str]:
        return [
            f"del {self.random.choice([self.name(), f'{self.name()}[0]', f'{self.name()}[:1]'])}"
        ]

    def conditional_block(self, depth: int) -> list[str]:
        lines = [f"if {self.expression(2)}:", *self.indented(self.block(depth))]
        if self.chance(0.3):
            lines += [f"elif {self.expression(2)}:", *self.indented(self.block(depth))]
        if self.chance(0.5):
            lines += ["else:", *self.indented(self.block(depth))]
        return lines

    def looped(self, depth: int) -> list[str]:
        outer, self.in_loop = self.in_loop, True
        lines = self.indented(self.block(depth))
        self.in_loop = outer
        return lines

    def for_loop(self, depth: int) -> list[str]:
        source = self.pick(
            "range(3)",
            "'ab'",
            "[1, [2], 'z']",
            "enumerate('pq')",
            f"list({self.name()})[:4]",
            "{'k': 1}.items()",
        )
        target = self.pick("i", "a", "(i, j)", "i, *j")
        lines = [f"for {target} in {source}:", *self.looped(depth)]
        if self.chance(0.3):
            lines += ["else:", *self.indented(self.block(depth))]
        return lines

    def while_loop(self, depth: int) -> list[str]:
        counter = self.fresh("n")
        body = self.looped(depth)
        lines = [
            f"{counter} = 0",
            f"while {counter} < {self.random.randint(1, 4)}:",
            f"    {counter} += 1",
            *body,
        ]
        if self.chance(0.3):
            lines += ["else:", *self.indented(self.block(depth))]
        return lines

    def tried(self, depth: int) -> list[str]:
        lines = ["try:", *self.indented(self.block(depth))]
        for kind in self.random.sample(EXCEPTIONS, self.random.randint(1, 2)):
            bound = self.pick("", " as e1")
            body = self.block(depth)
            if bound:
                body = ["print(type(e1).__name__, e1)", *body]
            if self.chance(0.1):
                body.append("raise")
            lines += [f"except {kind}{bound}:", *self.indented(body)]
        if self.chance(0.3):
            lines += ["else:", *self.indented(self.block(depth))]
        if self.chance(0.4):
            outer, self.in_loop = self.in_loop, False
            inside, self.in_function = self.in_function, False
            lines += ["finally:", *self.indented(self.block(depth, 2))]
            self.in_loop, self.in_function = outer, inside
        return lines

    def scoped(self, depth: int, *, generator: bool = False, size: int = 3) -> list[str]:
        saved = self.in_loop, self.in_function, self.in_generator
        self.in_loop, self.in_function, self.in_generator = False, True, generator
        body = self.block(depth, size)
        self.in_loop, self.in_function, self.in_generator = saved
        if self.chance(0.3):
            body = [f"global {self.name()}", *body]
        return body

    def parameters(self) -> tuple[str, int]:
        return self.random.choice(
            [
                ("", 0),
                ("a", 1),
                ("a, b=2", 2),
                ("a, *c", 2),
                ("a, b=None, *, k=3", 2),
                ("*c, **d", 1),
                ("a, /, b=1", 2),
                ("a, b=1, *c, k=5, **d", 3),
            ]
        )

    def function(self, depth: int) -> list[str]:
        name = self.fresh("fn")
        parameters, count = self.parameters()
        body = self._without_global_of(parameters, self.scoped(depth))
        decorator = ["@identity"] if self.chance(0.15) else []
        lines = [
            *decorator,
            f"def {name}({parameters}):",
            *self.indented([*body, f"return {self.expression(1)}"]),
        ]
        self.functions.append((name, count))
        return lines

    @staticmethod
    def _without_global_of(parameters: str, body: list[str]) -> list[str]:
        taken = {part.strip("*/ ").split("=")[0].strip() for part in parameters.split(",")}
        if body and body[0].startswith("global ") and body[0].split()[1] in taken:
            return body[1:]
        return body

    def generator(self, depth: int) -> list[str]:
        name = self.fresh("gen")
        body = self.scoped(depth, generator=True)
        use = self.pick(
            f"print(list({name}()))",
            f"for i in {name}(): print(i)",
            f"g1 = {name}(); print(next(g1, 'none')); g1.close()",
            f"print(sum(1 for _ in {name}()))",
        )
        return [f"def {name}():", *self.indented([*body, f"yield {self.expression(1)}"]), use]

    def closure(self, depth: int) -> list[str]:
        name, inner = self.fresh("outer"), self.fresh("inner")
        variable = self.name()
        body = [
            line for line in self.scoped(depth, size=2) if not line.startswith(("global", "return"))
        ]
        return [
            f"def {name}():",
            f"    {variable} = {self.expression(1)}",
            f"    def {inner}(x=1):",
            f"        nonlocal {variable}",
            *[f"        {line}" for line in body],
            f"        {variable} = {self.expression(1)}",
            f"        return {variable}",
            f"    return [{inner}(), {inner}(2), {variable}]",
            f"print({name}())",
        ]

    def class_definition(self, depth: int) -> list[str]:
        name = self.fresh("K")
        base = f"({self.random.choice(self.classes)})" if self.classes and self.chance(0.4) else ""
        lines = [f"class {name}{base}:", f"    tag = {self.expression(1)}"]
        lines += ["    def __init__(self, v=None):", "        self.v = v"]
        if base and self.chance(0.5):
            lines.append("        super().__init__(v)")
        for special in self.random.sample(
            [
                "def __repr__(self): return f'K<{self.v!r}>'",
                "def __eq__(self, o): return isinstance(o, type(self)) and self.v == o.v",
                "def __len__(self): return 2",
                "def __getitem__(self, i): return [self.v, i][i]",
                "def __add__(self, o): return ('add', self.v)",
                "def __call__(self, *a): return ('call', a)",
                "def __iter__(self): yield self.v",
                "def __bool__(self): return bool(self.v)",
                "def __contains__(self, o): return o == self.v",
                "def __getattr__(self, n): return 'dyn ' + n",
                "def __lt__(self, o): return True",
            ],
            self.random.randint(1, 4),
        ):
            lines.append(f"    {special}")
        if "__repr__" not in "".join(lines):
            lines.append("    def __repr__(self): return 'K'")
        body = [line for line in self.scoped(depth, size=2) if not line.startswith("global")]
        lines += [
            "    def m(self, x=1):",
            *[f"        {line}" for line in body],
            "        return self.v",
        ]
        lines += ["    @property", "    def p(self): return [self.v]"]
        lines += [
            "    @classmethod",
            "    def c(cls): return cls.tag",
            "    @staticmethod",
            "    def s(x): return x",
        ]
        self.classes.append(name)
        use = self.pick("m()", "p", "c()", "s(3)", "tag", "v", "m(2)")
        return [
            *lines,
            f"{self.name()} = {name}({self.expression(1)})",
            f"print({name}({self.atom()}).{use})",
        ]

    def matched(self, depth: int) -> list[str]:
        patterns = [
            "1 | 2",
            "'xy'",
            "None",
            "True",
            "[]",
            "[x]",
            "[x, *y]",
            "(x, y)",
            "{'k': x}",
            "{**r}",
            "str(x)",
            "int(x) if x > 3",
            "float() | bool()",
            "[int(x), _] as y",
            "[*_, 2]",
            "list()",
        ]
        lines = [f"match {self.expression(2)}:"]
        for pattern in self.random.sample(patterns, self.random.randint(1, 4)):
            pattern, _, guard = pattern.partition(" if ")
            lines.append(f"    case {pattern}{' if ' + guard if guard else ''}:")
            lines += [
                f"        {line}"
                for line in ["print('case', sorted(k for k in ('x', 'y')))", *self.block(depth, 2)]
            ]
        if self.chance(0.5):
            lines += ["    case _:", *[f"        {line}" for line in self.block(depth, 2)]]
        return lines

    def with_block(self, depth: int) -> list[str]:
        swallow = self.pick("True", "False", "None")
        target = self.pick("", " as a", " as (b, c)")
        return [f"with Manager({swallow}){target}:", *self.indented(self.block(depth))]

    # -- programs --

    def program(self) -> str:
        self.functions, self.classes, self.counter = [], [], 0
        start = [f"{name} = {self.atom_constant()}" for name in NAMES]
        body: list[str] = []
        for _ in range(self.random.randint(2, 6)):
            lines = self.statement(2)
            if self.chance(
                0.95
            ):  # an error ends only this statement, so that most programs reach their end
                report = "    print(type(caught).__name__, caught)"
                lines = ["try:", *self.indented(lines), "except Exception as caught:", report]
            body += lines
        return "\n".join([self.prelude or PRELUDE, *self.start(), *start, *body, "show()"]) + "\n"

    def start(self) -> list[str]:
        """Return the lines before the variables."""
        return []

    def atom_constant(self) -> str:
        return self.pick(
            "0",
            "3",
            "-2",
            "1.5",
            "'xy'",
            "'a b'",
            "[1, 2]",
            "[]",
            "(1, 2)",
            "{'k': 1}",
            "None",
            "True",
            "{1, 2}",
            "b'z'",
        )


PRELUDE = """\
class Manager:
    def __init__(self, swallow): self.swallow = swallow
    def __enter__(self): return (1, 2)
    def __exit__(self, kind, value, trace):
        print("exit", kind and kind.__name__, value)
        return self.swallow
def identity(f): return f
def show():
    for name in "abcdefgh":
        try:
            print(name, "=", {"a": lambda: a, "b": lambda: b, "c": lambda: c, "d": lambda: d, "e": lambda: e,
                              "f": lambda: f, "g": lambda: g, "h": lambda: h}[name]())
        except NameError as error:
            print(error)"""


def programs(seed: int) -> Iterator[str]:
    """Yield programs endlessly, alternately from the small and the wider grammar."""
    from generated_wider import WiderGenerator

    small = Generator(seed)
    # A program of the wider grammar takes three times as long.
    generators = [small, small, small, WiderGenerator(seed)]
    while True:
        for generator in generators:
            text = generator.program()
            while not _compiles(text):
                text = generator.program()
            yield text


def _compiles(text: str) -> bool:
    with warnings.catch_warnings():  # "is" with a literal, and such: odd, and allowed
        warnings.simplefilter("ignore")
        try:
            compile(text, "<generated>", "exec")
        except (SyntaxError, ValueError):
            return False
    return True


# -- shrinking --


def shrink(source: str, fails: Callable[[str], bool], most: int = 400) -> str:
    """Shrink a failing program by removing statements and unwrapping blocks."""
    tried = 0
    changed = True
    while changed and tried < most:
        changed = False
        for candidate in _smaller(source):
            tried += 1
            if tried >= most:
                break
            if fails(candidate):
                source, changed = candidate, True
                break
    return source


def _smaller(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    count = sum(1 for _ in _bodies(tree))
    for which in range(count):
        length = len(list(_bodies(ast.parse(source)))[which][1])
        for size in (length, length // 2, 1):
            if size < 1:
                continue
            for start in range(0, length, size):
                fresh = ast.parse(source)
                node, body, name = list(_bodies(fresh))[which]
                kept = body[:start] + body[start + size :]
                if not kept and not (isinstance(node, ast.Module) or name != "body"):
                    kept = [ast.Pass()]
                if [ast.dump(s) for s in kept] == [ast.dump(s) for s in body]:
                    continue
                setattr(node, name, kept)
                yield from _unparsed(fresh)
    for which in range(count):
        fresh = ast.parse(source)
        node, body, name = list(_bodies(fresh))[which]
        for position, statement in enumerate(body):
            inner = getattr(statement, "body", None)
            if (
                isinstance(inner, list)
                and inner
                and not isinstance(statement, (ast.FunctionDef, ast.ClassDef))
            ):
                setattr(node, name, body[:position] + inner + body[position + 1 :])
                yield from _unparsed(fresh)
                break


def _unparsed(tree: ast.Module) -> Iterator[str]:
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, RecursionError, AttributeError):
        return
    if _compiles(text):
        yield text


def _bodies(tree: ast.AST) -> Iterator[tuple[ast.AST, list[ast.stmt], str]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            value = getattr(node, name, None)
            if isinstance(value, list) and value:
                yield node, value, name
