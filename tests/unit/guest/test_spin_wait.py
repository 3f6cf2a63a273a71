"""A busy wait ends with a result or after its time, and is left out where it finds nothing."""

from __future__ import annotations

import itertools

from smolagents_fork.guest.spin_wait import SpinWait


class Attempts:
    """Attempts that find something from the ``count``-th on."""

    def __init__(self, count: int) -> None:
        self.calls = 0
        self._count = count

    def __call__(self) -> int | None:
        self.calls += 1
        return self.calls if self.calls >= self._count else None


def test_wait_returns_what_an_attempt_finds() -> None:
    attempts = Attempts(5)
    assert SpinWait(600, cores=2).wait(attempts) == attempts.calls == 5


def test_nothing_read_is_a_result_too() -> None:
    assert SpinWait(600, cores=2).wait(lambda: 0) == 0


def test_wait_ends_after_its_time() -> None:
    attempts = Attempts(1 << 60)
    assert SpinWait(1e-4, cores=2).wait(attempts) is None
    assert attempts.calls >= 1


def test_one_core_waits_for_nothing() -> None:
    attempts = Attempts(1)
    assert SpinWait(600, cores=1).wait(attempts) is None
    assert attempts.calls == 0


def test_ever_more_waits_are_left_out_while_they_find_nothing() -> None:
    never, spin = Attempts(1 << 60), SpinWait(1e-9, cores=2)
    tried = []
    for number in range(10_000):
        before = never.calls
        assert spin.wait(never) is None
        if never.calls > before:
            tried.append(number)
    gaps = [later - earlier - 1 for earlier, later in itertools.pairwise(tried)]
    assert gaps[:5] == [1, 2, 4, 8, 16]
    assert max(gaps) == 1024


def test_wait_that_finds_something_ends_the_pause() -> None:
    spin = SpinWait(1e-9, cores=2)
    while spin.wait(lambda: None) is None and spin.wait(lambda: 1) is None:
        pass
    assert [spin.wait(lambda: 1) for _ in range(3)] == [1, 1, 1]
