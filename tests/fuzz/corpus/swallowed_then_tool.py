# A limit swallowed where CPython itself swallows, and then a call of the host.
def g():
    try:
        yield
    finally:
        while True:
            pass


it = g()
next(it)
del it
trip("after")
