# case: simple
name, n = "Bo", 3
f"{name} has {n} items, {n * 2 + 1} soon, {name!r} {name.upper()}"
# case: conversions
v = "é\n"
(f"{v!r}", f"{v!s}", f"{v!a}", f"{v!r:>8}")
# case: format-spec
x = 3.14159
(f"{x:.2f}", f"{x:10.3f}|", f"{x:<10.1e}|", f"{42:06d}", f"{1234567:,}", f"{0.25:.0%}", f"{255:#b}")
# case: nested-spec
w, p, x = 10, 3, 2 / 3
(f"{x:{w}.{p}f}", f"{x:>{w}}"[:5], f"{'s':{'*'}^{w - 3}}")
# case: debug-specifier
a, b = 1, [2]
(f"{a=}", f"{ b = }", f"{a + 1=}", f"{a=:>4}", f"{b=!s}")
# case: braces
(f"{{}}", f"{{{1}}}", f"{{{{", f"a{{b}}c{2}")
# case: quotes-inside
d = {"k": 1, 'j': 2}
f"{d['k']} {d['j']}"
# case: multi-line
a = 1
f"""first {a}
second {a + 1}
"""
# case: concatenated
a = 1
f"x{a}" "y{a}" f"z{a}" r"\n" rf"\{a}"
# case: lambda-and-ternary
f"{(lambda x: x * 2)(21)} {'yes' if 1 else 'no'}"
# case: comprehension-inside
f"{[i * i for i in range(4)]} {sum(i for i in range(5))} {({1: 2})}"
# case: walrus-inside
f"{(y := 5)} {y + 1}"
# case: walrus-lookalike-is-a-spec
x = 5
f"{x:=5}|{x:=+7}"
# case: nested-f-string
a = 2
f"<{f'({a})'}>"
# case: call-inside
def f(*a, **k): return f"{a}{k}"
f"{f(1, *[2], k=3)}"
# case: evaluation-order
log = []
def t(v):
    log.append(v)
    return v
f"{t(1)}{t(2):{t(5)}}{t(3)!r}"
log
# case: attribute-and-index
class P: x = [1, {"k": "v"}]
f"{P.x[1]['k']} {P.x[0]:>3} {P().x[-1]}"
# case: datetime-spec
from datetime import datetime
f"{datetime(2024, 5, 6, 7, 8):%Y-%m-%d %H:%M}"
# case: conversion-calls-repr
class A:
    def __repr__(self): return "R"
    def __str__(self): return "S"
    def __format__(self, s): return "F" + s
a = A()
(f"{a}", f"{a!r}", f"{a!s}", f"{a:z}", f"{a!r:>3}")
# case: bool-and-none
f"{None} {True!r:>6} {[]!s} {...}"
# case: spec-error
f"{'a':d}"
# case: undefined-name
f"{undefined_thing}"
# case: unsupported-spec
f"{[1]:>5}"
# case: inside-function-and-class
class C:
    tag = "T"
    label = f"{tag}-label"
    def m(self, q): return f"{self.tag}{q}{self.label!r}"
C().m(1)
# case: as-dict-key-and-argument
d = {f"k{i}": f"{i:02}" for i in range(3)}
(d, len(f"{d}"), f"{'a'}" in d)
# case: multi-line-expression
# since: 3.12 a replacement field of a one-line string may span lines (PEP 701)
f"{sum([1,
2, 3])}"
# case: nested-same-quotes
# since: 3.12 quotes may be reused inside a replacement field (PEP 701)
d = {"a": 1}
f"{d["a"]} {", ".join(["x", "y"])}"
# case: backslash-in-expression
# since: 3.12 backslashes inside a replacement field (PEP 701)
f"{'\n'.join(['a', 'b'])} {'\t'}"
# case: comment-inside
# since: 3.12 comments inside a replacement field (PEP 701)
f"{
    1 + 1  # a comment
}"
# case: deep-nesting
# since: 3.12 arbitrary nesting (PEP 701)
f"{f"{f"{f"{1 + 1}"}"}"}"
# case: dictionary-display-with-spaces
f"{ {'a': 1}['a'] } { {1, } }"
# case: exclamation-not-equal
a = 1
f"{a!=2} {a!r}"
# case: raw-and-bytes-mix
a = 1
(rf"\d{a}\w", Rf"{a}\n", fR"{a}\t")
# case: number-in-table
rows = [("apple", 1.5), ("kiwi", 22.25)]
for n, p in rows:
    print(f"{n:<8}|{p:>8.2f}|")
"\n".join(f"{i:>2}. {n}" for i, (n, _) in enumerate(rows, 1))
