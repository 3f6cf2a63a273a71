"""A TCP port in front of the engine's own socket, which sees requests and can change answers."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from fault_proxy import FaultProxy

_REQUEST = re.compile(rb"(?:^|(?<=\n))([A-Z]{3,7}) (/\S+) HTTP/1\.1\r\n")


class EngineProxy(FaultProxy):
    """A port that leads to the engine's socket; skips the test where that is not on this machine.

    Args:
        engine: docker-py client of the engine.
        address: that it listens on.

    Attributes:
        requests: method and path of every request, as far as they could be told.
        closed_by_client: how many connections the client has closed.
        freezing_at: words of a request with which it freezes.
        rewriting: words of the engine's answers, and others of the same length in their place.
    """

    def __init__(self, engine: Any, address: str = "127.0.0.1") -> None:
        if not str(engine.api.base_url).startswith("http+docker"):
            pytest.skip("the engine is not on a local socket")
        self.requests: list[str] = []
        self.closed_by_client = 0
        self.freezing_at = b""
        self.rewriting: dict[bytes, bytes] = {}
        self.is_frozen = False
        host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
        super().__init__(host.removeprefix("unix://"), address=address)
        self.address = address

    def asked(self, words: str) -> list[str]:
        """Requests whose method and path match the regular expression ``words``."""
        return [request for request in self.requests if re.search(words, request)]

    def see(self, data: bytes, *, from_client: bool) -> bytes:
        """Note requests and ends of the client's, and rewrite answers."""
        if from_client:
            self.requests += [b" ".join(found).decode() for found in _REQUEST.findall(data)]
            self.closed_by_client += not data
            if self.freezing_at and self.freezing_at in data:
                self.freeze()
                self.is_frozen = True
            return data
        for written, read in self.rewriting.items():
            assert len(written) == len(read)
            data = data.replace(written, read)
        return data
