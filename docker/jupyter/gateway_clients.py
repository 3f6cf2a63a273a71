"""Clients of the gateway: HTTP, WebSockets, and the two layouts of Jupyter's messages.

WebSockets are those of RFC 6455 without extensions. The layouts are those of jupyter-server's
``developers/websocket-protocols`` page: JSON, and ``v1.kernel.websocket.jupyter.org``, whose parts
are passed on as they are. Whatever a client sends that violates a protocol ends its connection.
"""

import base64
import datetime
import hashlib
import hmac
import itertools
import json
import struct
import sys
import time
import uuid
from urllib.parse import parse_qs, unquote, urlsplit

from gateway_kernels import CHANNELS, DELIMITER, MAX_MESSAGE_BYTES, PASSED_BYTES, note
from gateway_streams import Line, Passage, StreamError

V1 = "v1.kernel.websocket.jupyter.org"
SPECIFICATION = "python3"

_HEAD_BYTES = 32_768
_BODY_BYTES = 1 << 20
_HEAD_SECONDS = 30.0
# A client that does not read so long is closed if its kernel has others, which wait for it.
_STALLED_SECONDS = 30.0
_MAX_PARTS = 1024
_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUED, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_NO_MASK = bytes(4)
# Longer than a channel's name.
_LONGEST_NAME = 20
_REASONS = {
    200: "OK",
    201: "Created",
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    411: "Length Required",
    413: "Content Too Large",
    426: "Upgrade Required",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class Refused(Exception):
    """An HTTP request that is answered with an error.

    Args:
        status: of the answer.
        message: for people.
    """

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Request:
    """Head of an HTTP request, parsed from its bytes without the empty line.

    Raises:
        Refused: it violates the protocol.
    """

    def __init__(self, head):
        first, *lines = head.decode("latin-1").split("\r\n")
        parts = first.split(" ")
        if len(parts) != 3 or parts[2] not in ("HTTP/1.1", "HTTP/1.0"):
            raise Refused(400, "the request line is not one of HTTP/1.1")
        self.method, target, version = parts
        try:
            parts = urlsplit(target)
        except ValueError:
            raise Refused(400, "the request's target is not an address") from None
        self.path = unquote(parts.path)
        self.query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        self.headers = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or name != name.strip() or not name:
                raise Refused(400, "a header is not a name and a value")
            name, value = name.lower(), value.strip()
            if name == "content-length" and self.headers.get(name, value) != value:
                raise Refused(400, "the lengths of the content differ")
            self.headers[name] = value
        connection = self.header("connection").lower()
        self.keeps = "close" not in connection and (
            version == "HTTP/1.1" or "keep-alive" in connection
        )

    def header(self, name):
        """Return a header, or an empty text."""
        return self.headers.get(name, "")

    def content_length(self):
        """Return the length of the content in bytes."""
        if "transfer-encoding" in self.headers:
            raise Refused(411, "the content needs a Content-Length")
        length = self.header("content-length") or "0"
        if not (length.isascii() and length.isdigit()):
            raise Refused(400, "Content-Length is not a number")
        if len(length) > 10 or int(length) > _BODY_BYTES:
            raise Refused(413, f"the content is longer than {_BODY_BYTES} bytes")
        return int(length)

    def wants_websocket(self):
        """Tell whether the client asks for a WebSocket."""
        return "websocket" in self.header("upgrade").lower()


class Client:
    """One connection: HTTP requests, and then perhaps a WebSocket to a kernel.

    Args:
        loop: the event loop.
        kernels: the gateway's kernels: ``get``, ``create``, ``all``, ``remove``.
        token: that requests must have; empty for none.
        on_end: called with this client when the connection has ended.
    """

    def __init__(self, loop, kernels, token, on_end):
        self._loop, self._kernels, self._token = loop, kernels, token
        self._forget = on_end
        self._stream = None
        self._kernel = self._link = None
        self._v1 = False
        # When the output became full, and what cancels the check of that.
        self._full_since = 0.0
        self._stalled = None
        self._late = None
        self._unanswered_ping = None
        # Bytes that are missing of the message that is being passed on to the client.
        self._missing = 0
        #: Whether a request had the token.
        self.known = False

    def begin(self, make_stream):
        """Serve the stream that ``make_stream(parser, on_end, on_full)`` returns."""
        self._stream = make_stream(self._serve(), self._ended, self._is_full)
        self._expect_request()

    def close(self, reason):
        """Close the connection at once."""
        self._stream.end(reason)

    def _expect_request(self):
        self._late = self._loop.call_later(
            _HEAD_SECONDS, lambda: self._stream.end("no request arrived in time")
        )

    def _ended(self, _reason):
        for cancel in (self._late, self._stalled):
            if cancel is not None:
                cancel()
        if self._kernel is not None:
            self._kernel.detach(self)
        self._forget(self)

    # -- HTTP --

    def _serve(self):
        while True:
            keeps = False
            try:
                request = Request((yield Line(b"\r\n\r\n", _HEAD_BYTES)))
                length = request.content_length()
                body = (yield length) if length else b""
                self._late()
                keeps = request.keeps
                self._check(request)
                if request.wants_websocket():
                    kernel = self._accept(request)
                    yield from self._messages(kernel, request)
                    return
                status, content = self._route(request, body)
            except Refused as error:
                status, content = error.status, {"message": str(error), "reason": None}
                keeps = keeps and status not in (400, 411, 413)
            self._answer(status, content, keeps)
            if not keeps:
                return
            self._expect_request()

    def _check(self, request):
        """Refuse requests without the token, and those that another site's page makes."""
        origin = request.header("origin")
        if origin and urlsplit(origin).netloc.lower() != request.header("host").lower():
            raise Refused(403, "the request comes from another site")
        given = request.query.get("token", "")
        kind, _, value = request.header("authorization").partition(" ")
        if kind.lower() in ("token", "bearer"):
            given = value.strip()
        if self._token and not hmac.compare_digest(given.encode(), self._token.encode()):
            raise Refused(401, "the token is missing or wrong")
        self.known = True

    def _route(self, request, body):
        path = [part for part in request.path.split("/") if part]
        method = request.method
        if path == ["api"]:
            return self._only("GET", method, lambda: {"version": "2.0.0", "gateway_version": "3"})
        if path == ["api", "kernelspecs"]:
            return self._only("GET", method, _specifications)
        if path == ["api", "kernels"]:
            if method == "POST":
                _check_name(body)
                return 201, model(self._kernels.create())
            return self._only("GET", method, lambda: [model(k) for k in self._kernels.all()])
        if path[:2] == ["api", "kernels"] and len(path) in (3, 4):
            kernel = self._kernels.get(path[2])
            if kernel is None:
                raise Refused(404, f"Kernel does not exist: {path[2]}")
            return self._route_kernel(kernel, path[3:], method)
        raise Refused(404, "there is nothing at this address")

    def _route_kernel(self, kernel, action, method):
        if not action and method == "DELETE":
            self._kernels.remove(kernel)
            return 204, None
        if not action:
            return self._only("GET", method, lambda: model(kernel))
        if action == ["interrupt"]:
            return self._only("POST", method, kernel.interrupt, 204)
        if action == ["restart"]:
            return self._only("POST", method, lambda: _restarted(kernel))
        if action == ["channels"]:
            raise Refused(426, "the channels are a WebSocket")
        raise Refused(404, "there is nothing at this address")

    def _only(self, allowed, method, function, status=200):
        if method != allowed:
            raise Refused(405, f"the method is not {allowed}")
        return status, function()

    def _answer(self, status, content, keeps):
        body = b"" if content is None else json.dumps(content).encode()
        lines = [
            f"HTTP/1.1 {status} {_REASONS[status]}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *([] if keeps else ["Connection: close"]),
        ]
        self._stream.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    # -- WebSocket --

    def _accept(self, request):
        """Answer the request for a WebSocket and return the kernel it is for."""
        path = [part for part in request.path.split("/") if part]
        kernel = None
        if path[:2] == ["api", "kernels"] and path[3:] == ["channels"]:
            kernel = self._kernels.get(path[2])
        if kernel is None:
            raise Refused(404, f"Kernel does not exist: {request.path}")
        key = request.header("sec-websocket-key")
        if request.method != "GET" or request.header("sec-websocket-version") != "13" or not key:
            raise Refused(400, "the request is not one for a WebSocket of version 13")
        protocols = request.header("sec-websocket-protocol").split(",")
        self._v1 = V1 in [protocol.strip() for protocol in protocols]
        accept = base64.b64encode(hashlib.sha1((key + _MAGIC).encode()).digest()).decode()
        lines = [
            "HTTP/1.1 101 Switching Protocols",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Accept: {accept}",
            *([f"Sec-WebSocket-Protocol: {V1}"] if self._v1 else []),
        ]
        self._stream.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        return kernel

    def _messages(self, kernel, request):
        self._kernel = kernel
        identity = request.query.get("session_id", "")[:200] or uuid.uuid4().hex
        # Two connections of one session are two clients to the kernel.
        self._link = kernel.attach(self, f"{identity}-{uuid.uuid4().hex[:8]}".encode())
        if self._stream.full:
            self._link.pause()
        kind, message = 0, bytearray()
        while True:
            final, opcode, length, mask = yield from self._next_head(len(message))
            alone = final and opcode == _BINARY and not kind
            if alone and self._v1 and mask == _NO_MASK and length >= PASSED_BYTES:
                yield from self._pass_to_kernel(length)
                continue
            payload = _unmasked((yield length) if length else b"", mask)
            if opcode & 8:
                if not self._control(opcode, payload):
                    return
                continue
            if bool(opcode) == bool(kind):
                raise StreamError("a fragment without its beginning or end")
            if opcode and final:
                self._take(opcode, payload)
                continue
            kind = kind or opcode
            message += payload
            if final:
                # A copy: the parts of the message are views of it.
                whole, opcode, kind, message = bytes(message), kind, 0, bytearray()
                self._take(opcode, whole)

    def _pass_to_kernel(self, length):
        """Pass a message of the v1 layout on, its long parts while they arrive."""
        table = yield 8
        size = table_bytes_of_v1(table, length)
        table += yield size - 8
        offsets = offsets_of_v1(table, length)
        name, *sizes = (b - a for a, b in itertools.pairwise(offsets))
        if (offsets[0], offsets[-1]) != (size, length) or not 0 < name < _LONGEST_NAME:
            # Bytes that belong to no part, or no channel's name.
            self._take(_BINARY, table + bytes((yield length - size)))
            return
        channel = _channel(_text((yield name)))
        connection = None if channel == "iopub" else self._link.open_connection(channel)
        if connection is None:
            parts = []
            for size in sizes:
                parts.append((yield size) if size else b"")
            self._send_to_kernel(channel, parts)
            return
        connection.send([DELIMITER, b""], more=True)
        for number, size in enumerate(sizes, 1):
            more = number < len(sizes)
            if size < PASSED_BYTES:
                connection.send([(yield size) if size else b""], more=more)
            else:
                connection.begin_part(size, more=more)
                yield Passage(size, connection.pass_on)

    def _next_head(self, size):
        first, second = yield 2
        final, opcode, length = first & 0x80, first & 0x0F, second & 0x7F
        if first & 0x70 or opcode not in (_CONTINUED, _TEXT, _BINARY, _CLOSE, _PING, _PONG):
            raise StreamError(f"a frame that begins with {first:#x}")
        if not second & 0x80:
            raise StreamError("a frame of a client without a mask")
        if opcode & 8 and (length > 125 or not final):
            raise StreamError("a control frame that is long or a fragment")
        if length == 126:
            (length,) = struct.unpack("!H", (yield 2))
        elif length == 127:
            (length,) = struct.unpack("!Q", (yield 8))
        if size + length > MAX_MESSAGE_BYTES:
            raise StreamError(f"a message of more than {MAX_MESSAGE_BYTES} bytes")
        return final, opcode, length, (yield 4)

    def _control(self, opcode, payload):
        """Answer a control frame; return whether the connection stays open."""
        if opcode == _PING:
            self._pong(payload)
        elif opcode == _CLOSE:
            self._send_frame(_CLOSE, [bytes(payload[:2])])
            return False
        return True

    def _pong(self, payload):
        # A client may send pings without reading: then one pong for the last of them is enough.
        if self._stream.full:
            self._unanswered_ping = payload
        else:
            self._send_frame(_PONG, [payload])

    def _take(self, opcode, payload):
        parse = parts_of_v1 if self._v1 else parts_of_json
        channel, parts = parse(memoryview(payload), opcode == _BINARY)
        self._send_to_kernel(channel, parts)

    def _send_to_kernel(self, channel, parts):
        if channel != "iopub":
            self._link.send(channel, [DELIMITER, b"", *parts])

    def _send_frame(self, opcode, buffers, soon=True, *, final=True):
        head = _frame_head(opcode, sum(map(len, buffers)), final)
        self._stream.write(head, *buffers, soon=soon)

    # -- called by the link to the kernel --

    def received(self, channel, parts):
        """Send a message of the kernel: header, parent header, metadata, content, buffers."""
        soon = channel != "iopub" or not _nobody_waits_for(parts)
        if self._v1:
            self._send_frame(_BINARY, v1_of_parts(channel, parts), soon)
            return
        found = json_of_parts(channel, parts)
        if found is not None:
            self._send_frame(*found, soon)

    def begin_message(self, channel, parts, size):
        """Begin to send a message of the kernel whose last part has not arrived.

        Its bytes are sent as fragments, between which pings are answered, and after which the
        message can be given up.

        Args:
            channel: of the message.
            parts: header, parent header and so on, without the last part.
            size: of the last part, in bytes.

        Returns:
            a function that sends bytes of the last part; ``None`` if the client's layout does not
            allow that.
        """
        if not self._v1:
            return None
        self._missing = size
        head = v1_head(channel, [*map(len, parts), size])
        self._send_frame(_BINARY, [head, *parts], final=False)
        return self._pass_on

    def _pass_on(self, data):
        self._missing -= len(data)
        head = _frame_head(_CONTINUED, len(data), final=not self._missing)
        self._stream.pass_on(head, data, more=self._missing > 0)

    def give_up(self):
        """End the message that was begun. It is shorter than its table says, and so is invalid."""
        self._send_frame(_CONTINUED, [])

    def status(self, state):
        """Tell the client the state of its kernel."""
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": "status",
            "username": "gateway",
            "session": "gateway",
            "date": _now(),
            "version": "5.3",
        }
        parts = [header, {}, {}, {"execution_state": state}]
        self.received("iopub", [json.dumps(part).encode() for part in parts])

    def lost(self, reason):
        """Close the connection, because its kernel answers no more."""
        if self._stream.closed:
            return
        self._send_frame(_CLOSE, [struct.pack("!H", 1011) + reason.encode()[:100]])
        self._stream.close_when_sent()

    def kernel_is_full(self, full):
        """Read from the client only while its kernel reads."""
        (self._stream.pause if full else self._stream.resume)("kernel")

    def _is_full(self, full):
        """Read from the kernel, or without one from the client, only while the client reads."""
        if not full:
            self._stream.resume("output")
        if self._link is None:
            if full:
                self._stream.pause("output")
            return
        # The client is read all the time: it may send a long message before it reads again.
        (self._link.pause if full else self._link.resume)()
        if full:
            self._full_since = time.monotonic()
            if self._stalled is None:
                self._stalled = self._loop.call_later(_STALLED_SECONDS, self._check_stalled)
        elif self._unanswered_ping is not None:
            payload, self._unanswered_ping = self._unanswered_ping, None
            self._send_frame(_PONG, [payload])

    def _check_stalled(self):
        self._stalled = None
        if not self._stream.full:
            return
        left = self._full_since + _STALLED_SECONDS - time.monotonic()
        if left <= 0 and self._kernel.connections > 1:
            note("a client that does not read was closed: it stopped the kernel for the others")
            self._stream.end("the client does not read")
            return
        seconds = left if left > 0 else _STALLED_SECONDS
        self._stalled = self._loop.call_later(seconds, self._check_stalled)


