"""Resources that are closed where the block that was to hand them on fails."""

from __future__ import annotations

import io

import pytest

from smolagents_fork.system.closing import close_on_error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_error_closes_all(error: type[BaseException]):
    files = io.StringIO(), io.BytesIO()
    with pytest.raises(error), close_on_error(*files):
        raise error
    assert [file.closed for file in files] == [True, True]


def test_error_of_a_close_leaves_no_resource_open():
    class Failing:
        def close(self) -> None:
            raise OSError("no close")

    first, last = io.StringIO(), io.StringIO()
    with pytest.raises(OSError, match="no close") as raised, close_on_error(first, Failing(), last):
        raise ValueError
    assert isinstance(raised.value.__context__, ValueError)
    assert [first.closed, last.closed] == [True, True]


def test_block_without_an_error_closes_nothing():
    file = io.StringIO()
    with close_on_error(file):
        pass
    assert not file.closed
