# case: try-except-else-finally
def f(x):
    out = []
    try:
        out.append(10 // x)
    except ZeroDivisionError:
        out.append("zero")
    else:
        out.append("else")
    finally:
        out.append("fin")
    return out
(f(2), f(0))
# case: except-key-index-attribute-name-import
out = []
for f in (lambda: {}["k"], lambda: [][0], lambda: None.x, lambda: undefined_name, lambda: int("z")):
    try:
        f()
    except KeyError as e:
        out.append(("KeyError", str(e)))
    except IndexError as e:
        out.append(("IndexError", str(e)))
    except AttributeError as e:
        out.append(("AttributeError", str(e)))
    except NameError as e:
        out.append(("NameError", str(e)))
    except ValueError as e:
        out.append(("ValueError", str(e)))
out
# case: except-tuple
out = []
for v in ("x", None, [1]):
    try:
        int(v)
    except (ValueError, TypeError) as e:
        out.append(type(e).__name__)
out
# case: except-base-class
try:
    {}["k"]
except LookupError as e:
    print(type(e).__name__, e.args)
# case: except-order-first-match
try:
    [][1]
except Exception:
    print("general")
except IndexError:
    print("specific")
# case: except-bare
try:
    1 / 0
except:
    print("caught all")
# case: except-expression-evaluated-lazily
log = []
def cls(c):
    log.append(c.__name__)
    return c
try:
    1 / 0
except cls(ValueError):
    pass
except cls(ZeroDivisionError):
    pass
except cls(KeyError):
    pass
try:
    pass
except cls(TypeError):
    pass
log
# case: except-not-a-class
try:
    1 / 0
except "ZeroDivisionError":
    pass
# case: return-in-try-not-swallowed
def f():
    try:
        return "returned"
    except Exception:
        return "swallowed"
f()
# case: break-and-continue-not-swallowed
out = []
for i in range(5):
    try:
        if i == 1:
            continue
        if i == 3:
            break
        out.append(i)
    except Exception:
        out.append("swallowed")
out
# case: return-in-except-and-finally-order
log = []
def f():
    try:
        1 / 0
    except ZeroDivisionError:
        log.append("except")
        return "r"
    finally:
        log.append("finally")
(f(), log)
# case: nested-try
log = []
try:
    try:
        1 / 0
    except KeyError:
        log.append("wrong")
    finally:
        log.append("inner finally")
except ZeroDivisionError:
    log.append("outer")
log
# case: raise-in-except-sets-context
try:
    try:
        {}["a"]
    except KeyError:
        raise ValueError("second")
except ValueError as e:
    print(e, type(e.__context__).__name__, e.__cause__, e.__suppress_context__)
# case: raise-from
try:
    try:
        {}["a"]
    except KeyError as k:
        raise RuntimeError("wrapped") from k
except RuntimeError as e:
    print(e, repr(e.__cause__))
# case: raise-from-none
try:
    try:
        1 / 0
    except ZeroDivisionError:
        raise ValueError("clean") from None
except ValueError as e:
    print(e.__cause__, e.__suppress_context__, type(e.__context__).__name__)
# case: bare-raise
def f():
    try:
        1 / 0
    except ZeroDivisionError:
        print("log")
        raise
f()
# case: bare-raise-without-active
raise
# case: raise-class-and-instance
out = []
for r in (ValueError, ValueError("m"), ValueError("a", 1)):
    try:
        raise r
    except ValueError as e:
        out.append((str(e), e.args))
out
# case: raise-non-exception
raise "oops"
# case: custom-exception
class AppError(Exception):
    def __init__(self, code, msg="failed"):
        super().__init__(f"[{code}] {msg}")
        self.code = code
class NotFound(AppError): pass
try:
    raise NotFound(404, "no page")
except AppError as e:
    print(e, e.code, e.args, type(e).__name__)
# case: custom-exception-uncaught
class Boom(Exception): pass
def f(n):
    if n == 0:
        raise Boom("at the bottom")
    f(n - 1)
f(3)
# case: exception-str-and-repr
(str(ValueError("a")), repr(ValueError("a")), str(KeyError("a")), repr(KeyError("a", 1)), str(Exception()), str(Exception(1, 2)), repr(IndexError()))
# case: exception-attributes
e = OSError(2, "No such", "file.txt")
u = None
try:
    b"\xff".decode()
except UnicodeDecodeError as x:
    u = (x.reason, x.start, x.end, x.encoding)
(e.errno, e.strerror, e.filename, type(e).__name__, u)
# case: exception-add-note
# since: 3.11 add_note (PEP 678)
e = ValueError("v")
e.add_note("n1"); e.add_note("n2")
e.__notes__
# case: stop-iteration-and-generator-exit-are-catchable
out = []
try:
    next(iter([]))
except StopIteration:
    out.append("stop")
try:
    raise GeneratorExit("g")
except BaseException as e:
    out.append(type(e).__name__)
out
# case: exception-hierarchy
[issubclass(a, b) for a, b in ((KeyError, LookupError), (ZeroDivisionError, ArithmeticError), (FileNotFoundError, OSError), (ModuleNotFoundError, ImportError), (UnboundLocalError, NameError), (RecursionError, RuntimeError), (Exception, BaseException), (StopIteration, Exception), (IndentationError, SyntaxError), (UnicodeError, ValueError), (TimeoutError, OSError), (BrokenPipeError, ConnectionError))]
# case: finally-on-exception-then-uncaught
try:
    x = [1][5]
finally:
    print("cleanup")
# case: finally-replaces-exception
try:
    1 / 0
finally:
    {}["other"]
# case: exception-in-else-not-caught
try:
    pass
except ValueError:
    print("never")
else:
    raise ValueError("from else")
# case: exception-in-except-handler
try:
    1 / 0
except ZeroDivisionError:
    undefined_in_handler
# case: try-in-loop-retry
attempts = []
def flaky(n):
    attempts.append(n)
    if n < 2: raise ConnectionError(f"try {n}")
    return "ok"
for n in range(5):
    try:
        r = flaky(n)
        break
    except ConnectionError as e:
        print(e)
else:
    r = "gave up"
(r, attempts)
# case: eafp-parsing
def num(s):
    for t in (int, float, complex):
        try:
            return t(s)
        except ValueError:
            continue
    return None
[num(s) for s in ("1", "1.5", "2j", "zz")]
# case: exception-as-control-in-nested-function
class Found(Exception): pass
def search(t, x):
    def go(n):
        if n == x: raise Found(n)
        if isinstance(n, list):
            for k in n: go(k)
    try:
        go(t)
    except Found as f:
        return f.args[0]
    return None
(search([1, [2, [3]]], 3), search([1], 9))
# case: exception-traverses-callback
def apply(f, xs): return [f(x) for x in xs]
try:
    apply(lambda x: 10 // x, [5, 0])
except ZeroDivisionError as e:
    print("from lambda:", e)
# case: sort-key-raises
sorted([1, "a"], key=lambda v: v + 0)
# case: error-in-comprehension-line
data = [1, 2, 0]
r = [
    10 // x
    for x in data
]
# case: error-in-multi-line-call
def f(a, b): return a / b
f(
    1,
    0,
)
# case: error-in-nested-call-line
def a(): return b()
def b():
    x = 1
    return c(x)
def c(v):
    return v + "s"
a()
# case: error-in-method-line
class C:
    def __init__(self):
        self.items = []
    def first(self):
        return self.items[0]
c = C()
c.first()
# case: error-in-class-body
class C:
    x = 1
    y = x + "a"
# case: error-in-decorator-line
def d(f):
    raise RuntimeError("no")
@d
def g():
    pass
# case: error-in-default
def f(a, b=1 / 0): pass
# case: error-in-while-condition
n = 2
while 1 // n:
    n -= 1
    n -= 1
while 1 // n:
    pass
# case: error-in-for-iterable
for x in [1, 2][7]:
    pass
# case: error-after-output
print("line one")
print("line two")
raise ValueError("after output")
# case: recursion-error-is-catchable-type
(RecursionError.__name__, issubclass(RecursionError, Exception))
# case: keyboard-interrupt-and-system-exit-as-objects
(repr(KeyboardInterrupt("k")), issubclass(SystemExit, Exception), repr(SystemExit(3)))
# case: value-error-words
out = []
for f in (lambda: int("x1"), lambda: float("q"), lambda: [].remove(1), lambda: (1,).index(2), lambda: "a".index("b"), lambda: [].pop(), lambda: chr(-1), lambda: list(range(3)).index(9), lambda: "abc".split(""), lambda: dict([(1,)])):
    try:
        f()
    except Exception as e:
        out.append((type(e).__name__, str(e)))
out
# case: type-error-words
out = []
for f in (lambda: 1 + "a", lambda: "a" + 1, lambda: len(5), lambda: sum("ab"), lambda: [1] * "a", lambda: int([]), lambda: -"a", lambda: "a" - 1, lambda: {}[[]], lambda: abs("x"), lambda: sorted([1, None]), lambda: iter(5), lambda: next(5), lambda: isinstance(1, "a"), lambda: round("x"), lambda: min(5), lambda: "a" % 1, lambda: "%d" % "x", lambda: float([]), lambda: None + 1, lambda: None[0], lambda: range("a"), lambda: (1)(2) if False else 1 < "a"):
    try:
        f()
    except TypeError as e:
        out.append(str(e))
out
# case: attribute-error-words
out = []
class C: __slots__ = ()
for f in (lambda: "a".foo, lambda: (1).bar, lambda: C().x, lambda: C.y, lambda: [].add(1), lambda: {}.append, lambda: (lambda: 0).attr, lambda: range(3).push):
    try:
        f()
    except AttributeError as e:
        out.append(str(e))
out
# case: exception-groups-of-handlers
def f(x):
    try:
        return {"a": 1}[x] if isinstance(x, str) else [1][x]
    except (KeyError, IndexError) as e:
        return type(e).__name__
    except TypeError:
        return "type"
[f("a"), f("z"), f(5), f(1.5)]
# case: variable-named-e-is-restored-as-deleted
def f():
    e = 1
    try:
        1 / 0
    except ZeroDivisionError as e:
        pass
    return e
f()
# case: with-traceback-method-is-harmless
try:
    raise ValueError("x").with_traceback(None)
except ValueError as e:
    print(e)
# case: chained-three-levels
def a():
    try:
        1 / 0
    except ZeroDivisionError as e:
        raise KeyError("a") from e
def b():
    try:
        a()
    except KeyError as e:
        raise ValueError("b") from e
try:
    b()
except ValueError as e:
    chain = []
    while e:
        chain.append(repr(e))
        e = e.__cause__
chain
# case: warnings-like-exception-subclass
class W(UserWarning): pass
try:
    raise W("w")
except Warning as e:
    print(type(e).__name__, e)
# case: loop-else-with-exception
for i in range(3):
    try:
        if i == 1: raise ValueError
    except ValueError:
        continue
    finally:
        print("f", i)
else:
    print("else")
# case: import-error-is-catchable
try:
    from math import no_such_thing
except ImportError as e:
    print(type(e).__name__, "no_such_thing" in str(e))
