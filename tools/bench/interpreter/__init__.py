"""The local interpreter beside CPython, upstream's, pydantic-monty and RestrictedPython.

``python -m tools.bench.interpreter`` runs every program of :mod:`.programs` in each engine,
interleaved, and prints ratios to CPython and their geometric means. Each engine lives in a process
of its own (:mod:`.engines`), so that upstream and the peers can come from other environments.
"""
