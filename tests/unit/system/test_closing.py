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


def test_block_without_an_error_closes_nothing():
    file = io.StringIO()
    with close_on_error(file):
        pass
    assert not file.closed
