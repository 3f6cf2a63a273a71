"""Event loop of the gateway, and byte streams whose memory is limited in both directions.

A stream is read by a parser: a generator that yields the number of bytes it needs next, or a
:class:`Line`, and is sent these bytes. Long pieces are read straight into memory of their own, or
passed on while they arrive (:class:`Passage`), and what is written is never joined. A stream whose
output is not read stops its sources.
"""

import collections
import contextlib
import heapq
import itertools
import mmap
import os
import selectors
import socket
import time
import traceback

# Bytes of one read, and the size from which a piece is read into memory of its own.
READ_BYTES = 65_536
# Bytes of one read of a piece that is passed on.
PASSED_READ_BYTES = 1 << 18
# Unsent bytes above which the sources of a stream are paused, and below which they go on.
FULL_BYTES = 4 << 20
FREE_BYTES = 1 << 20
# Bytes that the system takes before a stream has to wait for its reader.
SEND_BYTES = 1 << 20
# Buffers of one call; the system's limit is 1024 (IOV_MAX).
MOST_BUFFERS = 512
# How long output may wait for more that is sent together with it.
GATHER_SECONDS = 0.002
# Reads of one stream in a turn of the loop; then the other streams have their turn.
MOST_READS = 16


class StreamError(Exception):
    """The peer violated its protocol; the stream is closed with this text as the reason."""


class Line:
    """Request of a parser for at most ``limit`` bytes up to ``end``, which is removed."""

    def __init__(self, end, limit):
        self.end = end
        self.limit = limit


class Passage:
    """Request of a parser for ``size`` bytes that are passed on while they arrive.

    Args:
        size: in bytes; the parser goes on when all of them have been passed on.
        take: called with each piece, in order: a view of memory that is used again.
    """

    def __init__(self, size, take):
        self.left = size
        self.take = take
        self.memory = memoryview(bytearray(min(size, PASSED_READ_BYTES)))


class Loop:
    """One thread's event loop: descriptors, timers, and streams with output to flush."""

    def __init__(self):
        self._selector = selectors.DefaultSelector()
        self._timers = []
        self._numbers = itertools.count()
        self._unflushed = []

    def watch(self, fd, events, callback):
        """Call ``callback(events)`` when ``fd`` is ready for ``events``; 0 ends that."""
        watched = self._selector.get_map().get(fd)
        if not events:
            if watched is not None:
                self._selector.unregister(fd)
        elif watched is None:
            self._selector.register(fd, events, callback)
        elif (watched.events, watched.data) != (events, callback):
            self._selector.modify(fd, events, callback)

    def call_later(self, seconds, function):
        """Call ``function`` in ``seconds``; return a function that cancels the call."""
        timer = [time.monotonic() + seconds, next(self._numbers), function]
        heapq.heappush(self._timers, timer)

        def cancel():
            timer[2] = None

        return cancel

    def flush_later(self, stream):
        """Write the output of ``stream`` at the end of this turn."""
        self._unflushed.append(stream)

    def run(self):
        """Run until an exception that is not an ``Exception`` ends it."""
        while True:
            self.turn()

    def turn(self):
        """Wait for a descriptor or a timer, and call what waits for it."""
        self._flush()
        self._call_due()
        seconds = 0 if self._unflushed else self._seconds_left()
        for key, events in self._selector.select(seconds):
            # An earlier callback may have ended this one.
            if self._selector.get_map().get(key.fd) is key:
                self._call(key.data, events)

    def _flush(self):
        while self._unflushed:
            streams, self._unflushed = self._unflushed, []
            for stream in streams:
                self._call(stream.flush)

    def _call_due(self):
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            function = heapq.heappop(self._timers)[2]
            if function is not None:
                self._call(function)

    def _call(self, function, *arguments):
        # One client's or kernel's trouble must not end the gateway, which serves others.
        try:
            function(*arguments)
        except Exception:
            traceback.print_exc()

    def _seconds_left(self):
        while self._timers and self._timers[0][2] is None:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def close(self):
        """Close the loop's own descriptor; those that it watches belong to others."""
        self._selector.close()