def model(kernel):
    """Return the description of a kernel that the gateway's addresses give."""
    return {
        "id": kernel.id,
        "name": SPECIFICATION,
        "last_activity": _now(),
        "execution_state": kernel.state,
        "connections": kernel.connections,
    }


def _now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")


def _specifications():
    version = f"Python {sys.version_info[0]}"
    spec = {"argv": [], "env": {}, "display_name": version, "language": "python"}
    entry = {"name": SPECIFICATION, "spec": spec, "resources": {}}
    return {"default": SPECIFICATION, "kernelspecs": {SPECIFICATION: entry}}


def _restarted(kernel):
    kernel.restart()
    return model(kernel)


def _check_name(body):
    """Refuse a request for a kernel of another specification."""
    text = bytes(body)  # long ones are views
    try:
        asked = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        raise Refused(400, "the content is not JSON") from None
    name = asked.get("name") if isinstance(asked, dict) else None
    if name not in (None, "", "python", SPECIFICATION):
        raise Refused(404, f"there is no kernel specification {str(name)[:100]!r}")


def _frame_head(opcode, length, final):
    first = opcode | (0x80 if final else 0)
    if length < 126:
        return struct.pack("!BB", first, length)
    if length < 65_536:
        return struct.pack("!BBH", first, 126, length)
    return struct.pack("!BBQ", first, 127, length)


