# Programs that catch the end of a run and call a tool, around END, a statement that ends it.
# case: return in finally
def swallows():
    try:
        END
    finally:
        return 2
swallows()
called('after')
# case: continue in finally
for _ in range(3):
    try:
        END
    finally:
        continue
called('after')
# case: break in finally
while True:
    try:
        END
    finally:
        break
called('after')
# case: a call in finally
try:
    END
finally:
    called('in finally')
# case: a handler
try:
    END
except BaseException:
    called('in the handler')
# case: after a handler
try:
    END
except BaseException:
    pass
called('after')
# case: an exit that swallows
class Swallows:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        called('in exit')
        return True
with Swallows():
    END
called('after')
# case: a generator
def numbers():
    try:
        yield 1
        END
    finally:
        called('in the generator')
for number in numbers():
    pass
called('after')
# case: a suspended generator
def numbers():
    try:
        yield 1
    finally:
        # Refused when the host's process closes it at its end.
        try:
            called('when closed')
        except BaseException:
            pass
suspended = numbers()
next(suspended)
END
# case: a sort key
def key(number):
    try:
        END
    except BaseException:
        return called('in the key')
sorted([2, 1], key=key)
