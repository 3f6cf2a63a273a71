"""``python -m tools.language_tests``: measure, print, write JSON."""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import platform
import sys
import time
from pathlib import Path

from .files import FILES, LEFT_OUT, QUICK
from .measurement import FileResult, Settings, measure
from .programs import find_test_folder, test_file
from .report import causes, document, file_line, totals

_ROOT = Path(__file__).parents[2]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.language_tests", description=__doc__)
    parser.add_argument("files", nargs="*", help="names such as test_grammar; all by default")
    parser.add_argument("--quick", action="store_true", help="a shorter list, half a minute")
    parser.add_argument(
        "--checkout", type=Path, default=_ROOT, help="the folder whose smolagents_fork is measured"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="files at once")
    parser.add_argument("--causes", type=int, default=40, help="groups of failures to print")
    parser.add_argument("--failures", action="store_true", help="print every failed method, too")
    parser.add_argument("--output", type=Path, default=Path("reports/language-tests.json"))
    parser.add_argument(
        "--at-least", type=float, default=0.0, help="exit status 1 when the share is smaller"
    )
    return parser.parse_args()


def main() -> int:
    """Measure, print and write.

    Returns:
        0; 1 when the share is below ``--at-least``; 2 when there is nothing to measure with.
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
    checkout = options.checkout.resolve()
    if not (checkout / "smolagents_fork" / "interpreter").is_dir():
        print(f"test-language: no smolagents_fork/interpreter in {checkout}", file=sys.stderr)
        return 2
    names = options.files or (QUICK if options.quick else FILES)
    unknown = [name for name in names if name not in FILES]
    if unknown:
        for name in unknown:
            why = LEFT_OUT.get(name, "not listed in tools/language_tests/files.py")
            print(f"test-language: {name}: {why}", file=sys.stderr)
        return 2
    started = time.monotonic()
    results = _measured(folder, list(names), Settings(checkout), options.jobs)
    figures = totals(results)
    _print_causes(results, options.causes)
    if options.failures:
        for result in results:
            for method in result.methods:
                if not method.passed:
                    print(f"{result.name}:{method.line}: {method.name}: {method.error}")
    print(
        f"\n{figures['kept']} of {figures['baseline']} test methods kept: "
        f"{figures['share']:.3f} (Python {platform.python_version()}, "
        f"{len(results)} files, {time.monotonic() - started:.0f} s)"
    )
    print(
        f"of these {figures['kept_in_whole_files']} in files that load as they are "
        f"({figures['share_in_whole_files']:.3f}), and "
        f"{figures['kept_in_files_without_other_parts']} in files that load only without imports, "
        "classes or other statements at their top level"
    )
    options.output.parent.mkdir(parents=True, exist_ok=True)
    about = {"python": platform.python_version(), "checkout": str(checkout)}
    options.output.write_text(json.dumps(document(results, about), indent=1) + "\n")
    return 1 if figures["share"] < options.at_least else 0


def _measured(folder: Path, names: list[str], settings: Settings, jobs: int) -> list[FileResult]:
    """Return the results in the order of ``names``, each printed when it is there."""
    results: dict[str, FileResult] = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {}
        for name in names:
            path = test_file(folder, name)
            if path is None:
                print(f"{name:<30} not in this Python's test package", flush=True)
            else:
                futures[pool.submit(measure, name, path, settings)] = name
        for future in concurrent.futures.as_completed(futures):
            result = future.result()
            results[result.name] = result
            print(file_line(result), flush=True)
    return [results[name] for name in names if name in results]


def _print_causes(results: list[FileResult], most: int) -> None:
    groups = causes(results)
    print(f"\nfailures by first line of the error ({len(groups)} groups)")
    for cause in groups[:most]:
        print(f"{len(cause.methods):>5}  {cause.text}")
        for source in cause.examples[:1]:
            print(f"       e.g. {source[:110]}")


if __name__ == "__main__":
    sys.exit(main())