class Stream:
    """A connected socket, which it owns, as a stream of bytes.

    Args:
        loop: the event loop.
        sock: the socket.
        parser: generator that consumes the input.
        on_end: called once with the reason when the stream has ended for whatever cause.
        on_full: called with true when output waits that the peer does not read, else with false.
    """

    def __init__(self, loop, sock, parser, on_end, on_full):
        self._loop = loop
        self._sock, self._descriptor = sock, sock.fileno()
        self._parser = parser
        self._on_end, self._on_full = on_end, on_full
        self._input = bytearray()
        self._long = None
        self._long_read = 0
        self._output = collections.deque()
        self._queued = False
        self._paused = set()
        self._peer_ended = False
        self._blocked = False
        self.unsent = 0
        self.full = False
        self.closed = False
        self._closing = False
        # Fewer turns for long messages; the system allows less where its limit is lower.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        with contextlib.suppress(OSError):  # a socket that is not TCP
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        self._wanted = next(parser)
        self._watch()

    # -- input --

    def pause(self, reason):
        """Stop reading until :meth:`resume` is called with the same reason."""
        self._paused.add(reason)
        self._watch()

    def resume(self, reason):
        """Undo :meth:`pause`; input that has been read already is parsed later in this turn."""
        if reason in self._paused:
            self._paused.discard(reason)
            if not self._paused and not self.closed:
                self._watch()
                self._loop.call_later(0, self._parse)

    def read_now(self):
        """Read what a process that has ended has sent, also if this stream is paused."""
        # The system's buffers are small; a process that goes on writing is not waited for.
        self._peer_ended = True
        self._parse()
        for _ in range(MOST_READS):
            if self.closed or not self._read():
                return

    def _ready(self, events):
        if events & selectors.EVENT_READ and not self._paused:
            for _ in range(MOST_READS):
                if self.closed or self._paused or not self._read():
                    break
        if events & selectors.EVENT_WRITE and not self.closed:
            self.flush()

    def _read(self):
        """Read once and parse; return whether there may be more."""
        try:
            if self._passes() and not self._input:
                return self._pass_on_read()
            if self._long is None:
                data = os.read(self._descriptor, READ_BYTES)
                count = len(data)
            else:
                count = os.readv(self._descriptor, [self._long[self._long_read :]])
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            self.end(f"reading failed: {error.strerror}")
            return False
        if not count:
            self.end("the peer has closed the stream")
            return False
        if self._long is None:
            self._input += data
            self._parse()
            return count == READ_BYTES or self._long is not None or self._passes()
        self._long_read += count
        if self._long_read == len(self._long):
            piece, self._long = self._long, None
            self._feed(piece)
        return True

    def _passes(self):
        return isinstance(self._wanted, Passage)

    def _pass_on_read(self):
        memory = self._wanted.memory[: self._wanted.left]
        count = os.readv(self._descriptor, [memory])
        if not count:
            self.end("the peer has closed the stream")
            return False
        self._pass_on(memory[:count])
        return True

    def _pass_on(self, piece):
        passage = self._wanted
        passage.left -= len(piece)
        passage.take(piece)
        if not (passage.left or self.closed):
            self._feed(None)

    def _feed(self, piece):
        try:
            self._wanted = self._parser.send(piece)
        except StopIteration:
            self.close_when_sent()
        except StreamError as error:
            self.end(str(error))
        except Exception as error:
            traceback.print_exc()
            self.end(f"{type(error).__name__}: {error}")

    def _parse(self):
        position = 0
        while not (self.closed or self._closing or self._long is not None):
            if self._paused and not self._peer_ended:
                break
            size = len(self._input) - position
            if isinstance(self._wanted, Line):
                stop = self._input.find(self._wanted.end, position)
                if stop < 0:
                    if size > self._wanted.limit:
                        self.end(f"a line of more than {self._wanted.limit} bytes")
                    break
                piece = bytes(self._input[position:stop])
                position = stop + len(self._wanted.end)
            elif isinstance(self._wanted, Passage):
                piece = bytes(self._input[position : position + self._wanted.left])
                if not piece:
                    break
                position += len(piece)
                self._pass_on(piece)
                continue
            elif self._wanted <= size:
                piece = bytes(self._input[position : position + self._wanted])
                position += self._wanted
            elif self._wanted < READ_BYTES:
                break
            else:
                self._begin_long(position, size)
                position = len(self._input)
                break
            self._feed(piece)
        del self._input[:position]

    def _begin_long(self, position, size):
        # Memory of the system, which takes none before bytes have arrived: the peer may only claim
        # that it sends so many.
        try:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            self._long = memoryview(mmap.mmap(-1, self._wanted, flags))
        except (OSError, ValueError, OverflowError) as error:
            self.end(f"no memory for {self._wanted} bytes: {error}")
            return
        self._long[:size] = self._input[position:]
        self._long_read = size

    # -- output --

    def write(self, *buffers, soon=True):
        """Send buffers at the end of the loop's turn; with ``soon=False``, together with the next.

        The buffers must not change afterwards.
        """
        if self.closed or self._closing:
            return
        self._output.extend(buffer for buffer in buffers if len(buffer))
        self.unsent += sum(map(len, buffers))
        if soon:
            self._flush_later()
        else:
            self._loop.call_later(GATHER_SECONDS, self._flush_later)
        if self.unsent > FULL_BYTES:
            self._set_full(True)

    def pass_on(self, *buffers, more):
        """Send a piece of a message now, and later what the peer does not take.

        Args:
            buffers: of the piece. The last one may change afterwards.
            more: whether other pieces follow. They are not read while something of this one waits.
        """
        self.write(*buffers)
        self.flush()
        if self._output:
            self._output[-1] = bytes(self._output[-1])
            if more:
                self._set_full(True)

    def _set_full(self, full):
        if self.full != full:
            self.full = full
            self._on_full(full)

    def _flush_later(self):
        if not self._queued and not self._blocked:
            self._queued = True
            self._loop.flush_later(self)

    def flush(self):
        """Write as much of the output as the peer takes."""
        self._queued = False
        if self.closed:
            return
        self._blocked = False
        while self._output:
            some = list(itertools.islice(self._output, MOST_BUFFERS))
            try:
                count = os.writev(self._descriptor, some)
            except (BlockingIOError, InterruptedError):
                self._blocked = True
                break
            except OSError as error:
                self.end(f"writing failed: {error.strerror}")
                return
            self._remove(count)
        self._watch()
        if self.unsent < FREE_BYTES:
            self._set_full(False)
        if self._closing and not self._output:
            self.end("closed")

    def _remove(self, count):
        self.unsent -= count
        while count:
            first = self._output[0]
            if count < len(first):
                self._output[0] = memoryview(first)[count:]
                return
            count -= len(first)
            self._output.popleft()

    # -- ends --

    def close_when_sent(self, seconds=5.0):
        """Read nothing more, and close when the output has been sent or the time is over."""
        if not self._closing and not self.closed:
            self._closing = True
            self.pause("closing")
            self._loop.call_later(seconds, lambda: self.end("the peer does not read"))
            self._flush_later()

    def end(self, reason):
        """Close the stream now. Idempotent."""
        if self.closed:
            return
        self.closed = True
        self._watch()
        self._output.clear()
        self._input.clear()
        self._long = None
        self.unsent = 0
        with contextlib.suppress(OSError):
            self._sock.close()
        self._on_end(reason)

    def _watch(self):
        reading = 0 if self._paused or self.closed else selectors.EVENT_READ
        writing = selectors.EVENT_WRITE if self._blocked and not self.closed else 0
        self._loop.watch(self._descriptor, reading | writing, self._ready)
