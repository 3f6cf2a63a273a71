"""Published escapes from smolagents' executors: those of the table in `process`, and pickles."""

from __future__ import annotations

import os
import pickle
import sys
from typing import TYPE_CHECKING, Any

import hostile_table
import pytest

from smolagents_fork.codec import decode, encode
from smolagents_fork.errors import DecodeError, ForkError, ProtocolError

if TYPE_CHECKING:
    from process_host import ProcessHost

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the hosts of these tests are Linux"),
    pytest.mark.limit(120),
]

PUBLISHED = [p for p in hostile_table.all_programs() if p.family == "published_escapes"]


@pytest.mark.slow
def test_process_holds(host: ProcessHost) -> None:
    host.check(PUBLISHED)


class Evil:
    """Object from a rogue sandbox: unpickled, it runs a command on the host."""

    def __reduce__(self) -> Any:
        return os.putenv, ("HOSTILE_PICKLE", "1")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_cve_2025_14931_codec_takes_no_pickle(protocol: int) -> None:
    with pytest.raises(DecodeError):
        decode(pickle.dumps(Evil(), protocol))


def test_cve_2025_14931_codec_makes_no_pickle() -> None:
    assert b"putenv" not in encode({"a": b"x", "b": [1, 2.5]})
    with pytest.raises(ForkError):
        encode(Evil())


#: A rogue child that writes forged frames to the connection.
ROGUE = """
import os, pickle, struct
class Evil:
    def __reduce__(self):
        return (os.putenv, ("HOSTILE_PICKLE", "1"))
def send(kind, run, body):
    os.write(1000, struct.pack("!BII", kind, run, len(body)) + body)
for run in range(20):
    send(KIND, run, pickle.dumps(Evil()))
"""


@pytest.mark.parametrize("kind", [3, 4, 6], ids=["CALL", "DONE", "FAILED"])
@pytest.mark.slow
def test_cve_2025_14931_rogue_child_is_not_unpickled(kind: int, host: ProcessHost) -> None:
    host.executor.restart()
    with pytest.raises((ProtocolError, DecodeError)):
        host.executor(ROGUE.replace("KIND", str(kind)))
    assert "HOSTILE_PICKLE" not in host_environment()
    host.executor.restart()
    assert host.executor("6 * 7").output == 42


def host_environment() -> str:
    """Return the environment of this process's C library; ``os.environ`` is a copy."""
    import ctypes

    library = ctypes.CDLL(None)
    library.getenv.restype = ctypes.c_char_p
    return "HOSTILE_PICKLE" if library.getenv(b"HOSTILE_PICKLE") else ""
