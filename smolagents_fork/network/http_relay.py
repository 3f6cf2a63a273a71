"""Requests over plain HTTP, each read and written anew, so that both sides mean the same bytes."""

from __future__ import annotations

import asyncio
import contextlib

import h11

from .hosts.host_policy import HostRefusedError
from .request_head import MOST_HEAD_BYTES, Fields, ProxyRequest, end_to_end
from .secrets.secret_table import SecretFilter
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
        # Why the client's request is not read to its end.
        self._failure: Exception | None = None

    def serves(self, request: ProxyRequest) -> bool:
        """Tell whether the connection can take a request."""
        is_ready = self._connection.our_state is h11.IDLE and not self._stream.is_at_end
        return is_ready and (self._host, self._port) == (request.host, request.port)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    async def exchange(self, request: ProxyRequest, client: Stream, passed: SecretFilter) -> bool:
        """Pass a request and its response on; return whether the client may send another.

        Args:
            request: Request whose body the client is still sending.
            client: Connection to the sandbox.
            passed: Filter of the request's body and its response.

        Raises:
            HostRefusedError: the body has what may not be sent, or there is too much of it.
            h11.RemoteProtocolError: a side violates HTTP.
            OSError: the host has closed the connection without a response.
        """
        head = h11.Request(
            method=request.method, target=request.target, headers=list(request.headers)
        )
        await self._stream.write(self._connection.send(head) or b"")
        sending = asyncio.ensure_future(self._send_body(request.connection, client, passed))
        try:
            await self._return_response(request.connection, client, passed)
            if self._failure is None and request.connection.their_state is not h11.DONE:
                return False  # the host has answered before it has read the whole request
            await sending
        except (OSError, h11.RemoteProtocolError):
            if self._failure is None:
                raise
        finally:
            sending.cancel()
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await sending
        if self._failure is not None:
            raise self._failure
        if self._connection.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
            self._connection.start_next_cycle()
            self._stream.watch_for_end()
        states = set(request.connection.states.values())
        return states == {h11.DONE} and not request.connection.trailing_data[0]

    async def _send_body(
        self, incoming: h11.Connection, client: Stream, passed: SecretFilter
    ) -> None:
        event: object = None
        while not isinstance(event, h11.EndOfMessage):
            try:
                event = incoming.next_event()
                if event is h11.NEED_DATA:
                    incoming.receive_data(await client.read())
                    continue
                if not isinstance(event, h11.Data | h11.EndOfMessage):
                    raise h11.RemoteProtocolError("the request is incomplete")
                passed.check_body(_body_text(event))
            except (HostRefusedError, OSError, h11.RemoteProtocolError) as error:
                self._failure = error
                self._stream.close()  # the host does not get the rest, nor do we wait for it
                return
            await self._stream.write(self._connection.send(event) or b"")
        client.watch_for_end()

    async def _return_response(
        self, incoming: h11.Connection, client: Stream, passed: SecretFilter
    ) -> None:
        async def send(event: h11.Event) -> None:
            await client.write(incoming.send(event) or b"")

        async def send_body(data: bytes) -> None:
            if data:
                await send(h11.Data(data))

        while True:
            event = self._connection.next_event()
            if event is h11.NEED_DATA:
                self._connection.receive_data(await self._stream.read())
            elif isinstance(event, h11.Response | h11.InformationalResponse):
                fields = _filter_fields(end_to_end(event.headers.raw_items()), passed)
                if isinstance(event, h11.Response):
                    fields = passed.begin_body(fields)
                await send(
                    type(event)(
                        status_code=event.status_code,
                        reason=passed.filter_text(bytes(event.reason)),
                        headers=list(fields),
                    )
                )
            elif isinstance(event, h11.Data):
                for data in passed.filter_body(bytes(event.data)):
                    await send_body(data)
            elif isinstance(event, h11.EndOfMessage):
                await send_body(passed.end_body())
                trailer = _filter_fields(tuple(event.headers.raw_items()), passed)
                await send(h11.EndOfMessage(headers=list(trailer)))
                return
            else:
                raise ConnectionError("the host has closed the connection without a response")


def _filter_fields(fields: Fields, passed: SecretFilter) -> Fields:
    return tuple((passed.filter_text(name), passed.filter_text(value)) for name, value in fields)


def _body_text(event: h11.Data | h11.EndOfMessage) -> bytes:
    """Return what a part of a body, or its end with the trailer, has for the host."""
    if isinstance(event, h11.Data):
        return bytes(event.data)
    return b"".join(b"\n%b:%b" % field for field in event.headers.raw_items())
