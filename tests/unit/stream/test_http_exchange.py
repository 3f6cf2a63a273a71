"""The deadline of a request counts for the whole answer."""

from __future__ import annotations

import pytest

from smolagents_fork.deadline import Deadline
from smolagents_fork.stream.http_exchange import request


class Endless:
    """A server that always has another answer before the last one, a byte at a time."""

    def __init__(self) -> None:
        self._rest = b""

    def settimeout(self, seconds: float) -> None:
        pass

    def sendall(self, data: bytes) -> None:
        pass

    def recv(self, size: int) -> bytes:
        self._rest = self._rest or b"HTTP/1.1 100 Continue\r\n\r\n"
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


@pytest.mark.limit(60)
def test_answers_without_end_do_not_prolong_it():
    with pytest.raises(TimeoutError):
        request(Endless(), "GET", "/", host="x", headers={}, deadline=Deadline(0.2))
