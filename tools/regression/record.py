"""Outcomes of upstream's tests on its own release, kept in the repository.

They depend on the release, on what is laid over its tests, on every package of the environment and
on the kind of machine. A record names all of these, and stands for the pristine side only while
they are the same.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.junit import Outcome
from tools.regression.causes import classify
from tools.regression.settings import CONSTRAINTS, OVERLAY, PROJECT, RECORDS

__all__ = ["changed_outcomes", "conditions", "read_record", "write_record"]


def conditions(version: str, sdist: Path, packages: str) -> dict[str, str]:
    """Return everything that pristine's outcomes depend on.

    Args:
        version: upstream's version.
        sdist: its source distribution, which has the tests.
        packages: the packages of both sides, one a line, with versions.
    """
    parts = sorted(
        path
        for folder in (OVERLAY, PROJECT)
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    laid_over = hashlib.sha256()
    for path in parts:
        laid_over.update(f"{path.name}\0".encode() + path.read_bytes())
    return {
        "release": version,
        "python": ".".join(platform.python_version_tuple()[:2]),
        "machine": f"{platform.system()} {platform.machine()}",
        "sdist": hashlib.sha256(sdist.read_bytes()).hexdigest(),
        "overlay": laid_over.hexdigest(),
        "constraints": hashlib.sha256(CONSTRAINTS.read_bytes()).hexdigest(),
        "packages": hashlib.sha256(packages.encode()).hexdigest(),
    }


def _file(wanted: Mapping[str, str], folder: Path) -> Path:
    return folder / f"python{wanted['python']}.json"


def read_record(wanted: Mapping[str, str], folder: Path = RECORDS) -> dict[str, Outcome] | None:
    """Return pristine's outcomes by test id; None without a record for these conditions.

    Args:
        wanted: see :func:`conditions`.
        folder: has one record a Python.
    """
    try:
        record: dict[str, Any] = json.loads(_file(wanted, folder).read_text("utf-8"))
    except FileNotFoundError:
        return None
    if record["conditions"] != wanted:
        return None
    passed = dict.fromkeys(record["passed"], Outcome("passed"))
    others = {
        test: Outcome(case["status"], case["words"]) for test, case in record["not passed"].items()
    }
    return passed | others


def write_record(
    wanted: Mapping[str, str], outcomes: Mapping[str, Outcome], folder: Path = RECORDS
) -> Path:
    """Write pristine's outcomes and return the file.

    Args:
        wanted: see :func:`conditions`.
        outcomes: by test id.
        folder: see :func:`read_record`.
    """
    record = {
        "conditions": dict(wanted),
        "not passed": {
            test: {"status": outcome.status, "words": _words(outcome)}
            for test, outcome in sorted(outcomes.items())
            if outcome.status != "passed"
        },
        "passed": sorted(test for test, outcome in outcomes.items() if outcome.status == "passed"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = _file(wanted, folder)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def changed_outcomes(old: Mapping[str, Outcome], new: Mapping[str, Outcome]) -> list[str]:
    """List the tests whose recorded outcome is not that of a new run, one sentence each."""
    return [
        f"{test}: recorded as {old[test].status if test in old else 'missing'}, "
        f"now {new[test].status if test in new else 'missing'}"
        for test in {**old, **new}
        if (test in old and old[test].status) != (test in new and new[test].status)
    ]


def _words(outcome: Outcome) -> str:
    """Return a skip's reason, or the words by which the cause of a failure is known.

    The rest of a failure's text names paths of the machine.
    """
    if outcome.status == "skipped":
        return outcome.message
    match = re.search(classify(outcome).rule, f"{outcome.message}\n{outcome.text}")
    return match[0] if match else ""
