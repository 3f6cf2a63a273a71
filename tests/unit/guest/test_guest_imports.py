"""Nothing that runs in a child or in Wasm imports what serves the local executor only."""

from __future__ import annotations

import io
import zipfile

from background import run_python

from smolagents_fork.wasm.worker_archive import worker_archive

#: Hidden names, guards and meters.
OF_LOCAL = "interpreter.guarded"
CHILD = """
import sys
from smolagents_fork.guest import guest_worker
from smolagents_fork.interpreter import plain
from smolagents_fork.process import fork_server, worker

guest_worker.warm_up()
print(*sorted(name for name in sys.modules if name.startswith("smolagents_fork.")))
"""


def test_child_has_no_guards():
    names = [name.removeprefix("smolagents_fork.") for name in run_python(CHILD).split()]
    assert "interpreter.plain.plain_engine" in names
    assert [name for name in names if name.startswith(OF_LOCAL)] == []


def test_wasm_has_no_guards():
    files = zipfile.ZipFile(io.BytesIO(worker_archive())).namelist()
    names = [name.removeprefix("smolagents_fork/").replace("/", ".") for name in files]
    assert "interpreter.plain.plain_engine.py" in names
    assert [name for name in names if name.startswith(OF_LOCAL)] == []


def test_archive_of_a_guest_has_all_that_it_imports(tmp_path):
    path = tmp_path / "sources.zip"
    path.write_bytes(worker_archive())
    program = (
        "import sys\nsys.path.insert(0, sys.argv[1])\n"
        "from smolagents_fork.wasm import wasm_worker\n"
        "from smolagents_fork.guest.guest_worker import warm_up\n"
        "assert wasm_worker.__file__.startswith(sys.argv[1])\nwarm_up()\n"
    )
    run_python(program, str(path), switches=["-I"])
