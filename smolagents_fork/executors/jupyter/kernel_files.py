"""Files of a kernel's machine that only the kernel reaches: code of requests for them."""

from __future__ import annotations

from importlib import resources

from ..session.guest import Request, Task

__all__ = ["FILE_CODE", "load_request"]

# The source is the buffer of the request. Relative paths begin at the folder that is the current
# one now; the program may change it later.
_LOAD = """
def _load():
    import os, sys, types
    package, guest, worker = (
        types.ModuleType("smolagents_fork_files" + part) for part in ("", ".guest", ".guest.worker")
    )
    package.root, package.worker, worker.__package__ = os.getcwd(), worker, guest.__name__
    sys.modules[package.__name__], sys.modules[guest.__name__] = package, guest
    sys.modules[package.__name__ + ".codec"] = sys.modules["smolagents_fork_codec"]
    source = bytes(get_ipython().kernel.get_parent("shell")["buffers"][0])
    exec(compile(source, "<smolagents_fork files>", "exec"), worker.__dict__)
_load()
del _load
"""
#: Carries out the request for a file that is the buffer of this one.
FILE_CODE = """
def _answer():
    import os, sys
    files = sys.modules["smolagents_fork_files"]
    current = os.getcwd()
    os.chdir(files.root)
    try:
        answer = files.worker.answer(bytes(get_ipython().kernel.get_parent("shell")["buffers"][0]))
    finally:
        os.chdir(current)
    __smolagents_fork__.publish({"kind": "answer"}, [answer])
try:
    _answer()
finally:
    del _answer
"""


def load_request() -> Request:
    """Return the request that prepares a kernel for requests for files."""
    source = resources.files("smolagents_fork.guest").joinpath("worker_files.py").read_bytes()
    return Request(Task.CODE, [source], _LOAD)
