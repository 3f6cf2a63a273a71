"""The measured figures as a page of documentation."""

from __future__ import annotations

from typing import Any

__all__ = ["page"]

_TITLES = {
    "fork": "this fork",
    "upstream": "upstream (small input)",
    "monty": "pydantic-monty",
    "restricted": "RestrictedPython",
}

_HEAD = """\
# The local interpreter beside CPython and others

Written by `make bench-interpreter` (`python -m tools.bench.interpreter --page ...`) from the run
whose date and machine stand below; absolute times move from machine to machine, ratios less.

- A figure is the engine's processor time divided by CPython's for the same program, best of
  {rounds} runs each, the engines taking turns. It covers what a caller waits for: parsing,
  checking, compiling, running. Every run has a new interpreter; all limits of this fork are on.
- Upstream walks the tree, so it gets a smaller input, and CPython is timed on that input too.
- pydantic-monty works in a child process, whose processor time is counted with its own; a warm
  pool is kept. RestrictedPython has the guards its documentation names and no limits at all.
- "cannot" means that the engine refuses the program or lacks something it needs; the reasons stand
  below the table. A geometric mean is over the programs that the engine runs.
- Results are compared with CPython's; an engine with another result would show "cannot".
"""


def page(document: dict[str, Any]) -> str:
    """Markdown of one run's JSON document."""
    where, programs = document["machine"], document["programs"]
    engines = [name for name in _TITLES if name in document["geometric_means"]]
    lines = [
        _HEAD.format(rounds=document["rounds"]),
        f"Measured {document['date'][:10]} on {where['processor']}, {where['cores']} cores, "
        f"{where['system']}, Python {where['python']}.",
        "",
        "| program | CPython, ms | " + " | ".join(_TITLES[name] for name in engines) + " |",
        "|---|---:|" + "---:|" * len(engines),
    ]
    for row in programs:
        cells = [_cell(row["ratios"].get(name)) for name in engines]
        lines.append(f"| {row['name']} | {row['cpython'] * 1000:.0f} | {' | '.join(cells)} |")
    means = [f"**{document['geometric_means'][name]:.2f}**" for name in engines]
    lines.append(f"| **geometric mean** | | {' | '.join(means)} |")
    counts = [str(sum(row["ratios"].get(n) is not None for row in programs)) for n in engines]
    lines.append(f"| programs run | {len(programs)} | {' | '.join(counts)} |")
    calls = document["call_seconds"]
    costs = [f"{calls[name] * 1000:.3f}" if name in calls else "" for name in engines]
    own = f"{calls['cpython'] * 1000:.3f}" if "cpython" in calls else ""
    lines.append(f'| call `ex("1+1")` after the first, ms | {own} | {" | ".join(costs)} |')
    lines += ["", "Programs an engine cannot run:", ""]
    for name in engines:
        for row in programs:
            if name in row["errors"]:
                reason = " ".join(row["errors"][name].split())[:160].replace("`", "'")
                lines.append(f"- {row['name']}, {_TITLES[name]}: `{reason}`")
    return "\n".join(lines) + "\n"


def _cell(ratio: float | None) -> str:
    return "cannot" if ratio is None else f"{ratio:.2f}"
