"""Worker for a test's fork server: its children run plain Python, without the interpreter.

A program therefore has all of CPython, and only the kernel and the host's checks protect the host.
"""

from __future__ import annotations

import ast
import ctypes
import os
from types import SimpleNamespace
from typing import Any

from smolagents_fork.guest import guest_worker

LIBC = ctypes.CDLL(None, use_errno=True)


def call(number: int, *arguments: Any) -> int:
    """Make a system call by its number."""
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    LIBC.syscall.restype = ctypes.c_long
    result: int = LIBC.syscall(ctypes.c_long(number), *words)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


class RawPython:
    """Replacement for the interpreter that runs plain Python."""

    def __init__(self, imports: Any = (), **given: Any) -> None:
        self.space: dict[str, Any] = {"call": call, "LIBC": LIBC, "__name__": "__main__"}
        self.meter = SimpleNamespace(running=False)

    def run(self, code: str) -> Any:
        tree = ast.parse(code)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "attack", "exec"), self.space)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "attack", "eval"), self.space)
        return SimpleNamespace(output=value, is_final_answer=False)

    def is_in_program(self, frame: Any) -> bool:
        while frame is not None and frame.f_code.co_filename != "attack":
            frame = frame.f_back
        return frame is not None

    def send_tools(self, tools: dict[str, Any]) -> None:
        self.space.update(tools)

    def send_builtins(self, builtins: dict[str, Any]) -> None:
        pass

    def send_variables(self, variables: dict[str, Any]) -> None:
        self.space.update(variables)


guest_worker.Interpreter = RawPython  # type: ignore[misc, assignment]
