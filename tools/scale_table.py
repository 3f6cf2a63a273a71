"""``docs/scale.md``: nodes, memory, streams and starts for many sandboxes, from recorded figures.

``python -m tools.scale_table`` draws the page's tables again from the figures that ``make
bench-ray`` has recorded in docs/benchmarks.md; ``python -m tools.bench`` does so, too. What stands
outside the markers is written by hand. A test holds that the page is what this draws.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from .bench.comparison import markdown
from .contract_table import BENCHMARKS, figure
from .paths import ROOT

__all__ = [
    "COUNTS",
    "KINDS",
    "PAGE",
    "Kind",
    "computed",
    "draw",
    "parsed",
    "recorded",
    "write",
    "written",
]

PAGE = ROOT / "docs" / "scale.md"
SECTION = "ray"
BEGIN, END = "<!-- scale -->", "<!-- end scale -->"
NOT_RECORDED = "not recorded"

#: Sandboxes for which the page computes.
COUNTS = (1_000, 10_000, 100_000)
#: A node, as the page says: memory in bytes, of which a share is for sandboxes, and cores.
NODE_BYTES = 64 << 30
NODE_SHARE = 0.8
NODE_CORES = 16
#: Share of the time in which a sandbox computes; for the rest it waits for a model.
BUSY_SHARE = 0.05
#: Sandboxes of a supervisor; streams of one host process.
SLOTS = 40
HOST_STREAMS = 1_000

_UNITS = {"s": 1.0, "ms": 1e-3, "MB": 1e6, "MiB": float(1 << 20), "/s": 1.0, "": 1.0}


@dataclass(frozen=True)
class Kind:
    """A kind of sandboxes.

    Args:
        name: for the table.
        own_bytes: what the code in a sandbox uses beside the idle sandbox, as the page assumes.
        rows: label here -> row of the recorded benchmark.
    """

    name: str
    own_bytes: int
    rows: Mapping[str, str]


KINDS = (
    Kind(
        "process",
        64 << 20,
        {
            "at once": "process: sandboxes at once",
            "memory": "process: memory of a sandbox",
            "start": "process: seconds for each start, many at once",
            "supervisor": "process: memory of a supervisor",
        },
    ),
    Kind(
        "docker",
        256 << 20,
        {
            "at once": "docker: sandboxes at once",
            "memory": "docker: memory of a container",
            "start": "docker: seconds for each start, many at once",
            "supervisor": "process: memory of a supervisor",
        },
    ),
)


def parsed(text: str) -> float | None:
    """Return a figure of the benchmarks' page in seconds, bytes, or as a number.

    Args:
        text: such as ``13.6 ms``; ``None`` is returned for text that is not a figure.
    """
    found = re.fullmatch(r"([\d,]+(?:\.\d+)?) ?(s|ms|MB|MiB|/s|)", text.strip())
    return float(found[1].replace(",", "")) * _UNITS[found[2]] if found else None


def recorded(page: str, kind: Kind) -> dict[str, str]:
    """Return the recorded figures of a kind as the page shows them, by label.

    Args:
        page: text of the benchmarks' page.
        kind: of sandboxes.
    """
    return {label: figure(page, SECTION, row) for label, row in kind.rows.items()}


def computed(kind: Kind, figures: Mapping[str, str], count: int) -> list[str]:
    """Return the cells of the row for ``count`` sandboxes.

    Args:
        kind: of sandboxes.
        figures: from :func:`recorded`.
        count: of sandboxes.
    """
    values = {label: parsed(text) for label, text in figures.items()}
    memory, start, supervisor = values["memory"], values["start"], values["supervisor"]
    if memory is None or start is None or supervisor is None:
        cells = [NOT_RECORDED] * 4
    else:
        supervisors = math.ceil(count / SLOTS)
        whole = count * (memory + kind.own_bytes) + supervisors * supervisor
        nodes = max(
            math.ceil(whole / (NODE_BYTES * NODE_SHARE)),
            math.ceil(count * BUSY_SHARE / NODE_CORES),
        )
        rate = nodes / start
        cells = [f"{nodes:,}", f"{whole / (1 << 30):,.0f} GiB", _rate(rate), _time(count / rate)]
    at_once = values["at once"]
    basis = NOT_RECORDED if at_once is None else f"extrapolated from {at_once:,.0f}"
    if at_once is not None and at_once >= count:
        basis = "measured"
    return [
        kind.name,
        f"{count:,}",
        *cells,
        f"{math.ceil(count / SLOTS):,}",
        f"{count:,}",
        f"{math.ceil(count / HOST_STREAMS):,}",
        basis,
    ]


def draw(page: str) -> str:
    """Return both tables: the figures that were recorded, and what follows from them.

    Args:
        page: text of the benchmarks' page.
    """
    figures = {kind.name: recorded(page, kind) for kind in KINDS}
    given = markdown(
        ("recorded figure", *(kind.name for kind in KINDS)),
        [
            ["sandboxes at once in the run", *(figures[k.name]["at once"] for k in KINDS)],
            ["memory of an idle sandbox", *(figures[k.name]["memory"] for k in KINDS)],
            ["memory of a supervisor", *(figures[k.name]["supervisor"] for k in KINDS)],
            ["time for each start on one machine", *(figures[k.name]["start"] for k in KINDS)],
        ],
    )
    headings = ("kind", "sandboxes", "nodes", "memory", "starts", "to start all", "supervisors",
                "streams", "host processes", "basis")  # fmt: skip
    rows = [computed(kind, figures[kind.name], count) for kind in KINDS for count in COUNTS]
    return f"{given}\n{markdown(headings, rows)}"


def written(text: str, page: str) -> str:
    """Return the text of docs/scale.md with its tables drawn again.

    Args:
        text: of docs/scale.md.
        page: of the benchmarks.

    Raises:
        ValueError: the markers are not there, once each.
    """
    before, begin, rest = text.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise ValueError(
            f"the page needs the lines {BEGIN!r} and {END!r}, once each, in this order"
        )
    return f"{before}{begin}\n{draw(page)}\n{end}{after}"


def write() -> None:
    """Draw the page's tables again."""
    PAGE.write_text(written(PAGE.read_text("utf-8"), BENCHMARKS.read_text("utf-8")), "utf-8")


def _rate(per_second: float) -> str:
    return f"{per_second:,.1f}/s" if per_second < 100 else f"{per_second:,.0f}/s"


def _time(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 600 else f"{seconds / 60:,.0f} min"


if __name__ == "__main__":
    write()