def _unmasked(payload, mask):
    if mask == _NO_MASK or not payload:
        return payload
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    number = int.from_bytes(payload, "little") ^ int.from_bytes(key, "little")
    return number.to_bytes(size, "little")


def _nobody_waits_for(parts):
    """Tell whether a message may wait a moment, to be sent together with the next one."""
    header = parts[0]
    if len(header) > 4096:
        return False
    header = bytes(header)
    if b'"status"' in header:
        return len(parts[3]) < 100 and b'"busy"' in bytes(parts[3])
    return b'"execute_input"' in header


# -- layouts --


def _slices(size, offsets, start):
    edges = [start, *offsets, size]
    if any(a > b for a, b in itertools.pairwise(edges)):
        raise StreamError("the offsets of a message do not increase, or point outside of it")
    return offsets


def _text(name):
    return bytes(name).decode("utf-8", "replace")


def _channel(name):
    if name not in CHANNELS:
        raise StreamError(f"a message to the channel {name[:20]!r}")
    return name


def table_bytes_of_v1(start, size):
    """Return the length in bytes of the table that a message of ``size`` bytes begins with.

    Raises:
        StreamError: it violates the layout.
    """
    (count,) = struct.unpack_from("<Q", start)
    if not 6 <= count <= _MAX_PARTS or size < 8 * (count + 1):
        raise StreamError(f"a message with a table of {count} offsets")
    return 8 * (count + 1)


