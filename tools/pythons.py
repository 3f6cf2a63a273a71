"""Run the version-dependent tests on other Pythons: ``python -m tools.pythons 3.12 3.13``.

A version is looked for as ``python3.13`` on the path, and among those of pyenv. Each runs in its
own environment below ``build/``, by ``make test-python``. One that is not there is named and left
out, except where ``REQUIRE_PYTHONS`` names it: then it is a failure.

Exit: 0 no failure, 1 some.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.command import clean_environment, run
from tools.errors import CommandError
from tools.paths import ROOT

__all__ = ["find_python", "main"]

_START_SECONDS = 30.0
# A free-threaded build is another Python: see smolagents_fork/system/free_threading.py.
_QUESTION = (
    "import sys, sysconfig\n"
    "print('%d.%d' % sys.version_info[:2], bool(sysconfig.get_config_var('Py_GIL_DISABLED')))"
)


def main(versions: Sequence[str]) -> int:
    """Run the tests on each version; return the exit status."""
    required = os.environ.get("REQUIRE_PYTHONS", "").split()
    failed = []
    for version in versions:
        program = find_python(version)
        if program is None:
            print(f"Python {version}: not on the path and not among pyenv's", flush=True)
            failed += [version] if version in required else []
            continue
        print(f"Python {version}: {program}", flush=True)
        began = time.monotonic()
        # make's own variables are in the environment, and among them those of the command line.
        command = ["make", "--no-print-directory", "test-python", f"PYTHON={program}"]
        status = subprocess.run(command, cwd=ROOT, env=clean_environment(), check=False).returncode
        words = "failed" if status else "passed"
        print(f"Python {version}: {words} in {time.monotonic() - began:.0f} s", flush=True)
        failed += [version] if status else []
    if failed:
        print(f"failed: Python {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def find_python(version: str) -> str | None:
    """Find the program of a version; None if it is not there.

    Args:
        version: its first two numbers, such as ``3.13``.
    """
    for program in _candidates(version):
        try:
            answer = run([program, "-c", _QUESTION], timeout_seconds=_START_SECONDS)
        except CommandError:
            continue  # pyenv's, for a version that the folder's settings do not select
        if answer.split() == [version, "False"]:
            return program
    return None


def _candidates(version: str) -> Iterator[str]:
    name = f"python{version}"
    on_path = shutil.which(name)
    if on_path is not None:
        yield on_path
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    programs = root.glob(f"versions/{version}*/bin/{name}")
    yield from map(str, sorted(programs, key=_release, reverse=True))


def _release(program: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", program.parent.parent.name)]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
