"""Nothing that runs in a child or in Wasm imports what serves the local executor only."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile

from smolagents_fork.wasm.worker_archive import worker_archive

#: Hidden names, guards and meters, and what programs get from them.
OF_LOCAL = ("help", "interpreter/guarded", "open_figures", "routed_places")
CHILD = """
import sys
from smolagents_fork.guest import guest_worker
from smolagents_fork.interpreter import plain
from smolagents_fork.process import fork_server, worker

worker.rehearse()
print(*sorted(name for name in sys.modules if name.startswith("smolagents_fork.")))
"""


def serves_local(path: str) -> bool:
    """Tell whether a module below the package is, or is below, one of :data:`OF_LOCAL`."""
    return any(path == name or path.startswith(f"{name}/") for name in OF_LOCAL)


def test_child_has_no_guards():
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    names = [name.removeprefix("smolagents_fork.") for name in done.stdout.split()]
    assert "interpreter.plain.plain_engine" in names
    assert [name for name in names if serves_local(name.replace(".", "/"))] == []


def test_wasm_has_no_guards():
    files = zipfile.ZipFile(io.BytesIO(worker_archive())).namelist()
    paths = [
        name.removeprefix("smolagents_fork/").removesuffix(".py")
        for name in files
        if name.startswith("smolagents_fork/")
    ]
    assert "interpreter/plain/plain_engine" in paths
    assert [path for path in paths if serves_local(path)] == []
