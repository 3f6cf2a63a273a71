# case: basic
# since: 3.11 except* (PEP 654)
out = []
try:
    raise ExceptionGroup("g", [ValueError("v"), KeyError("k"), ValueError("w")])
except* ValueError as e:
    out.append([str(x) for x in e.exceptions])
except* KeyError as e:
    out.append([repr(x) for x in e.exceptions])
out
# case: naked-exception-is-wrapped
# since: 3.11 except* (PEP 654)
try:
    raise ValueError("naked")
except* ValueError as e:
    print(type(e).__name__, e.exceptions)
# case: unmatched-part-propagates
# since: 3.11 except* (PEP 654)
try:
    try:
        raise ExceptionGroup("g", [ValueError("v"), TypeError("t")])
    except* ValueError:
        print("v handled")
except ExceptionGroup as e:
    print(e.message, e.exceptions)
# case: nested-groups
# since: 3.11 except* (PEP 654)
try:
    raise ExceptionGroup("o", [ValueError(1), ExceptionGroup("i", [TypeError(2), ValueError(3)])])
except* ValueError as e:
    print(e)
    print([type(x).__name__ for x in e.exceptions])
except* TypeError as e:
    print(e.exceptions[0].exceptions)
# case: else-and-finally
# since: 3.11 except* (PEP 654)
log = []
try:
    log.append("body")
except* ValueError:
    log.append("no")
else:
    log.append("else")
finally:
    log.append("fin")
log
# case: raise-in-handlers
# since: 3.11 except* (PEP 654)
try:
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError:
        raise KeyError("new")
    except* TypeError:
        pass
except ExceptionGroup as e:
    print(e.exceptions)
except KeyError as e:
    print("naked", e)
# case: split-and-subgroup
# since: 3.11 ExceptionGroup
g = ExceptionGroup("g", [ValueError(1), TypeError(2)])
m, r = g.split(ValueError)
(m, r, g.subgroup(lambda e: isinstance(e, TypeError)), g.derive([KeyError()]))
# case: tuple-of-types
# since: 3.11 except* (PEP 654)
try:
    raise ExceptionGroup("g", [ValueError(1), KeyError(2), OSError(3)])
except* (ValueError, KeyError) as e:
    print(len(e.exceptions))
except* OSError as e:
    print(e.exceptions)
# case: uncaught-group
# since: 3.11 ExceptionGroup
raise ExceptionGroup("several", [ValueError("a"), KeyError("b")])
# case: bare-raise-in-star
# since: 3.11 except* (PEP 654)
try:
    try:
        raise ExceptionGroup("g", [ValueError(1)])
    except* ValueError:
        raise
except ExceptionGroup as e:
    print("again", e.exceptions)
# case: star-in-function-with-loop
# since: 3.11 except* (PEP 654)
def f(groups):
    seen = []
    for g in groups:
        try:
            raise g
        except* ValueError as e:
            seen.append(("v", len(e.exceptions)))
        except* TypeError:
            seen.append("t")
    return seen
f([ExceptionGroup("a", [ValueError()]), TypeError(), ExceptionGroup("b", [TypeError(), ValueError()])])
# case: except-star-nested-groups-split
# since: 3.11 exception groups (PEP 654)
def f():
    raise ExceptionGroup("o", [ValueError(1), ExceptionGroup("i", [TypeError(2), ValueError(3), OSError(4)])])
try:
    f()
except* ValueError as e:
    print("V", repr(e))
except* (TypeError, KeyError) as e:
    print("T", repr(e))
except* OSError as e:
    print("O", repr(e))
# case: except-star-reraise-merges
# since: 3.11 exception groups (PEP 654)
try:
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2), OSError(3)])
    except* ValueError as e:
        raise
    except* TypeError as e:
        raise KeyError("k")
except BaseExceptionGroup as g:
    print(repr(g), [type(x).__name__ for x in g.exceptions])
# case: except-star-naming-a-group-is-error
# since: 3.11 exception groups (PEP 654)
try:
    raise ExceptionGroup("g", [ValueError(1)])
except* ExceptionGroup:
    pass
# case: except-star-break-is-syntax-error
# since: 3.11 exception groups (PEP 654)
for i in range(2):
    try: pass
    except* ValueError: break
# case: except-star-bare-is-syntax-error
# since: 3.11 exception groups (PEP 654)
try: pass
except*: pass
# case: except-star-mixed-is-syntax-error
# since: 3.11 exception groups (PEP 654)
try: pass
except* ValueError: pass
except TypeError: pass
# case: except-star-with-derive
# since: 3.11 exception groups (PEP 654)
class G(ExceptionGroup):
    def derive(self, es): return G(self.message, es)
try:
    raise G("g", [ValueError(1), TypeError(2)])
except* ValueError as e:
    print(type(e).__name__)
except* TypeError as e:
    print(type(e).__name__, e.exceptions)
# case: group-constructor-errors
# since: 3.11 exception groups (PEP 654)
for args in (("x",), ("x", []), ("x", [3]), (3, [ValueError()])):
    try:
        ExceptionGroup(*args)
    except Exception as e:
        print(type(e).__name__, e)
type(BaseExceptionGroup("g", [ValueError()])).__name__
# case: except-star-in-generator-and-finally
# since: 3.11 exception groups (PEP 654)
def g():
    try:
        yield 1
    except* ValueError as e:
        yield repr(e)
    finally:
        print("fin")
i = g()
print(next(i), i.throw(ValueError("x")))
list(i)
