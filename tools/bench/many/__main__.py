"""Open, use and close many executors of each kind; with ``--record`` also write the page.

    python -m tools.bench.many [--count 200] [--record]

Each kind works in waves: all executors of one are open at once. What is left is counted after the
last wave, beside what was there after one wave before the first.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from smolagents_fork.sandboxes.docker.docker_provisioner import DockerProvisioner

from ..comparison import markdown, shown, verdict
from ..executor_kinds import KINDS, OpenExecutor, prepare
from ..host_state import own_scratch, resident_bytes, settled, waited_for
from ..runner import Benchmark, Measured

__all__ = ["KEPT_BYTES", "WAVES", "Outcome", "drawn"]

#: Executors of a wave. A guest in WebAssembly has 220 MB, a container 90 MB.
WAVES = {"local": 200, "process": 100, "docker": 10, "wasm": 8}
#: Most memory that the host's process may keep for 200 executors of a kind, in bytes.
KEPT_BYTES = 16 << 20
#: Executors that start at the same time.
_STARTS = 4
#: Seconds that removals may go on behind the last cleanup.
_REMOVAL_SECONDS = 60.0
HEADINGS = (
    "kind", "executors", "at once", "a second", "open, p50", "host's memory, most", "kept", "left",
    "goal",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """One kind's figures.

    Args:
        kind: of executor.
        count: of executors.
        wave: of them at once.
        seconds: for all, cleanups included.
        open_seconds: median until the first result, with others starting.
        most_bytes: memory that the host's process had more than before, at most.
        kept_bytes: that it had more when all were closed.
        left: what there was more of than before, by name.
    """

    kind: str
    count: int
    wave: int
    seconds: float
    open_seconds: float
    most_bytes: int
    kept_bytes: int
    left: dict[str, int]

    @property
    def reached(self) -> bool:
        """Tell whether nothing is left, and little memory."""
        return not self.left and self.kept_bytes <= KEPT_BYTES


def measured(options: argparse.Namespace) -> Measured:
    """The figures of all kinds."""
    prepare()
    provisioner = DockerProvisioner()
    try:
        with own_scratch():
            outcomes = [
                outcome(kind, options.count, min(WAVES[kind], options.count), provisioner.ours)
                for kind in KINDS
            ]
    finally:
        provisioner.close()
    return Measured(
        drawn=drawn(outcomes),
        about=f"{_STARTS} starts at a time; memory of the host's process beyond that before",
        raw={"kinds": [asdict(one) for one in outcomes]},
    )


def outcome(kind: str, count: int, wave: int, containers: Callable[[], list[str]]) -> Outcome:
    """Open, use and close executors of one kind.

    Args:
        kind: a key of :data:`.KINDS`.
        count: of executors.
        wave: of them at once.
        containers: lists those of this process.
    """
    BENCHMARK.say(f"{count} of {kind}, {wave} at once")
    run_wave(kind, wave)  # fork server, caches, threads that stay
    gc.collect()
    before, memory = settled(containers, _REMOVAL_SECONDS), resident_bytes()
    opened: list[float] = []
    most, began = 0, time.perf_counter()
    for first in range(0, count, wave):
        times, resident = run_wave(kind, min(wave, count - first))
        opened += times
        most = max(most, resident - memory)
    seconds = time.perf_counter() - began
    left = waited_for(before, containers, _REMOVAL_SECONDS)
    gc.collect()
    kept = max(0, resident_bytes() - memory)
    return Outcome(kind, count, wave, seconds, sorted(opened)[count // 2], most, kept, left)


def run_wave(kind: str, count: int) -> tuple[list[float], int]:
    """Open executors, use them all again, and close them.

    Returns:
        seconds until the first result of each, and the host's memory while all were open.
    """

    def opened(_number: int) -> tuple[OpenExecutor, float]:
        began = time.perf_counter()
        executor = KINDS[kind]()
        made.append(executor)
        assert executor("1+1").output == 2
        return executor, time.perf_counter() - began

    made: list[OpenExecutor] = []
    with ThreadPoolExecutor(_STARTS) as starters:
        try:
            times = [seconds for _, seconds in starters.map(opened, range(count))]
            for executor in made:
                assert executor("2+2").output == 4
            return times, resident_bytes()
        finally:
            list(starters.map(lambda one: one.cleanup(), made))


def drawn(outcomes: list[Outcome]) -> tuple[str, bool]:
    """Draw the table; return it, and whether every goal was reached."""
    lines = []
    for one in outcomes:
        left = ", ".join(f"{count} {name}" for name, count in one.left.items())
        lines.append(
            [
                one.kind,
                str(one.count),
                str(one.wave),
                f"{one.count / one.seconds:.1f}",
                shown(one.open_seconds, "s"),
                shown(one.most_bytes, "MiB"),
                shown(one.kept_bytes, "MiB"),
                left or "nothing",
                f"nothing left, <= {shown(KEPT_BYTES, 'MiB')} kept: {verdict(one.reached)}",
            ]
        )
    return markdown(HEADINGS, lines), all(one.reached for one in outcomes)


BENCHMARK = Benchmark("many", __doc__, {}, measured, {"count": (200, "executors of each kind")})

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.run())
