"""Code of cells that do work of the fork in a hosted kernel and display its result as base64.

A kernel on a hosted service has nothing of the fork. So each cell has the source of the modules it
needs, which the kernel loads once, as a package of its own.
"""

from __future__ import annotations

import base64
import binascii
import functools
from importlib import resources

from ...codec import DEFAULT_MAX_BYTES, Variables, decode_variables, sandbox_source
from ...errors import DecodeError
from .cells import Cell

__all__ = ["file_code", "result_of", "variables_code", "variables_of"]

# The names begin with an underscore, so that no call returns them.
_LOADER = """
def _smolagents_fork(codec, files):
    import os, sys, types
    package = "smolagents_fork_kernel"
    if package not in sys.modules:
        parts = {{"": "", ".codec": codec, ".guest": "", ".guest.worker_files": files}}
        for part, source in parts.items():
            module = types.ModuleType(package + part)
            module.__package__ = module.__name__.rpartition(".")[0] or package
            sys.modules[module.__name__] = module
            exec(compile(source, "<smolagents_fork" + part + ">", "exec"), module.__dict__)
        # The code may change its current folder later.
        sys.modules[package].root = os.getcwd()
    return (
        sys.modules[package].root,
        sys.modules[package + ".codec"],
        sys.modules[package + ".guest.worker_files"],
    )

def _smolagents_fork_display(data):
    import base64
    from IPython import get_ipython
    from IPython.display import display
    display({{"text/plain": base64.b64encode(data).decode("ascii")}}, raw=True)
    # The cell may have a piece of a file, which the shell's history would keep in memory.
    history = get_ipython().history_manager
    history.input_hist_raw[-1] = history.input_hist_parsed[-1] = ""
    history.db_input_cache = []
    for name in [name for name in get_ipython().user_ns if name.startswith("_i")]:
        if isinstance(get_ipython().user_ns[name], str):
            get_ipython().user_ns[name] = ""

_smolagents_fork_modules = _smolagents_fork({codec!r}, {files!r})
"""
_VARIABLES = """
def _smolagents_fork_read(root, codec, files):
    from IPython import get_ipython
    shell, absent = get_ipython(), object()
    hidden = shell.user_ns_hidden
    found = {{n: v for n, v in shell.user_ns.items() if hidden.get(n, absent) is not v}}
    _smolagents_fork_display(codec.encode_variables(found, {limit}))
_smolagents_fork_read(*_smolagents_fork_modules)
"""
_FILE = """
def _smolagents_fork_file(root, codec, files):
    import base64, os
    current = os.getcwd()
    os.chdir(root)
    try:
        result = files.answer(base64.b64decode({request!r}))
    finally:
        os.chdir(current)
    _smolagents_fork_display(result)
_smolagents_fork_file(*_smolagents_fork_modules)
"""


@functools.lru_cache(maxsize=1)
def _loader() -> str:
    files = (resources.files("smolagents_fork.guest") / "worker_files.py").read_text("utf-8")
    return _LOADER.format(codec=sandbox_source(), files=files)


def variables_code() -> str:
    """Return the code of a cell that displays the program's variables."""
    return _loader() + _VARIABLES.format(limit=DEFAULT_MAX_BYTES)


def file_code(request: bytes) -> str:
    """Return the code of a cell that carries out a request about files.

    Args:
        request: of :func:`.worker_files.request`; relative paths begin at the folder that was the
            kernel's current one when it first ran such a cell.
    """
    return _loader() + _FILE.format(request=base64.b64encode(request).decode("ascii"))


def result_of(cell: Cell) -> bytes:
    """Return the result that a cell has displayed.

    Raises:
        DecodeError: it has displayed something else.
    """
    displays = cell.shown.displays
    try:
        return base64.b64decode(str(displays[-1].value) if displays else "", validate=True)
    except (binascii.Error, ValueError) as error:
        raise DecodeError(f"the kernel's result is not base64: {error}") from None


def variables_of(cell: Cell) -> Variables:
    """Return the variables that a cell has displayed.

    Raises:
        DecodeError: it has displayed something else.
    """
    return decode_variables(result_of(cell), DEFAULT_MAX_BYTES)
