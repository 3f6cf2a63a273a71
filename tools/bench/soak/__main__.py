"""Call an executor of each kind for a long time; with ``--record`` also write the page.

    python -m tools.bench.soak [--seconds 600] [--rate 50] [--record]

Every kind has a thread, which begins a call at fixed times. The memory of this process and what it
has open are read once a second: the last quarter of the run is compared with the first.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ..comparison import Goal, Row
from ..executor_kinds import KINDS, OpenExecutor, prepare
from ..host_state import resident_bytes
from ..runner import Benchmark, Measured
from ..timings import median, percentile, timed

__all__ = ["GOALS", "Pace", "Sample", "rows"]

_Value = TypeVar("_Value")
#: Of the first quarter's figure.
GOALS = {
    "memory of the host's process": Goal(1.03),
    "descriptors": Goal(1.0),
    "threads": Goal(1.0),
}
#: Seconds before the run that counts: caches fill.
_WARM_SECONDS = 10.0


@dataclass(frozen=True)
class Sample:
    """One reading of this process.

    Args:
        memory: resident bytes.
        descriptors: open ones.
        threads: of Python.
    """

    memory: int
    descriptors: int
    threads: int

    @classmethod
    def now(cls) -> Sample:
        """Read it."""
        descriptors = len(os.listdir("/proc/self/fd"))
        return cls(resident_bytes(), descriptors, threading.active_count())


@dataclass
class Pace:
    """Calls of one executor at fixed times, in a thread.

    Args:
        kind: of executor.
        executor: a tool ``same`` is sent to it.
        rate: calls a second. A call that is late is followed by the next at once, and what was
            missed by more than a second is not made up for.
    """

    kind: str
    executor: OpenExecutor
    rate: int
    error: Exception | None = None
    count: int = 0
    _times: array[float] = field(default_factory=lambda: array("d"))

    def reserve(self, seconds: float) -> None:
        """Forget all times, and take the memory for those of a run, which then does not grow."""
        self.count, self._times = 0, array("d", [0.0]) * int(self.rate * (seconds + 2))

    @property
    def times(self) -> Sequence[float]:
        """Seconds of each call, in order."""
        return self._times[: self.count]

    def run(self, stop: threading.Event) -> None:
        """Call until ``stop`` is set or a call fails."""
        due, number = time.monotonic(), 0
        try:
            while not stop.wait(max(0.0, due - time.monotonic())):
                number += 1
                seconds = timed(lambda: self._call(number))  # noqa: B023 - called at once
                if self.count < len(self._times):
                    self._times[self.count] = seconds
                    self.count += 1
                due = max(due + 1 / self.rate, time.monotonic() - 1)
        except Exception as error:
            self.error = error
            stop.set()

    def _call(self, number: int) -> None:
        """One call: new code each time, with a tool in each tenth and output in each fiftieth."""
        value = f"same({number})" if number % 10 == 0 else str(number)
        text = "print('x' * 1000)\n" if number % 50 == 0 else ""
        output = self.executor(f"{text}n = {value}\nn + 1").output
        if output != number + 1:
            raise AssertionError(f"{self.kind}: {number} + 1 gave {output!r}")


def measured(options: argparse.Namespace) -> Measured:
    """The figures of the run."""
    prepare()
    paces: list[Pace] = []
    try:
        for kind, make in KINDS.items():
            paces.append(Pace(kind, make(), options.rate))
            paces[-1].executor.send_tools({"same": lambda value: value})
        run(paces, _WARM_SECONDS)
        for pace in paces:
            pace.reserve(options.seconds)
        BENCHMARK.say(f"{options.rate} calls a second of each kind for {options.seconds} s")
        samples = run(paces, options.seconds)
    finally:
        for pace in paces:
            pace.executor.cleanup()
    calls = {pace.kind: pace.times for pace in paces}
    return Measured(
        rows(samples, calls, options.seconds),
        about=f"{options.seconds} s with {options.rate} calls a second of each kind; the floor is "
        "the first quarter of the run, and now is the last",
        raw={"samples": [vars(one) for one in samples]},
    )


def run(paces: Sequence[Pace], seconds: float) -> list[Sample]:
    """Run all at once; read this process once a second.

    Raises:
        Exception: a call has failed.
    """
    stop, samples = threading.Event(), []
    threads = [threading.Thread(target=pace.run, args=(stop,)) for pace in paces]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end and not stop.wait(min(1.0, seconds / 8)):
        samples.append(Sample.now())
    stop.set()
    for thread in threads:
        thread.join()
    for pace in paces:
        if pace.error is not None:
            raise pace.error
    return samples


def rows(
    samples: Sequence[Sample], calls: Mapping[str, Sequence[float]], seconds: float
) -> list[Row]:
    """Rows of the table: the last quarter beside the first.

    Args:
        samples: readings of this process, in order.
        calls: seconds of each call by kind, in order.
        seconds: of the run.
    """
    first, last = quarters(samples)
    found = [
        Row("memory of the host's process", median([one.memory for one in last]), "MiB",
            median([one.memory for one in first])),
        Row("descriptors", median([one.descriptors for one in last]), "",
            median([one.descriptors for one in first])),
        Row("threads", median([one.threads for one in last]), "",
            median([one.threads for one in first])),
    ]  # fmt: skip
    for kind, times in calls.items():
        first_times, last_times = quarters(times)
        found.append(Row(f"{kind}: calls a second", len(times) / seconds, "/s"))
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            early, late = percentile(first_times, share), percentile(last_times, share)
            found.append(Row(f"{kind}: {name}", late, "s", early))
    return found


def quarters(values: Sequence[_Value]) -> tuple[Sequence[_Value], Sequence[_Value]]:
    """The first quarter and the last, of one value at least."""
    size = max(1, len(values) // 4)
    return values[:size], values[-size:]


BENCHMARK = Benchmark(
    "soak",
    __doc__,
    GOALS,
    measured,
    {"seconds": (600, "length of the run"), "rate": (50, "calls a second of each kind")},
)

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.run())
