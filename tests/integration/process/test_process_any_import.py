"""``["*"]``: any installed module can be imported; the kernel refuses forbidden operations."""

from __future__ import annotations

import os
import sys

import pytest
from process_harness import executor

from smolagents_fork.errors import ProgramFailedError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's measures are Linux's")

#: Module -> a use of it that reaches outside.
USES = {
    "os": "os.open('/etc/passwd', os.O_RDONLY)",
    "subprocess": "subprocess.run(['true'])",
    "socket": "socket.create_connection(('127.0.0.1', 9), 1)",
    "multiprocessing": "multiprocessing.Process(target=int).start()",
    "ctypes": "ctypes.CDLL('/etc/passwd')",
    "shutil": "shutil.copyfile('/etc/passwd', 'copy')",
    "pathlib": "pathlib.Path('/etc/passwd').read_text()",
    "signal": "signal.pidfd_send_signal(0, 9)",
    "fcntl": "fcntl.ioctl(1, 0x5412, b'x')",
    "urllib.request": "urllib.request.urlopen('http://127.0.0.1:9/', timeout=1)",
    "resource": "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)",
    "pty": "pty.fork()",
    "tempfile": "tempfile.mkstemp(dir='/tmp')",
    "mmap": "mmap.mmap(-1, 1 << 40)",
    "importlib": "importlib.import_module('os').fork()",
}


@pytest.fixture(scope="module")
def ex():
    with executor(["*"]) as made:
        yield made


@pytest.mark.parametrize("module", USES)
def test_any_module_imports_and_reaches_nothing(ex, module: str):
    ex(f"import os, {module}")
    with pytest.raises(ProgramFailedError) as caught:
        ex(USES[module])
    errors = ("PermissionError", "OSError", "URLError", "Function not implemented", "Permission")
    assert any(word in str(caught.value) for word in errors)
    assert ex("6 * 7").output == 42


def test_module_of_the_project_does_not_count_as_installed(ex, tmp_path, monkeypatch):
    (tmp_path / "project_module.py").write_text("x = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ProgramFailedError, match="No module named 'project_module'"):
        ex("import project_module")
    assert os.path.exists(tmp_path / "project_module.py")
