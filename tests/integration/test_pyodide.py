"""A sixth of the case corpus and a tenth of the hostile programs on CPython 3.14 in WebAssembly.

With ``WHOLE_CONTRACT=1`` the whole corpus, and a third of the hostile programs. CPython 3.14 itself
runs all of both in ``make test-python``.

Deno runs without permissions but to read what it needs.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from whole_contract import WHOLE

from smolagents_fork.wasm.deno_binary import find_deno
from smolagents_fork.wasm.pyodide_files import VERSION, cache_folder
from smolagents_fork.wasm.worker_archive import worker_archive

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# Only to see that it ends; quiet, a minute or two.
DEADLINE_SECONDS = 1200
# One program may take the Wasm machine with it. What stops that is the process around it, as for
# the Wasm executor.
ENDS_THE_MACHINE = {
    "limits_swallow::recursion-through-repr-of-nesting": "C code recurses past JavaScript's stack",
}


pytestmark = [pytest.mark.broad, pytest.mark.slow, pytest.mark.wasm]


def archive(folder: Path) -> Path:
    """Pack the files for Wasm: the interpreter with the two layers below it, and both corpora."""
    path = folder / "fork.zip"
    path.write_bytes(worker_archive())  # what Wasm sandboxes have
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as bundle:
        # The guarded engine is not for sandboxes; here it is tried on the next Python.
        engine = ("smolagents_fork/interpreter/guarded", "smolagents_fork/options")
        for part in (*engine, "tests/cases", "tests/hostile"):
            for file in (ROOT / part).rglob("*.py"):
                bundle.write(file, str(file.relative_to(ROOT)))
        for name in ("awaitables.py", "deadline.py", "system/__init__.py", "system/forks.py"):
            file = ROOT / "smolagents_fork" / name
            bundle.write(file, str(file.relative_to(ROOT)))
        bundle.write(HERE / "pyodide_main.py", "pyodide_main.py")
    return path


#: Both corpora in one machine, whose start takes most of the time; the step between programs.
PARTS = "cases=1 hostile=3" if WHOLE else "cases=6 hostile=10"


@pytest.fixture(scope="module")
def lines(wasm_machine: None, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Run both parts; return every line that Pyodide reported.

    After a program that ended the machine, the rest runs in a new one.
    """
    bundle = archive(tmp_path_factory.mktemp("pyodide"))
    deadline = time.monotonic() + DEADLINE_SECONDS
    lines: list[dict[str, Any]] = []
    without: list[str] = []
    while True:
        left = deadline - time.monotonic()
        output, errors = _deno(bundle, without, left)
        new = [json.loads(s[7:]) for s in output.splitlines() if s.startswith("RESULT ")]
        assert new, f"{output[-2000:]}\n{errors[-2000:]}"
        lines += new
        if new[-1].get("done"):
            return lines
        started = [s[6:] for s in output.splitlines() if s.startswith("START ")]
        culprit = started[-1] if started else ""
        assert culprit in ENDS_THE_MACHINE, f"ended at {culprit}: {errors[-2000:]}"
        without = [line["id"] for line in lines if "id" in line] + list(ENDS_THE_MACHINE)


def _deno(bundle: Path, without: list[str], seconds: float) -> tuple[str, str]:
    pyodide = cache_folder() / f"pyodide-{VERSION}"
    command = [
        *(find_deno(), "run", "--no-prompt", "--no-config"),
        f"--allow-read={pyodide},{bundle},{HERE}",
        *(str(HERE / "pyodide_run.mjs"), str(pyodide), str(bundle), PARTS, "\n".join(without)),
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


def tried_of(lines: list[dict[str, Any]], part: str) -> list[dict[str, Any]]:
    """Return the programs of a part that were run."""
    return [line for line in lines if line.get("part") == part and "ok" in line]


def test_cases_mean_in_wasm_what_they_mean_in_its_cpython(lines: list[dict[str, Any]]) -> None:
    assert lines[0]["python"].startswith("3.14")
    tried = tried_of(lines, "cases")
    wrong = [line for line in tried if not line["ok"]]
    assert not wrong, json.dumps(wrong, indent=1)
    assert len(tried) >= (700 if WHOLE else 115)


#: Programs that the interpreter does not hold on CPython 3.14, which Pyodide has.
OPEN_ON_3_14 = frozenset(
    {
        "after_the_end::answer-with-too-many-digits",
        "attribute_by_name::getattr-in-partial",
        "attribute_by_name::template-string-attribute",
        "confused_deputies::forward-reference-evaluates-itself",
        "confused_deputies::single-dispatch-annotation-is-run",
        "confused_deputies::single-dispatch-method-without-its-guard",
        "limits_swallow::except-star-exception",
    }
)


def test_hostile_programs_are_contained_in_wasm(lines: list[dict[str, Any]]) -> None:
    tried = tried_of(lines, "hostile")
    wrong = [line for line in tried if not line["ok"] and line["id"] not in OPEN_ON_3_14]
    assert not wrong, json.dumps(wrong, indent=1)
    assert len(tried) >= (200 if WHOLE else 50)
