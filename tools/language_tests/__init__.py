"""CPython's own language tests, run inside the local interpreter, against a CPython baseline.

``python -m tools.language_tests`` takes the test package that the running Python installed
(``Lib/test``); nothing of it is kept in this repository. The source of each file in :mod:`.files`
runs as a program. Each test method then runs alone, first in CPython, then in the interpreter.
The share kept is the number of methods that pass inside, divided by the number that pass in
CPython.
"""
