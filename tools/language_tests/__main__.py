"""``python -m tools.language_tests``: measure and print."""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import platform
import sys
import time
from pathlib import Path

from .files import FILES, LEFT_OUT, QUICK
from .measurement import FileResult, Settings, measure
from .programs import find_test_folder, test_file


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.language_tests", description=__doc__)
    parser.add_argument("files", nargs="*", help="names such as test_grammar; all by default")
    parser.add_argument("--quick", action="store_true", help="a shorter list, half a minute")
    parser.add_argument("--failures", action="store_true", help="print every failed method, too")
    return parser.parse_args()


def main() -> int:
    """Measure and print.

    Returns:
        0; 2 when there is nothing to measure with.
    """
    options = arguments()
    folder = find_test_folder()
    if folder is None:
        version = ".".join(platform.python_version_tuple()[:2])
        print(
            f"test-language: {sys.executable} has no package 'test'. Install it (Debian, Ubuntu: "
            f"libpython{version}-testsuite; Fedora: python3-test), or use a Python from "
            "python.org, pyenv or uv",
            file=sys.stderr,
        )
        return 2
    names = options.files or (QUICK if options.quick else FILES)
    unknown = [name for name in names if name not in FILES]
    if unknown:
        for name in unknown:
            why = LEFT_OUT.get(name, "not listed in tools/language_tests/files.py")
            print(f"test-language: {name}: {why}", file=sys.stderr)
        return 2
    started = time.monotonic()
    results = _measured(folder, list(names))
    if options.failures:
        for result in results:
            for method in result.methods:
                if not method.passed:
                    print(f"{result.name}:{method.line}: {method.name}: {method.error}")
    baseline = sum(len(result.methods) for result in results)
    kept = sum(result.kept for result in results)
    print(
        f"\n{kept} of {baseline} test methods kept: {kept / max(1, baseline):.3f} "
        f"(Python {platform.python_version()}, {len(results)} files, "
        f"{time.monotonic() - started:.0f} s)"
    )
    return 0


def _measured(folder: Path, names: list[str]) -> list[FileResult]:
    """Return the results in the order of ``names``, each printed when it is there."""
    results: dict[str, FileResult] = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        futures = {}
        for name in names:
            path = test_file(folder, name)
            if path is None:
                print(f"{name:<30} not in this Python's test package", flush=True)
            else:
                futures[pool.submit(measure, name, path, Settings())] = name
        for future in concurrent.futures.as_completed(futures):
            result = future.result()
            results[result.name] = result
            print(result.line(), flush=True)
    return [results[name] for name in names if name in results]


if __name__ == "__main__":
    sys.exit(main())
