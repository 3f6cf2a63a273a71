"""Attacks with all of CPython in a confined child, and the outcome of each.

The module can also run as a program, for another user or a container. It prints the outcomes as
JSON.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from attacks import ATTACKS, GROUPS, NUMBERS, PREPARED, facts_of_machine, numbers
from host_watch import HostWatch

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import ForkError
from smolagents_fork.executors.process import process_executor as process_module
from smolagents_fork.process.confinement_report import Kernel
from smolagents_fork.process.sandbox_paths import layout_for

LIMIT, THREADS = 256 << 20, 24
#: Errors of attacks that the kernel refuses.
REFUSALS = (
    "PermissionError:", "OSError:", "MemoryError", "RuntimeError:", "BlockingIOError:",
    "FileNotFoundError:", "NotADirectoryError:", "gaierror:", "ConnectionRefusedError:",
)  # fmt: skip


@contextlib.contextmanager
def preloading(*modules: str) -> Iterator[None]:
    """Have fork servers import modules of this folder before they serve."""

    def preloading_layout(*arguments: Any, **keywords: Any) -> Any:
        layout = layout_for(*arguments, **keywords)
        path = (*layout.path, str(Path(__file__).parent))
        return dataclasses.replace(layout, path=path, preload=(*layout.preload, *modules))

    with mock.patch.object(process_module, "layout_for", preloading_layout):
        yield


@contextlib.contextmanager
def masked(
    kernel: Kernel, imports: Iterable[str] = (), **options: Any
) -> Iterator[ProcessExecutor]:
    """Give an executor that uses only the kernel features of ``kernel``."""

    class Masked(ProcessExecutor):
        pass

    Masked.kernel = kernel
    with Masked(list(imports), None, **options) as made:
        yield made


@contextlib.contextmanager
def raw_executor(
    kernel: Kernel | None = None, preload: tuple[str, ...] = (), **options: Any
) -> Iterator[ProcessExecutor]:
    """Give an executor whose children import anything, and have system calls by number.

    Args:
        kernel: the features that may be used.
        preload: modules of this folder that the fork server imports.
        **options: of the executor.
    """
    with (
        preloading("raw_calls", *preload),
        masked(kernel or Kernel(), ["*"], **options) as made,
    ):
        made("from raw_calls import LIBC, call")
        yield made


def outcomes(
    kernel: Kernel | None = None, groups: Iterable[str] = tuple(GROUPS), **options: Any
) -> dict[str, str]:
    """Run each attack; its outcome is ``refused: <error>``, or the resource it reached."""
    absent = NUMBERS.keys() - numbers().keys()
    found: dict[str, str] = {}
    limits = {"memory": LIMIT, "max_threads": THREADS, "timeout_seconds": 60, **options}
    with contextlib.closing(HostWatch()) as watch, raw_executor(kernel, **limits) as executor:
        facts = {**watch.facts(), "limit": LIMIT, "threads": THREADS}
        before = watch.snapshot()
        for name, code in ATTACKS.items():
            if name.split(":")[0] not in groups or any(f"N[{one!r}]" in code for one in absent):
                continue
            executor.send_variables({"host": facts, **facts_of_machine()})
            found[name] = _outcome(executor, code)
            now = watch.snapshot()
            if now != before:
                touched = [mark for mark in now if now[mark] != before.get(mark)]
                found[name] = f"TOUCHED {touched}; {found[name]}"
                break
    return found


def _outcome(executor: ProcessExecutor, code: str) -> str:
    try:
        value = executor(PREPARED + code).output
    except ForkError as error:
        text = str(error).partition(" due to: ")[2]
        return f"refused: {text}" if text.startswith(REFUSALS) else f"FAILED {error}"
    return "refused: " + value if value == "nothing" else f"REACHED {value!r}"


def main() -> None:
    """Run the attacks with the kernel features that the JSON argument permits."""
    masked = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    found = outcomes(Kernel(**masked))
    in_force = [row.measure for row in ProcessExecutor.measures() if row.in_force]
    print(json.dumps({"user": os.getuid(), "outcomes": found, "in_force": in_force}))


if __name__ == "__main__":
    main()