def offsets_of_v1(start, size):
    """Return where the parts of a message of ``size`` bytes begin, and where the last one ends.

    Raises:
        StreamError: it violates the layout.
    """
    end = table_bytes_of_v1(start, size)
    offsets = struct.unpack_from(f"<{end // 8 - 1}Q", start, 8)
    return _slices(size, offsets, end)


def parts_of_v1(payload, binary):
    """Return channel and parts of a client's message in the v1 layout.

    Raises:
        StreamError: it violates the layout.
    """
    if not binary or len(payload) < 8:
        raise StreamError("a message that is not of the layout v1")
    offsets = offsets_of_v1(payload, len(payload))
    pieces = [payload[a:b] for a, b in itertools.pairwise(offsets)]
    return _channel(_text(pieces[0])), pieces[1:]


def v1_head(channel, sizes):
    """Return what a message in the v1 layout has before its parts, which have these sizes."""
    name = channel.encode()
    position = 8 * (len(sizes) + 3)
    offsets = [position, position := position + len(name)]
    for size in sizes:
        offsets.append(position := position + size)
    return struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets) + name


def v1_of_parts(channel, parts):
    """Return the buffers of a message in the v1 layout."""
    return [v1_head(channel, [len(part) for part in parts]), *parts]


def parts_of_json(payload, binary):
    """Return channel and parts of a client's message in the default layout.

    Raises:
        StreamError: it violates the layout.
    """
    text, buffers = payload, []
    if binary:
        if len(payload) < 4:
            raise StreamError("a message that is shorter than its table")
        (count,) = struct.unpack_from("!I", payload)
        if not 1 <= count <= _MAX_PARTS or len(payload) < 4 * (count + 1):
            raise StreamError(f"a message with a table of {count} offsets")
        offsets = struct.unpack_from(f"!{count}I", payload, 4)
        offsets = _slices(len(payload), offsets, 4 * (count + 1))
        edges = [*offsets, len(payload)]
        text, *buffers = (payload[a:b] for a, b in itertools.pairwise(edges))
    try:
        message = json.loads(bytes(text))
        parts = [message.get(name) for name in ("header", "parent_header", "metadata", "content")]
        channel = str(message.get("channel") or "shell")
    except (ValueError, AttributeError, RecursionError):
        raise StreamError("a message that is not a JSON object") from None
    if not isinstance(parts[0], dict):
        raise StreamError("a message without a header")
    packed = [json.dumps(part or {}, ensure_ascii=False) for part in parts]
    return _channel(channel), [*(p.encode("utf-8", "surrogatepass") for p in packed), *buffers]


def json_of_parts(channel, parts):
    """Return opcode and buffers of a message in the default layout; ``None`` if it is not JSON."""
    try:
        values = [json.loads(bytes(part)) for part in parts[:4]]
        header = values[0]
        document = {
            "header": header,
            "msg_id": header["msg_id"],
            "msg_type": header["msg_type"],
            "parent_header": values[1],
            "metadata": values[2],
            "content": values[3],
            "buffers": [],
            "channel": channel,
        }
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    buffers = parts[4:]
    if not buffers:
        return _TEXT, [json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")]
    del document["buffers"]
    pieces = [json.dumps(document).encode(), *buffers]
    position = 4 * (len(pieces) + 1)
    offsets = []
    for piece in pieces:
        offsets.append(position)
        position += len(piece)
    if position >= 1 << 32:
        return None
    return _BINARY, [struct.pack(f"!{len(pieces) + 1}I", len(pieces), *offsets), *pieces]
