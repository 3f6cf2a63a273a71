"""Host side of a call from a sandbox: tools and managed agents that stay on the host.

The package is independent of the transport: :meth:`Dispatcher.handle` takes the bytes of a request
and returns the bytes of a reply. The sandbox side is :mod:`smolagents_fork.codec.rpc`.
"""

from __future__ import annotations

from .call_record import CallRecord
from .direct import directly
from .dispatcher import Dispatcher
from .signatures import StubSpec, check_name, describe, offer, parameters_of_tool

__all__ = [
    "CallRecord",
    "Dispatcher",
    "StubSpec",
    "check_name",
    "describe",
    "directly",
    "offer",
    "parameters_of_tool",
]
