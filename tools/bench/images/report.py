"""The table of the builds, and whether they reach the goals."""

from __future__ import annotations

from typing import Any

from ..machine import machine_words

__all__ = ["table"]

#: Largest share of pip's own time for the same list.
TIME_GOAL = 1.2
#: Largest share of what pip leaves when the kernel and its gateway are installed by name.
SIZE_GOAL = 250 / 380
NAMES = {
    "core": "the core",
    "five": "five packages",
    "more": "one more package",
}


def table(results: dict[str, Any]) -> tuple[str, bool]:
    """Markdown, and whether every goal was reached.

    Args:
        results: of one run, as ``bench-images.json`` holds them.
    """
    floor, fork = results["floor"], results["fork"]
    packages = results["packages"]
    more = sorted(set(packages["more"]) - set(packages["five"]))
    lines = [
        f"Measured {results['date'][:10]} on {machine_words(results['machine'])}; base image "
        f"`{results['base_image']}`, {results['base_bytes'] / 1e6:.0f} MB. Best of {len(fork)}. "
        f"Five packages: {', '.join(packages['five'])}; one more: "
        f"{', '.join(more)}.",
        "",
    ]
    if results["busy"]:
        lines += [results["busy"], ""]
    lines += ["| what | pip alone | fork | ratio | goal |", "|---|---|---|---|---|"]
    reached = True
    for key, name in NAMES.items():
        pip, ours = _best(floor, key, "seconds"), _best(fork, key, "seconds")
        good = ours <= TIME_GOAL * pip
        mark = f"<= {TIME_GOAL} {_verdict(good)}" if key == "core" else ""
        reached = reached and (good or key != "core")
        lines.append(f"| {name}: seconds | {pip:.1f} | {ours:.1f} | {ours / pip:.2f} | {mark} |")
    pip, ours = _best(floor, "by name", "bytes") / 1e6, _best(fork, "core", "bytes") / 1e6
    good = ours <= SIZE_GOAL * pip
    lines.append(
        f"| the core: MB on the base | {pip:.0f} | {ours:.0f} | {ours / pip:.2f} "
        f"| <= {SIZE_GOAL:.2f} {_verdict(good)} |"
    )
    for key, before in (("five", "core"), ("more", "five")):
        pip, ours = (
            (_best(side, key, "bytes") - _best(side, before, "bytes")) / 1e6
            for side in (floor, fork)
        )
        lines.append(f"| {NAMES[key]}: MB added | {pip:.0f} | {ours:.0f} | {ours / pip:.2f} | |")
    return "\n".join(lines) + "\n", reached and good


def _verdict(good: bool) -> str:
    return "reached" if good else "MISSED"


def _best(rounds: list[dict[str, Any]], image: str, what: str) -> float:
    return float(min(one[image][what] for one in rounds))
