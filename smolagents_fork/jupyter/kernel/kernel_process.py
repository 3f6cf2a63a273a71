"""The kernel as a process: its streams, its signals, its end.

Sent as text beside ``agent``, and for the same reasons without an import of this package.
"""

# mypy: ignore-errors
# (It is checked by what it does: it runs in a kernel whose packages are not here.)

import codecs
import contextlib
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import threading
import time

# Time for the last messages to leave before os._exit ends the kernel.
_EXIT_SECONDS = 0.1
# Time the thread that passes output on has for the piece it holds. It needs microseconds; on a
# busy machine it may not get the processor for a second, and what is late is lost to the call.
_DRAIN_SECONDS = 5


def exit_with_output_sent():
    """Let ``os._exit`` wait for what was printed: the messages stand in a queue of ZeroMQ's, whose
    thread dies with the process. Nothing tells when the queue is empty, hence a fixed time."""
    kernel_process, exit_at_once = os.getpid(), os._exit

    def exit_kernel(status):
        if os.getpid() == kernel_process:  # children have no such queue
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            time.sleep(_EXIT_SECONDS)
        exit_at_once(status)

    os._exit = exit_kernel


def unbroken(function, *args, **kwargs):
    """Call ``function``, with an interrupt put off until it is through.

    A message of several parts that is broken off leaves its socket between two of them: everything
    sent or received later would be taken for the rest.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args, **kwargs)  # interrupts are raised in the main thread
    pending = []
    before = signal.signal(signal.SIGINT, lambda *_: pending.append(True))
    try:
        return function(*args, **kwargs)
    finally:
        signal.signal(signal.SIGINT, before)
        if pending:
            raise KeyboardInterrupt


class OutputOfProcesses:
    """Output of other processes to this one's stdout or stderr, read from a pipe by a thread.

    ipykernel has such a thread of its own, but nothing tells whether it holds what it has read and
    has not passed on yet, and it tears characters apart. This one takes its place.
    """

    def __init__(self, stream):
        self.stream = stream
        self.pipe = stream._fid
        self.original = stream._original_stdstream_copy
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.lock = threading.Lock()
        self.asked = 0
        threading.Thread(target=self.watch, name="output of processes", daemon=True).start()

    def watch(self):
        ready = select.poll()
        ready.register(self.pipe, select.POLLIN)
        while True:
            [(_, events)] = ready.poll()
            try:
                with self.lock:
                    self.pass_on()
                if self.asked:
                    time.sleep(0.001)  # a lock is not fair, and a writer may write without end
            except OSError:
                return  # the program has closed it
            if not events & select.POLLIN:
                return  # nobody can write any more

    def pass_on(self):
        """Pass on what the pipe holds now, which is never much."""
        unread = struct.unpack("i", fcntl.ioctl(self.pipe, termios.FIONREAD, b"\0" * 4))[0]
        if unread:
            data = os.read(self.pipe, unread)
            self.stream.write(self.decoder.decode(data))
            os.write(self.original, data)

    def drain(self):
        """Return when all that has been written is passed on, or cannot be in five seconds."""
        self.asked += 1
        try:
            if self.lock.acquire(timeout=_DRAIN_SECONDS):
                try:
                    with contextlib.suppress(OSError):
                        self.pass_on()
                finally:
                    self.lock.release()
        finally:
            self.asked -= 1


def output_of_processes():
    """Take the place of ipykernel's threads, where it has them; gives what took it."""
    readers = []
    for stream in (sys.stdout, sys.stderr):
        thread = getattr(stream, "watch_fd_thread", None)
        if thread is None or not getattr(stream, "_should_watch", False):
            continue
        # As ipykernel ends it: it reads once more and sees that it is over.
        stream._should_watch = False
        os.write(stream._original_stdstream_fd, b"\0")
        thread.join(5)
        if not thread.is_alive():
            readers.append(OutputOfProcesses(stream))
    return readers


def no_input(*_args, **_kwargs):
    raise EOFError(
        "input() has nobody to ask: the code runs in a sandbox without a terminal. "
        "Use a tool of the agent instead."
    )


def leave(code=None):
    raise SystemExit(code)
