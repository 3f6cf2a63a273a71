"""The interpreter's case corpus and hostile programs on CPython 3.14 in WebAssembly.

Needs ``deno`` (on PyPI) and the folder of ``pyodide`` (on npm) in ``PYODIDE_DIR``, or in
``node_modules`` of the repository. Deno runs without permissions but to read what it needs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DEADLINE_SECONDS = 600
# One program may take the Wasm machine with it. What stops that is the process around it, as for
# the Wasm executor.
ENDS_THE_MACHINE = {
    "limits_swallow::recursion-through-repr-of-nesting": "C code recurses past JavaScript's stack",
}


def find_deno() -> str:
    beside = Path(sys.executable).with_name("deno")
    return (
        os.environ.get("DENO") or shutil.which("deno") or (str(beside) if beside.exists() else "")
    )


def find_pyodide() -> Path | None:
    folder = Path(os.environ.get("PYODIDE_DIR", ROOT / "node_modules" / "pyodide")).resolve()
    return folder if (folder / "pyodide.mjs").exists() else None


DENO, PYODIDE = find_deno(), find_pyodide()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (DENO and PYODIDE),
        reason="needs deno (pip install deno) and pyodide (npm install pyodide, or PYODIDE_DIR)",
    ),
]


def archive(folder: Path) -> Path:
    """What runs in Wasm: the interpreter, the errors, and both corpora. No file of any other
    layer."""
    path = folder / "fork.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("smolagents_fork/__init__.py", "")
        bundle.write(ROOT / "smolagents_fork/errors.py", "smolagents_fork/errors.py")
        for part in ("smolagents_fork/interpreter", "tests/cases", "tests/hostile"):
            for file in (ROOT / part).rglob("*.py"):
                bundle.write(file, str(file.relative_to(ROOT)))
        bundle.write(HERE / "pyodide_main.py", "pyodide_main.py")
    return path


def run(what: str, folder: Path) -> list[dict[str, Any]]:
    """Every line that Pyodide reported. After a program that ended the machine, the rest runs in
    a new one."""
    bundle = archive(folder)
    deadline = time.monotonic() + DEADLINE_SECONDS
    lines: list[dict[str, Any]] = []
    without: list[str] = []
    while True:
        output, errors = _deno(bundle, what, without, deadline - time.monotonic())
        new = [json.loads(s[7:]) for s in output.splitlines() if s.startswith("RESULT ")]
        assert new, f"{output[-2000:]}\n{errors[-2000:]}"
        lines += new
        if new[-1].get("done"):
            return lines
        started = [s[6:] for s in output.splitlines() if s.startswith("START ")]
        culprit = started[-1] if started else ""
        assert culprit in ENDS_THE_MACHINE, f"ended at {culprit}: {errors[-2000:]}"
        without = [line["id"] for line in lines if "id" in line] + list(ENDS_THE_MACHINE)


def _deno(bundle: Path, what: str, without: list[str], seconds: float) -> tuple[str, str]:
    command = [
        *(DENO, "run", "--no-prompt", "--no-config", f"--allow-read={PYODIDE},{bundle},{HERE}"),
        *(str(HERE / "pyodide_run.mjs"), str(PYODIDE), str(bundle), what, "\n".join(without)),
    ]
    environment = {**os.environ, "DENO_DIR": str(bundle.parent / "deno"), "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=max(seconds, 1), env=environment
        )
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"").decode(errors="replace")
        at = [s for s in output.splitlines() if s.startswith("START ")][-1:]
        pytest.fail(f"no end within {DEADLINE_SECONDS} s; at {at}")
    return done.stdout, done.stderr


def test_cases_mean_in_wasm_what_they_mean_in_its_cpython(tmp_path: Path) -> None:
    lines = run("cases", tmp_path)
    assert lines[0]["python"].startswith("3.14")
    tried = [line for line in lines if "ok" in line]
    wrong = [line for line in tried if not line["ok"]]
    assert not wrong, json.dumps(wrong, indent=1)
    assert len(tried) >= 700


def test_hostile_programs_are_contained_in_wasm(tmp_path: Path) -> None:
    lines = run("hostile", tmp_path)
    tried = [line for line in lines if "ok" in line]
    wrong = [line for line in tried if not line["ok"]]
    assert not wrong, json.dumps(wrong, indent=1)
    assert len(tried) >= 200
