"""Requests over plain HTTP, each read and written anew, so that both sides mean the same bytes."""

from __future__ import annotations

import asyncio
import contextlib

import h11

from .request_head import MOST_HEAD_BYTES, ProxyRequest, end_to_end
from .traffic import Stream

__all__ = ["HttpHost"]


class HttpHost:
    """A connection to a host, for one request after the other.

    Args:
        host: Host in its one spelling.
        port: Port of the host.
        stream: Connection to the host.
    """

    def __init__(self, host: str, port: int, stream: Stream) -> None:
        self._host = host
        self._port = port
        self._stream = stream
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD_BYTES)

    def serves(self, request: ProxyRequest) -> bool:
        """Tell whether the connection can take a request."""
        is_ready = self._connection.our_state is h11.IDLE and not self._stream.is_at_end
        return is_ready and (self._host, self._port) == (request.host, request.port)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    async def exchange(self, request: ProxyRequest, client: Stream) -> bool:
        """Pass a request and its response on; return whether the client may send another.

        Args:
            request: Request whose body the client is still sending.
            client: Connection to the sandbox.

        Raises:
            h11.RemoteProtocolError: a side violates HTTP.
            OSError: the host has closed the connection without a response.
        """
        head = h11.Request(
            method=request.method, target=request.target, headers=list(request.headers)
        )
        await self._stream.write(self._connection.send(head) or b"")
        sending = asyncio.ensure_future(self._send_body(request.connection, client))
        try:
            await self._return_response(request.connection, client)
            if request.connection.their_state is not h11.DONE:
                return False  # the host has answered before it has read the whole request
            await sending
        finally:
            sending.cancel()
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await sending
        if self._connection.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
            self._connection.start_next_cycle()
        states = set(request.connection.states.values())
        return states == {h11.DONE} and not request.connection.trailing_data[0]

    async def _send_body(self, incoming: h11.Connection, client: Stream) -> None:
        while True:
            event = incoming.next_event()
            if event is h11.NEED_DATA:
                incoming.receive_data(await client.read())
            elif isinstance(event, h11.Data | h11.EndOfMessage):
                await self._stream.write(self._connection.send(event) or b"")
                if isinstance(event, h11.EndOfMessage):
                    return
            else:
                raise h11.RemoteProtocolError("the request is incomplete")

    async def _return_response(self, incoming: h11.Connection, client: Stream) -> None:
        while True:
            event = self._connection.next_event()
            if event is h11.NEED_DATA:
                self._connection.receive_data(await self._stream.read())
                continue
            if isinstance(event, h11.Response | h11.InformationalResponse):
                event = type(event)(
                    status_code=event.status_code,
                    reason=event.reason,
                    headers=list(end_to_end(event.headers.raw_items())),
                )
            elif not isinstance(event, h11.Data | h11.EndOfMessage):
                raise ConnectionError("the host has closed the connection without a response")
            await client.write(incoming.send(event) or b"")
            if isinstance(event, h11.EndOfMessage):
                return
