"""Remains and messages of a hostile program; for its access see test_process_attacks."""

from __future__ import annotations

import os
import sys

import pytest
from background import eventually
from confined_attacks import raw_executor
from process_harness import SHARP, NewResources, executor

from smolagents_fork.errors import InterpreterError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's measures are Linux's")


def test_nothing_can_be_sent_over_the_connection_that_the_host_does_not_read():
    with executor(SHARP) as ex, pytest.raises(InterpreterError, match="BrokenPipeError"):
        ex("import os\nos.write(1001, b'x')")


def test_descriptors_sent_over_the_connection_do_not_reach_the_host():
    with executor(SHARP) as ex:
        ex("import os, socket")
        resources = NewResources()
        # An empty text frame with a hundred descriptors.
        frame = "b'\\x02\\0\\0\\0\\2\\0\\0\\0\\0'"
        code = (
            f"s = socket.socket(fileno=os.dup(1000))\nsocket.send_fds(s, [{frame}], [0] * 100)\n1"
        )
        assert ex(code).output == 1
        assert len(resources.new()) < 50, resources.new()


SWAPPED = """
import os, threading
os.makedirs('tree')
for n in range(200):
    os.makedirs(f'tree/{n}/below')
    open(f'tree/{n}/file', 'w').close()
def swap():
    # Whatever is moved here to be removed becomes a link to what is to be lost.
    while True:
        for name in os.listdir('.'):
            if name.startswith('.removing-'):
                try:
                    os.rename(name, name + 'aside')
                    os.symlink(VICTIM, name)
                except OSError:
                    pass
for _ in range(4):
    threading.Thread(target=swap, daemon=True).start()
"""


def test_links_do_not_redirect_removal(tmp_path):
    # The folder is removed while the child is being killed.
    (tmp_path / "kept").write_text("x")
    (tmp_path / "folder").mkdir(mode=0o750)
    for _ in range(5):
        with raw_executor() as ex:
            folder = ex.folder
            ex(SWAPPED.replace("VICTIM", repr(str(tmp_path))))
        assert (tmp_path / "kept").read_text() == "x"
        assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o750
        assert folder is not None
        assert eventually(lambda folder=folder: not os.path.lexists(folder))
