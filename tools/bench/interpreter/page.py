"""The measured figures as a section of the page of benchmarks."""

from __future__ import annotations

from typing import Any

from ..machine import machine_words

__all__ = ["section"]

_TITLES = {
    "fork": "this fork",
    "upstream": "upstream (small input)",
    "monty": "pydantic-monty",
    "restricted": "RestrictedPython",
}


def section(document: dict[str, Any]) -> str:
    """Markdown of one run's JSON document."""
    where, programs = document["machine"], document["programs"]
    engines = [name for name in _TITLES if name in document["geometric_means"]]
    lines = [
        f"Measured {document['date'][:10]} on {machine_words(where)}; "
        f"medians of {document['rounds']} runs.",
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
    lines += ["", *_first_run(document["first_run"])]
    lines += ["", "Programs an engine cannot run:", ""]
    for name in engines:
        for row in programs:
            if name in row["errors"]:
                reason = " ".join(row["errors"][name].split())[:160].replace("`", "'")
                lines.append(f"- {row['name']}, {_TITLES[name]}: `{reason}`")
    return "\n".join(lines) + "\n"


def _first_run(figures: dict[str, Any]) -> list[str]:
    """The first run of new code as a table: CPython's compile, upstream, the fork, its ratio."""
    lines = [
        "First run of new code, without running it:",
        "",
        "| programs | CPython's `compile()`, ms | upstream, ms | this fork, ms | times CPython's |",
        "|---|---:|---:|---:|---:|",
    ]
    for title, kind in (
        (f"{figures['programs']} everyday programs", "everyday"),
        ("one of 1,000 lines", "long"),
    ):
        cells = [
            _milliseconds(figures.get(name, {}).get(f"{kind}_seconds"))
            for name in ("cpython", "upstream", "fork")
        ]
        ratio = figures["fork"][f"{kind}_ratio"]
        lines.append(f"| {title} | {' | '.join(cells)} | {ratio:.2f} |")
    worst = figures["fork"]["everyday_worst"]
    lines += ["", f"The worst of the everyday programs: {worst:.2f} times."]
    return lines


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:.3f}"


def _cell(ratio: float | None) -> str:
    return "cannot" if ratio is None else f"{ratio:.2f}"
