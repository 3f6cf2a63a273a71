"""CPython's own language tests, run inside the local interpreter, against a CPython baseline."""
