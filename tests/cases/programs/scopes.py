# case: global-statement
n = 0
def inc():
    global n
    n += 1
inc(); inc()
n
# case: global-creates-name
def f():
    global created
    created = 42
f()
created
# case: global-private-name
__count = 0
def f():
    global __count, __repr__
    __count += 1
    __repr__ = "a variable"
f()
(__count, __repr__)
# case: global-in-nested-function
x = "g"
def outer():
    x = "o"
    def inner():
        global x
        x = "changed"
    inner()
    return x
(outer(), x)
# case: global-delete
x = 1
def f():
    global x
    del x
f()
x
# case: nonlocal-statement
def outer():
    x = 1
    def mid():
        def inner():
            nonlocal x
            x += 10
        inner()
    mid()
    return x
outer()
# case: nonlocal-shared-between-closures
def make():
    v = 0
    def get(): return v
    def put(x):
        nonlocal v
        v = x
    return get, put
get, put = make()
put(7)
get()
# case: closure-late-binding
fs = []
for i in range(3):
    def f(): return i
    fs.append(f)
[f() for f in fs]
# case: closure-in-function-loop
def make():
    fs = []
    for i in range(3):
        fs.append(lambda: i)
    return [f() for f in fs]
make()
# case: closure-sees-later-change
def f():
    x = 1
    g = lambda: x
    x = 2
    return g()
f()
# case: closure-variable-unbound
def f():
    def g(): return x
    r = g()
    x = 1
    return r
f()
# case: closure-survives-delete
def f():
    x = [1]
    def g(): return x
    return g
g = f()
g().append(2)
g()
# case: delete-closure-variable
def f():
    x = 1
    def g(): return x
    del x
    return g()
f()
# case: class-scope-not-visible-in-methods
y = "global"
class C:
    y = "class"
    def m(self): return y
(C().m(), C.y)
# case: class-body-reads-outer
def f():
    v = 3
    class C:
        w = v * 2
        def m(self): return v + self.w
    return C().m()
f()
# case: class-body-name-lookup-falls-through
x = "global"
def f():
    x = "local"
    class C:
        a = x
        x = "class"
        b = x
    return C.a, C.b
try:
    print(f())
except Exception as e:
    print(type(e).__name__, e)
# case: class-scope-comprehension
class C:
    n = 3
    a = [i for i in range(n)]
C.a
# case: class-scope-comprehension-inner-name
class C:
    n = 3
    a = [n for _ in range(2)]
# case: comprehension-does-not-leak
i = "outer"
a = [i for i in range(3)]
b = {i: i for i in "ab"}
c = list(i for i in (9,))
(i, a)
# case: comprehension-sees-locals
def f(k):
    return [k * i for i in range(3)], [lambda: (k, i) for i in range(2)][0]()
f(5)
# case: lambda-in-comprehension-shares-variable
[f() for f in [lambda: i * i for i in range(4)]]
# case: nested-comprehension-scopes
def f(n):
    return [[(i, j, n) for j in range(i)] for i in range(n)]
f(3)
# case: walrus-leaks-from-comprehension
[(last := i) for i in range(4)]
last
# case: exception-variable-is-deleted
e = "before"
try:
    1 / 0
except ZeroDivisionError as e:
    pass
e
# case: exception-variable-in-function
def f():
    try:
        raise ValueError("v")
    except ValueError as e:
        msg = str(e)
    try:
        return e
    except NameError as err:
        return msg, type(err).__name__, str(err)
f()
# case: for-variable-is-function-scoped
def f():
    for z in range(3): pass
    return z
f()
# case: function-locals-are-fresh
def f(flag):
    if flag:
        v = 1
    return v
try:
    f(True)
    f(False)
except UnboundLocalError as e:
    print(e)
# case: builtin-shadow-and-restore
len = lambda x: 99
a = len([1])
del len
(a, len([1]))
# case: recursion-through-closure
def f(n):
    def g(k): return 1 if k == 0 else k * g(k - 1)
    return g(n)
f(6)
# case: module-level-name-in-method
limit = 3
class C:
    def ok(self, v): return v < limit
c = C()
a = c.ok(5)
limit = 10
(a, c.ok(5))
# case: import-inside-function-is-local
def f():
    import math
    return math.floor(2.7)
print(f())
try:
    math
except NameError as e:
    print(e)
# case: inner-def-does-not-replace-global
def helper(): return "global helper"
def f():
    def helper(): return "inner"
    return helper()
(f(), helper())
# case: parameters-shadow-globals
x = 1
def f(x): x += 1; return x
(f(10), x)
# case: two-level-nonlocal-with-loop
def outer():
    total = 0
    def add(items):
        nonlocal total
        for i in items:
            total += i
        return total
    add([1, 2]); add([3])
    return total
outer()
# case: name-mangling
class A:
    def __init__(self): self.__x = 1; self._y = 2
    def get(self): return self.__x
    __cls = "c"
    def c(self): return self.__cls, A.__cls
class B(A):
    def __init__(self):
        super().__init__()
        self.__x = 100
    def both(self): return (self.get(), self.__x)
b = B()
(b.both(), b._y, b.c(), b._A__x, hasattr(b, "__x"))
# case: mangled-name-missing-outside
class A:
    def __init__(self): self.__x = 1
A().__x
# case: mangling-of-methods-and-parameters
class A:
    def __helper(self, __p=5): return __p
    def run(self): return self.__helper() + self.__helper(__p=1) if False else self.__helper()
A().run()
# case: variable-named-like-keyword-soft
match = 1; case = 2; _ = 3; type = 4
match + case + _ + type
# case: nonlocal-without-binding-is-syntax-error
def f():
    nonlocal q
# case: global-after-use-is-syntax-error
def f():
    x = 1
    global x
# case: return-outside-function
return 5
# case: break-outside-loop
if True:
    break
# case: syntax-error-line
a = 1
b = = 2
# case: indentation-error
def f():
return 1
# case: unclosed-bracket
x = (1 + 2
y = 3
