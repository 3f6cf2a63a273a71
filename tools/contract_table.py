"""``docs/executors/index.md``: what every executor promises, from the contract suite.

``python -m tools.contract_table`` draws the page from the declarations of
``tests/contract/executors``, whose tests show that each promise is kept, and from the recorded
benchmarks. A test compares the committed page. ``python -m tools.bench --record`` draws it, too.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tools.bench.table import NOW
from tools.paths import ROOT

__all__ = ["PAGE", "SUITE", "draw", "figure", "main"]

PAGE = ROOT / "docs" / "executors" / "index.md"
SUITE = ROOT / "tests" / "contract" / "executors"

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


def draw(behaviours: Sequence[Any], differences: Sequence[Any]) -> str:
    """Return the page.

    Args:
        behaviours: the suite's promises, in the order of their areas.
        differences: the suite's table of differences.
    """
    executors = _declarations().EXECUTORS
    cells = {
        (executor, test): f"[no](#difference-{number})"
        for number, difference in enumerate(differences, 1)
        for executor in difference.executors
        for test in difference.tests
    }
    lines = [_HEAD, *_glance(behaviours, cells, executors), _DETAILS]
    area = None
    for behaviour in behaviours:
        if behaviour.area != area:
            area = behaviour.area
            lines += ["", f"### {area}", "", f"| behaviour | {' | '.join(executors)} |"]
            lines.append("|---|" + ":-:|" * len(executors))
        sentence = behaviour.text.replace("|", "\\|")
        row = [cells.get((name, behaviour.test), "yes") for name in executors]
        lines.append(f"| {sentence} | {' | '.join(row)} |")
    lines += ["", "## Differences", ""]
    for number, difference in enumerate(differences, 1):
        names = " and ".join(f"`{name}`" for name in difference.executors)
        lines.append(f'{number}. <span id="difference-{number}"></span>{names}: {difference.text}')
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def _glance(
    behaviours: Sequence[Any], cells: Mapping[tuple[str, str], str], executors: Sequence[str]
) -> list[str]:
    """Rows of the table of areas and times."""
    lines = [f"| | {' | '.join(executors)} |", "|---|" + ":-:|" * len(executors)]
    for area in dict.fromkeys(behaviour.area for behaviour in behaviours):
        tests = [behaviour.test for behaviour in behaviours if behaviour.area == area]
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
    cells = next((row for row in rows if row[0] == label), None)
    return "not recorded" if column is None or cells is None else cells[column]


def _declarations() -> Any:
    """Import the module of the suite, whose folder and shared folders are not packages."""
    tests = ROOT / "tests"
    for folder in (SUITE, tests, tests / "cases", tests / "integration" / "hosted"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    return importlib.import_module("contract_declarations")


def main() -> None:
    """Write the page."""
    declarations = _declarations()
    PAGE.write_text(draw(declarations.all_behaviours(), declarations.DIFFERENCES), "utf-8")


if __name__ == "__main__":
    main()
