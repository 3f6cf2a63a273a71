# case: basics
print("a", 1, None, [1], {"k": "v"}, (1,), 1.0, True)
print()
print("")
print("é☃")
# case: sep-and-end
print(1, 2, 3, sep="-", end="!\n")
print("a", "b", sep="")
print("x", end="")
print("y", end="|")
print("z")
print(*range(4), sep=", ")
print(1, 2, sep=None, end=None)
# case: flush-and-file-none
print("a", flush=True)
print("b", file=None)
# case: star-and-nested
rows = [[1, 2], [3, 4]]
print(*rows, sep="\n")
print(*[f"{i}:{v}" for i, v in enumerate("ab")])
print("multi\nline\n")
# case: objects-use-str
class A:
    def __str__(self): return "S"
    def __repr__(self): return "R"
print(A(), [A()], {"k": A()})
# case: print-inside-functions-and-loops
def f(n):
    for i in range(n):
        print(i, end=" ")
    print()
f(3)
f(2)
# case: print-in-expression
x = [print(i) for i in range(2)]
x
# case: print-as-value
p = print
p("through a name")
list(map(print, "ab"))
def show(f): f("passed")
show(print)
# case: bad-sep
print(1, sep=5)
# case: bad-keyword
print(1, separator="x")
# case: str-raises
class A:
    def __str__(self): raise ValueError("no str")
print("before", A())
# case: str-returns-non-string
class A:
    def __str__(self): return 5
print(A())
# case: print-partial-output-before-error
print("one", end=" ")
print("two")
1 / 0
# case: table
data = {"apple": 3, "fig": 12}
print(f"{'name':<8}{'n':>4}")
print("-" * 12)
for k, v in data.items():
    print(f"{k:<8}{v:>4}")
# case: print-shadowed
def print(*a): return ("mine", a)
print(1)
# case: repr-shapes
print([1, "a", None], ("x",), {1: {2: [3]}}, {1}, frozenset(), b"x", 1e100, 1e-7, -0.0, 10 ** 20, 1_000.5, [[]], set(), range(3), slice(1))
# case: pretty-printed
import pprint
from pprint import pprint as show
show({"b": [1, 2], "a": {"c": (1, 2), "long": "x" * 40, "other": list(range(12))}}, width=40)
pprint.pp({"b": 1, "a": 2})
pprint.PrettyPrinter(indent=4, width=20).pprint([[1, 2], [3, 4], {"k": 5}])
pprint.pformat({"z": 1, "a": 2})
# case: flushed-to-a-file
class File:
    def write(self, text): print("write", repr(text))
    def flush(self): print("flush")
print("a", 1, file=File(), flush=True, end="")
