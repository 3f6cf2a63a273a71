"""Draws the layers as ``docs/layers.svg``, from the table the lint enforces.

``python -m tools.layers_picture`` writes it; a test holds the committed file against the table.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

from tools.layers import LAYERS
from tools.paths import ROOT

__all__ = ["PICTURE", "draw", "main"]

PICTURE = ROOT / "docs" / "layers.svg"

WORDS = {
    "_version": "which fork this is",
    "errors": "one exception tree",
    "redaction": "texts without secrets",
    "awaitables": "results of asynchronous functions",
    "deadline": "deadlines, monotonic clock",
    "distributions": "packages of import names",
    "results": "frozen results",
    "figures": "files of figures",
    "first_process_link": "requests to first processes",
    "forks": "what forked copies of a process must not use",
    "telemetry": "spans and metrics",
    "displays": "displays as values",
    "hints": "hints for errors",
    "host_pipe": "programs that end with us",
    "shortages": "what is short now",
    "output": "what is printed",
    "representation": "text forms of executors and pools",
    "terminal": "harmless text on terminals",
    "texts": "texts of values",
    "options": "options, each defined once",
    "call_output": "output of one call",
    "pages": "HTML and Markdown that load nothing",
    "short_texts": "texts of limited cost",
    "codec": "values as bytes, without pickle",
    "folders": "where untrusted code works",
    "sandboxes": "provisioner, docker/",
    "interpreter": "policy, guards, compile, run",
    "jupyter": "protocol, channel",
    "guest": "a program beside the host: frames, worker",
    "process": "confined child, fork server",
    "ray_cluster": "sandboxes on Ray's nodes",
    "wasm": "Pyodide under Deno",
    "upstream": "the only import of smolagents",
    "bridge": "host side of a sandbox's call",
    "agent_sandbox": "whole agents inside, their model outside",
    "executors": "contract, selection, docker, local, process, wasm",
    "checks": "checks of a machine",
    "inventory": "what the fork has here",
    "proc_table": "/proc",
    "free_threading": "refusal of builds without the lock",
    "standard_library": "names, by version",
    "local_processes": "sandboxes that are processes",
    "command_line": "smolagents-fork",
    "__main__": "python -m smolagents_fork",
}
WIDTH, ROW, GAP, LEFT = 860, 64, 16, 150


def draw() -> str:
    """The picture as SVG text; the highest layer stands on top, and imports point down."""
    rows = LAYERS
    height = len(rows) * (ROW + GAP) + GAP + 28
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="14">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for index, row in enumerate(rows):
        top = GAP + index * (ROW + GAP)
        box = (WIDTH - LEFT - GAP * len(row)) / len(row)
        label = {0: "users see", len(rows) - 1: "stands alone"}.get(index, "")
        parts.append(f'<text x="{GAP}" y="{top + ROW / 2 + 5}" fill="#555">{label}</text>')
        for column, part in enumerate(row):
            left = LEFT + column * (box + GAP)
            fill = "#fde9c8" if part == "upstream" else "#dcebf7"
            parts += [
                f'<rect x="{left:.1f}" y="{top}" width="{box:.1f}" height="{ROW}" rx="6" '
                f'fill="{fill}" stroke="#44617b"/>',
                f'<text x="{left + box / 2:.1f}" y="{top + 26}" text-anchor="middle" '
                f'font-weight="bold">{part}</text>',
                f'<text x="{left + box / 2:.1f}" y="{top + 46}" text-anchor="middle" '
                f'font-size="11" fill="#333">{escape(WORDS[part])}</text>',
            ]
    bottom = GAP + len(rows) * (ROW + GAP)
    parts += [
        f'<path d="M 125 {GAP + 20} V {bottom - GAP - 12}" stroke="#44617b" stroke-width="2"/>',
        f'<path d="M 119 {bottom - GAP - 14} h 12 l -6 10 z" fill="#44617b"/>',
        f'<text x="{GAP}" y="{bottom + 10}" fill="#555">An arrow down: a module imports from its '
        "own part and from lower rows. Parts in one row never import each other.</text>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main(path: Path = PICTURE) -> int:
    """Write the picture."""
    path.write_text(draw(), "utf-8")
    print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
