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
  checking, compiling, running. Every run has a new interpreter and a text that was not seen before,
  so that no cache of compiled code helps; all limits of this fork are on.
- The programs are written as agents write them, their loops at the top level. CPython runs those
  with global variables; this fork compiles them as a function where that changes nothing, which is
  why a ratio may be below 1.
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
    for title, key in (
        ('call `ex("1+1")` after the first, ms', "call_seconds"),
        ("call of new code `1+n`, ms", "new_call_seconds"),
    ):
        costs = [_milliseconds(document[key].get(name)) for name in ("cpython", *engines)]
        lines.append(f"| {title} | {' | '.join(costs)} |")
    lines += ["", "Programs an engine cannot run:", ""]
    for name in engines:
        for row in programs:
            if name in row["errors"]:
                reason = " ".join(row["errors"][name].split())[:160].replace("`", "'")
                lines.append(f"- {row['name']}, {_TITLES[name]}: `{reason}`")
    return "\n".join(lines) + "\n"


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:.3f}"


def _cell(ratio: float | None) -> str:
    return "cannot" if ratio is None else f"{ratio:.2f}"
