"""``docs/executors/index.md``: what every executor promises, from the contract suite's own run.

``python -m tools.contract_table`` runs ``tests/contract/executors`` on every executor. It writes
the page when every promise held on each; a container engine is needed. A test holds the committed
page against the suite's declarations. ``python -m tools.bench`` draws its rows of times again.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.bench.table import NOW
from tools.paths import ROOT

__all__ = ["PAGE", "SUITE", "draw", "figure", "main", "problems", "write_times"]

PAGE = ROOT / "docs" / "executors" / "index.md"
SUITE = ROOT / "tests" / "contract" / "executors"
#: What JUnit's file says of a strict expected failure: a known fault, listed by the run.
EXPECTED = "pytest.xfail"

_HEAD = """\
<!-- Made by `python -m tools.contract_table` from tests/contract/executors; do not edit. -->
# Executors

Compares what the executors promise. Every row is a test of the contract suite, which runs on every
executor; the same test checks each difference.

| executor | the code runs | take it for |
|---|---|---|
| `local` | in your process, compiled, under a policy and limits | code you would run yourself |
| [`process`](process.md) | in a child process that the kernel confines | code written by models |
| [`docker`](docker.md) | in a container without a network | code you do not trust |
| [`wasm`](wasm.md) | in WebAssembly, in a Deno without permissions | the same without Docker |
| [`ray`](ray.md), [`kubernetes`](kubernetes.md) | as in these, on many machines | many sandboxes |
| [`e2b`, `modal`, `blaxel`](hosted.md) | at the hosting company | code that runs elsewhere |

```python
from smolagents import CodeAgent
from smolagents_fork import DockerExecutor

CodeAgent(tools=[...], model=model, executor_type="process")
CodeAgent(tools=[...], model=model, executor_class=DockerExecutor, executor_kwargs={"memory": "1g"})
```

## At a glance

Promises of each area that an executor keeps without a difference. Each promise is a row below.
Times are medians from [the benchmarks](../benchmarks.md), which name the machine.
"""
_DETAILS = """
## What holds where

