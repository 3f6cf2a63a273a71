"""Process functions of the kernel: its streams, its signals, its exit.

Like ``agent``, this file is sent as text and does not import this package.
"""

# mypy: ignore-errors
# (Tests check it instead: it runs in a kernel whose packages are not installed here.)

import _signal
import codecs
import contextlib
import fcntl
import os
import select
import struct
import sys
import termios
import threading
import time

# Time for the last messages to be sent before os._exit ends the kernel.
_EXIT_SECONDS = 0.1
# Time limit for the thread that forwards output. It needs microseconds, but on a busy machine it
# may not get the processor for a second, and late output is lost to the call.
_FLUSH_SECONDS = 5


def exit_with_output_sent():
    """Make ``os._exit`` wait until printed text is sent.

    The messages are in a queue of ZeroMQ, whose thread ends with the process. ZeroMQ does not
    report when the queue is empty, hence a fixed time.
    """
    kernel_process, exit_at_once = os.getpid(), os._exit

    def exit_kernel(status):
        if os.getpid() == kernel_process:  # children do not have the queue
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            time.sleep(_EXIT_SECONDS)
        exit_at_once(status)

    os._exit = exit_kernel


def unbroken(function, *args, **kwargs):
    """Call ``function``, deferring an interrupt until it returns.

    An interrupted multi-part message leaves its socket between two parts: later messages would be
    read as the rest of it.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args, **kwargs)  # interrupts are raised in the main thread
    pending = []
    # Not of the module signal, which looks for a name of each number and function.
    before = _signal.signal(_signal.SIGINT, lambda *_: pending.append(True))
    try:
        return function(*args, **kwargs)
    finally:
        _signal.signal(_signal.SIGINT, before)
        if pending:
            raise KeyboardInterrupt


class OutputOfProcesses:
    """Reader of other processes' output to this one's stdout or stderr: a pipe and a thread.

    It replaces ipykernel's thread. That thread does not report whether it still has to forward
    something, and it splits multi-byte characters.
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
                    time.sleep(0.001)  # a lock is not fair, and a writer may write endlessly
            except OSError:
                return  # the program has closed the pipe
            if not events & select.POLLIN:
                return  # all writers have closed the pipe

    def pass_on(self):
        """Forward the current contents of the pipe, which are never large."""
        unread = struct.unpack("i", fcntl.ioctl(self.pipe, termios.FIONREAD, b"\0" * 4))[0]
        if unread:
            data = os.read(self.pipe, unread)
            self.stream.write(self.decoder.decode(data))
            os.write(self.original, data)

    def flush(self):
        """Wait until all written text has been forwarded, for five seconds at most."""
        self.asked += 1
        try:
            if self.lock.acquire(timeout=_FLUSH_SECONDS):
                try:
                    with contextlib.suppress(OSError):
                        self.pass_on()
                finally:
                    self.lock.release()
        finally:
            self.asked -= 1


def output_of_processes():
    """Replace ipykernel's reader threads, if it has any; return the new readers."""
    readers = []
    for stream in (sys.stdout, sys.stderr):
        thread = getattr(stream, "watch_fd_thread", None)
        if thread is None or not getattr(stream, "_should_watch", False):
            continue
        # As ipykernel does it: the thread reads once more and ends.
        stream._should_watch = False
        os.write(stream._original_stdstream_fd, b"\0")
        thread.join(5)
        if not thread.is_alive():
            readers.append(OutputOfProcesses(stream))
    return readers


def no_input(*_args, **_kwargs):
    raise EOFError(
        "input() is not available: the code runs in a sandbox without a terminal. "
        "Use a tool of the agent instead."
    )


def leave(code=None):
    raise SystemExit(code)
