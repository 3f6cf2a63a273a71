"""Process functions of the kernel: its streams, its signals, its exit.

Like ``agent``, this file is sent as text and does not import this package.
"""

# mypy: ignore-errors
# (Tests check it instead: it runs in a kernel whose packages are not installed here.)

import _signal
import codecs
import contextlib
import fcntl
import functools
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


def interrupt_only_the_program(kernel, shell):
    """Let interrupts end the program's code and disturb nothing of the kernel's.

    ipykernel accepts SIGINT during a whole request. One that arrives while it reports how the code
    ended breaks the report off, or ends the kernel. Here, one that arrives outside the program's
    code has no effect; the host repeats it for as long as the code runs.
    """

    def ignore():
        # Not SIG_IGN: Python complains of a signal that arrived just before it was set.
        _signal.signal(_signal.SIGINT, _no_effect)

    kernel.pre_handler_hook = kernel.post_handler_hook = ignore
    ignore()
    # The innermost method that still reports an interrupt of the shell's own code as an error.
    shell._run_cell = interruptible(shell._run_cell)


def interruptible(function):
    """Wrap ``function``, which runs code of the program, to accept interrupts."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        return _handling(_signal.default_int_handler, function, args, kwargs)

    return run


def uninterruptible(function):
    """Wrap ``function``, which is called amid the program's code, to ignore interrupts."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        return _handling(_no_effect, function, args, kwargs)

    return run


def unbroken(function, *args, **kwargs):
    """Call ``function``, deferring an interrupt until it returns.

    An interrupted multi-part message leaves its socket between two parts: later messages would be
    read as the rest of it.
    """
    pending = []
    try:
        return _handling(lambda *_: pending.append(True), function, args, kwargs)
    finally:
        if pending:
            deferred_to = _signal.getsignal(_signal.SIGINT)
            if callable(deferred_to):
                deferred_to(_signal.SIGINT, None)


def _no_effect(*_):
    pass


def _handling(handler, function, args, kwargs):
    """Call ``function`` with a handler of interrupts of its own."""
    if threading.current_thread() is not threading.main_thread():
        return function(*args, **kwargs)  # signals are handled in the main thread
    # Not of the module signal, which looks for a name of each number and function.
    before = _signal.signal(_signal.SIGINT, handler)
    try:
        try:
            return function(*args, **kwargs)
        finally:
            _signal.signal(_signal.SIGINT, before)
    finally:  # again, for an interrupt between the function's end and the line above
        _signal.signal(_signal.SIGINT, before)


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
        #: Whether text is being forwarded.
        self.forwarding = False
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

    def unread(self):
        """Return the number of bytes in the pipe."""
        try:
            return struct.unpack("i", fcntl.ioctl(self.pipe, termios.FIONREAD, b"\0" * 4))[0]
        except OSError:
            return 0  # the program has closed the pipe

    def pass_on(self):
        """Forward the current contents of the pipe, which are never large."""
        unread = self.unread()
        if unread:
            self.forwarding = True
            try:
                data = os.read(self.pipe, unread)
                self.stream.write(self.decoder.decode(data))
                os.write(self.original, data)
            finally:
                self.forwarding = False

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
