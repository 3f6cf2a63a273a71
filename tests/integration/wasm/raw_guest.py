"""A guest that runs Python as it is: only Deno stands between it and the host."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator
from typing import Any
from unittest import mock

from smolagents_fork import WasmExecutor
from smolagents_fork.executors.wasm import guest_source
from smolagents_fork.wasm.worker_archive import worker_archive

_RAW = '''
import ast
import contextlib
from types import SimpleNamespace


class _RawPython:
    """Stands in for the interpreter."""

    def __init__(self, imports=(), *, on_output=None, **given):
        self.space = {"__name__": "__main__"}
        self.stream = SimpleNamespace(write=on_output or len, flush=lambda: None)
        self.meter = SimpleNamespace(running=False, interrupt=lambda stop: None)

    def run(self, code):
        with contextlib.redirect_stdout(self.stream):
            return self.outcome(code)

    def outcome(self, code):
        tree = ast.parse(code)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "attack", "exec"), self.space)
        value = None
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "attack", "eval"), self.space)
        return SimpleNamespace(output=value, is_final_answer=False)

    def is_in_program(self, frame):
        while frame is not None and frame.f_code.co_filename != "attack":
            frame = frame.f_back
        return frame is not None

    def send_tools(self, tools):
        self.space.update(tools)

    def send_builtins(self, builtins):
        pass

    def send_variables(self, variables):
        self.space.update(variables)


Interpreter = _RawPython
'''


def _raw_archive() -> bytes:
    whole = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(worker_archive())) as product,
        zipfile.ZipFile(whole, "w") as archive,
    ):
        for member in product.infolist():
            data = product.read(member)
            if member.filename == "smolagents_fork/guest/guest_worker.py":
                data += _RAW.encode()
            archive.writestr(member, data)
    return whole.getvalue()


@contextlib.contextmanager
def raw_executor(**options: Any) -> Iterator[WasmExecutor]:
    """An executor whose programs have all of Pyodide; everything else is the product's."""
    with mock.patch.object(guest_source, "worker_archive", _raw_archive):
        made = WasmExecutor([], None, **options)
    with made:
        yield made
