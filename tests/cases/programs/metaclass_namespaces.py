# case: missing-names-are-made
class NS(dict):
    def __missing__(self, key):
        if key.startswith("__"):
            raise KeyError(key)
        self[key] = len([k for k in self if not k.startswith("__")])
        return self[key]
class M(type):
    @classmethod
    def __prepare__(mcls, name, bases): return NS()
    def __new__(mcls, name, bases, ns): return super().__new__(mcls, name, bases, dict(ns))
class Color(metaclass=M):
    RED
    GREEN
    X = RED * 2 + GREEN
    Y = f"{RED}-{GREEN}"
    def m(self): return 1
(Color.RED, Color.GREEN, Color.X, Color.Y, sorted(k for k in vars(Color) if not k.startswith("__")))
# case: namespace-logs-what-is-asked
class NS(dict):
    def __setitem__(self, k, v):
        print("set", k); dict.__setitem__(self, k, v)
    def __getitem__(self, k):
        print("get", k); return dict.__getitem__(self, k)
class M(type):
    @classmethod
    def __prepare__(mcls, name, bases, **kw): print("prepare", name, kw); return NS()
    def __init__(cls, name, bases, ns, **kw): super().__init__(name, bases, ns)
    def __new__(mcls, name, bases, ns, **kw): return super().__new__(mcls, name, bases, dict(ns))
class A(metaclass=M, flag=3):
    x = 1
    y = x * 3
    d = {"a": 1}
    d["a"] *= 4
    for i in range(2):
        z = i
    n = 0
    while n < 2:
        n += 1
A.y, A.d, A.n
# case: loops-in-a-class-body
class A:
    n = 0
    while n < 3:
        n += 1
        if n == 2: continue
    else:
        done = True
    while True:
        n += 1
        if n > 5: break
    else:
        never = True
sorted(k for k in vars(A) if not k.startswith("__"))
