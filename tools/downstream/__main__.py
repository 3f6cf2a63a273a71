"""Uses packages with the fork and upstream. Exit: 0 as upstream, 1 a regression, 2 no run."""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
from collections.abc import Sequence

from buildsys import lock as upstream_lock
from tools.errors import ToolError
from tools.paths import BUILD, ROOT
from tools.regression.environments import wheel_metadata
from tools.uv import Uv

from .packages import PACKAGES
from .report import Result, is_regression, page, verdict
from .runs import Side, use

__all__ = ["PAGE", "main"]

PAGE = ROOT / "docs" / "downstream.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the programs as the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.downstream", description=__doc__)
    parser.add_argument("names", nargs="*", help="packages (default: all, and write the page)")
    names: list[str] = parser.parse_args(arguments).names
    known = {package.name: package for package in PACKAGES}
    if unknown := sorted(set(names) - known.keys()):
        print(f"no package {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    folder = BUILD / "downstream"
    folder.mkdir(parents=True, exist_ok=True)
    uv = Uv()
    try:
        wheel = uv.wheel(ROOT, folder / "wheel")
        _, version, _ = wheel_metadata(wheel)
    except ToolError as error:
        print(f"there is no wheel of the fork: {error}", file=sys.stderr)
        return 2
    release = upstream_lock.load(ROOT / "upstream.lock").version
    fork = Side("fork", f"smolagents @ {wheel.resolve().as_uri()}", version)
    upstream = Side("upstream", f"smolagents=={release}", release)
    results = []
    for package in [known[name] for name in names] or PACKAGES:
        result = Result(package, *(use(package, side, folder, uv) for side in (fork, upstream)))
        results.append(result)
        print(f"{package.name} {result.fork.version}: {verdict(result)}", flush=True)
        for side, outcome in ((fork, result.fork), (upstream, result.upstream)):
            print(f"    {side.name}: {outcome.message}", flush=True)
    if not names:
        when = f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"
        when += f", Python {platform.python_version()}"
        PAGE.write_text(page(results, (version, release), when), "utf-8")
        print(f"written: {PAGE.relative_to(ROOT)}")
    return int(any(map(is_regression, results)))


if __name__ == "__main__":
    raise SystemExit(main())
