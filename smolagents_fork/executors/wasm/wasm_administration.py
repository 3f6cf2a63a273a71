"""Administration of the Wasm executor: Deno, and Pyodide's files."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ...sandboxes.package_index import index_checks
from ...system.checks import Check, Finding, failed, ok, skipped, warning
from ...system.host_pipe import run_program
from ...wasm.deno_binary import BARE_ENVIRONMENT, INSTALL, find_deno
from ...wasm.pyodide_files import VERSION, cache_folder, check_files
from ..administration import Preparation, run_check
from .wasm_executor import WasmExecutor

__all__ = ["WasmAdministration"]

_DENO_SECONDS = 10.0
_TESTED_DENO = 2


class WasmAdministration(Preparation):
    """Administration of the Wasm executor."""

    def checks(self) -> Sequence[Check]:
        run = run_check(WasmExecutor)

        def run_if_fetched() -> Finding:
            if not _pyodide_folder().is_dir():
                return skipped("needs: Pyodide, which is not fetched yet")
            return run.run()

        return (
            Check("system", _system),
            Check("Deno", _deno, _DENO_SECONDS + 5, needs="system"),
            Check("Pyodide", _pyodide, needs="Deno"),
            *index_checks(),
            Check(run.name, run_if_fetched, run.seconds, needs="Pyodide"),
        )

    def setup(self, packages: Sequence[str]) -> str:
        # Packages are fetched at a start, and kept.
        with WasmExecutor(packages):
            return str(cache_folder())


def _system() -> Finding:
    if sys.platform == "win32":
        return failed("Windows has not the means by which it waits", "use executor_type='docker'")
    return ok(sys.platform)


def _deno() -> Finding:
    deno = find_deno()
    command = [deno, "--version"]
    done = run_program(command, seconds=_DENO_SECONDS, environment=BARE_ENVIRONMENT, folder="/")
    found = re.match(r"deno (\d+)\.(\S+)", done.stdout)
    if done.returncode or found is None:
        return failed(f"{deno} does not run: {done.stdout.strip()[:300]}", INSTALL)
    text = f"{found[1]}.{found[2]} ({deno})"
    if int(found[1]) != _TESTED_DENO:
        return warning(f"{text}: only Deno {_TESTED_DENO} is tested", INSTALL)
    return ok(text)


def _pyodide_folder() -> Path:
    return cache_folder() / f"pyodide-{VERSION}"


def _pyodide() -> Finding:
    folder = _pyodide_folder()
    if not folder.is_dir():
        return warning(
            f"release {VERSION} is not fetched yet",
            "smolagents-fork setup wasm fetches it from npm, as the first start would; without a "
            "network pass pyodide_dir=",
        )
    check_files(str(folder))
    return ok(f"release {VERSION}, every file's sha256 is right ({folder})")
