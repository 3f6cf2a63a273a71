"""The engines, each run in a process of its own: ``ready``, then one JSON line in, one out.

``{"source"}`` in; ``{"seconds": [...], "result": repr}`` or ``{"error"}`` out. A measurement covers
what a caller waits for: parsing, compiling, running and taking the result. Every repetition gets a
new interpreter, so that nothing is kept but what an engine keeps between agents.

The clock is processor time, which other load on the machine disturbs least. The cost of a call is
taken from the wall.

Run as a file by the environment that has upstream, so it imports nothing of the fork at the top.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.metadata
import io
import json
import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["ENGINES", "main"]

MODULES = ["json", "re", "dataclasses", "functools", "numpy", "pandas", "math", "collections"]
MANY = 10**15

_Run = Callable[[str], Any]


def cpython() -> _Run:
    """``exec`` of the program, ``eval`` of its last expression."""

    def run(source: str) -> Any:
        tree = ast.parse(source)
        last = tree.body.pop()
        assert isinstance(last, ast.Expr)
        space: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(tree, "<program>", "exec"), space)
        return eval(compile(ast.Expression(last.value), "<program>", "eval"), space)

    return run


def fork() -> _Run:
    """Return the fork's interpreter with every limit in force; no program reaches one."""
    from smolagents_fork.interpreter.guarded import Interpreter, RunLimits

    limits = RunLimits(max_operations=MANY, max_while_iterations=10**9, timeout_seconds=600.0)
    interpreter = Interpreter(additional_authorized_imports=MODULES, limits=limits)
    return lambda source: interpreter.run(source).output


def upstream() -> _Run:
    """Upstream's tree walker."""
    executor = _upstream_class()(MODULES, timeout_seconds=600)
    executor.send_tools({})
    return lambda source: executor(source).output


@functools.cache
def _upstream_class() -> Any:
    """Return the class of upstream's walker, its two counters raised as ours are."""
    import smolagents.local_python_executor as module

    version = importlib.metadata.version("smolagents")
    if "+" in version:
        raise RuntimeError(f"smolagents {version} is the fork: name upstream's Python")
    for name in ("MAX_OPERATIONS", "MAX_WHILE_ITERATIONS"):
        setattr(module, name, MANY)
    return module.LocalPythonExecutor


#: Each returns a new interpreter.
ENGINES: dict[str, Callable[[], _Run]] = {"cpython": cpython, "fork": fork, "upstream": upstream}


def call_cost(run: _Run, calls: int, new: bool) -> list[float]:
    """Seconds of each of ``calls`` calls ``ex("1+1")`` of one interpreter, the first left out.

    With ``new`` each call has another number, so that no compiled code is kept for it.
    """
    seconds = []
    for number in range(calls + 1):
        source = f"1+{number}" if new else "1+1"
        started = time.perf_counter()
        run(source)
        seconds.append(time.perf_counter() - started)
    return seconds[1:]


def main() -> None:
    """Serve one engine, named by the first argument, until the input ends."""
    make = ENGINES[sys.argv[1]]
    out = sys.stdout
    make()
    for name in MODULES:
        with contextlib.suppress(ImportError):
            __import__(name)
    print("ready", file=out, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                if request.get("calls"):
                    answer["seconds"] = call_cost(make(), request["calls"], request["new"])
                else:
                    started = time.process_time()
                    value = make()(request["source"])
                    answer["seconds"] = [time.process_time() - started]
                    answer["result"] = repr(value)
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {str(error).splitlines()[-1:]}"[:300]}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