A "no" is a difference by design: it leads to what the executor does instead. The hosted executors
are tested on doubles of their services ([how](hosted.md#what-was-tested-and-how)).
"""
BENCHMARKS = ROOT / "docs" / "benchmarks.md"
#: Executor -> section of the benchmarks' page.
SECTIONS = {"local": "process", "process": "process", "docker": "docker", "wasm": "wasm"}
#: Row of the page -> executor -> row of the benchmarks.
FIGURES = {
    "start to first result": {
        "process": "start to first result, warm",
        "docker": "start to first result, cold",
        "wasm": "start to first result, another one",
    },
    "first result from a pool": {
        "docker": "pool to first result",
        "wasm": "pool to first result",
    },
    "call of `1+1`": {
        "local": "call of 1+1, in this process",
        "process": "call of 1+1",
        "docker": "later call, p50",
        "wasm": "call of 1+1",
    },
}


def draw(behaviours: Sequence[Any], differences: Sequence[Any], faults: Sequence[Any]) -> str:
    """Return the page.

    Args:
        behaviours: the suite's promises, in the order of their areas.
        differences: the suite's table of differences.
        faults: promises that are not held yet.
    """
    executors = _declarations().EXECUTORS
    cells = {
        (executor, test): f"[no](#difference-{number})"
        for number, one in enumerate(differences, 1)
        for executor in one.executors
        for test in one.tests
    }
    for one in faults:
        cells.update(
            ((name, t), "[not yet](#not-yet)") for name in one.executors for t in one.tests
        )
    lines = [_HEAD, *_glance(behaviours, cells, executors), _DETAILS]
    area = None
    for one in behaviours:
        if one.area != area:
            area = one.area
            lines += ["", f"### {area}", "", f"| behaviour | {' | '.join(executors)} |"]
            lines.append("|---|" + ":-:|" * len(executors))
        sentence = one.text.replace("|", "\\|")
        row = [cells.get((name, one.test), "yes") for name in executors]
        lines.append(f"| {sentence} | {' | '.join(row)} |")
    lines += ["", "## Differences", ""]
    lines += [
        f'{number}. <span id="difference-{number}"></span>{_said(one)}'
        for number, one in enumerate(differences, 1)
    ]
    if faults:
        lines += ["", "## Not yet", "", *(f"- {_said(one)}" for one in faults)]
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def _glance(
    behaviours: Sequence[Any], cells: Mapping[tuple[str, str], str], executors: Sequence[str]
) -> list[str]:
    """Rows of the table of areas and times."""
    lines = [f"| | {' | '.join(executors)} |", "|---|" + ":-:|" * len(executors)]
    for area in dict.fromkeys(one.area for one in behaviours):
        tests = [one.test for one in behaviours if one.area == area]
        counts = [sum((name, test) not in cells for test in tests) for name in executors]
        row = [f"all {len(tests)}" if n == len(tests) else f"{n} of {len(tests)}" for n in counts]
        lines.append(f"| {area} | {' | '.join(row)} |")
    return lines + _times(executors)


def _times(executors: Sequence[str]) -> list[str]:
    """Rows of times, from the benchmarks' page."""
    page = BENCHMARKS.read_text("utf-8")
    lines = []
    for label, rows in FIGURES.items():
        row = [figure(page, SECTIONS[n], rows[n]) if n in rows else "none" for n in executors]
        lines.append(f"| {label} | {' | '.join(row)} |")
    return lines


def write_times() -> None:
    """Draw the page's rows of times again, after benchmarks were recorded."""
    fresh = {line.split(" | ")[0]: line for line in _times(_declarations().EXECUTORS)}
    lines = PAGE.read_text("utf-8").splitlines()
    drawn = [fresh.get(one.split(" | ")[0], one) for one in lines]
    PAGE.write_text("\n".join(drawn) + "\n", "utf-8")


def figure(page: str, section: str, label: str) -> str:
    """Return the fork's figure in a row of the benchmarks' page, if the last run recorded it.

    Args:
        page: its text.
        section: of the page.
        label: of the row.
    """
    text = page.split(f"<!-- bench {section} -->")[1].split(f"<!-- end bench {section} -->")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line[:1] == "|"]
    column = rows[0].index(NOW) if rows and NOW in rows[0] else None
    found = next((row for row in rows if row[0] == label), None)
    return "not recorded" if column is None or found is None else found[column]


def _said(one: Any) -> str:
    return " and ".join(f"`{name}`" for name in one.executors) + f": {one.text}"


def problems(behaviours: Sequence[Any], executors: Sequence[str], results: Path) -> list[str]:
    """List the reasons for not writing the page: what failed, was skipped or did not run.

    Args:
        behaviours: the suite's promises.
        executors: their names.
        results: the run's file in JUnit's format.
    """
    wanted = {one.test for one in behaviours}
    ran: set[tuple[str, str]] = set()
    found = []
    for case in ElementTree.parse(results).iter("testcase"):
        name = case.get("name", "")
        test, _, rest = name.partition("[")
        if test not in wanted:
            continue
        ran.update((test, executor) for executor in rest.rstrip("]").split("-"))
        for child in case:
            expected = child.get("type") == EXPECTED
            if child.tag in ("failure", "error", "skipped") and not expected:
                message = child.get("message") if child.tag == "skipped" else None
                found.append(f"{name}: {child.tag}" + (f" ({message})" if message else ""))
    found += [
        f"{one.test} on {executor}: did not run"
        for one in behaviours
        for executor in executors
        if (one.test, executor) not in ran
    ]
    return found


def _declarations() -> Any:
    """Import the module of the suite, whose folder and shared folders are not packages."""
    for folder in (SUITE, ROOT / "tests", ROOT / "tests" / "integration" / "hosted"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    return importlib.import_module("contract_declarations")


def main() -> int:
    """Run the suite and write the page; the exit status is 1 when a promise was not held."""
    argparse.ArgumentParser(prog="python -m tools.contract_table", description=__doc__).parse_args()
    declarations = _declarations()
    behaviours = declarations.all_behaviours()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        command = [sys.executable, "-m", "pytest", str(SUITE), "-q", f"--junitxml={results}"]
        others = f"--ignore={SUITE / 'test_contract_page.py'}"
        environment = {**os.environ, "REQUIRE_DOCKER": "1"}
        subprocess.run([*command, others], cwd=ROOT, env=environment, check=False)
        found = problems(behaviours, declarations.EXECUTORS, results)
    if found:
        print("the page is not written:", *found, sep="\n  ")
        return 1
    PAGE.write_text(draw(behaviours, declarations.DIFFERENCES, declarations.FAULTS), "utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
