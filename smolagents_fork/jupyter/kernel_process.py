"""The kernel as a process: its streams, its signals, its end.

Sent as text beside ``kernel_side``, and for the same reasons without an import of this package.
"""

# mypy: ignore-errors
# (It is checked by what it does: it runs in a kernel whose packages are not here.)

import contextlib
import os
import signal
import sys
import threading
import time

# Time for the last messages to leave before os._exit ends the kernel.
_EXIT_SECONDS = 0.1


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


def last_writes():
    """When other processes last wrote to this one's output, and what of it is still unread.

    They write into pipes that a thread of the kernel's reads; a pipe's time of change is that of
    its last write.
    """
    import fcntl
    import struct
    import termios

    try:
        unread = [
            struct.unpack("i", fcntl.ioctl(n, termios.FIONREAD, b"\0" * 4))[0] for n in (1, 2)
        ]
        return [os.fstat(1).st_mtime_ns, os.fstat(2).st_mtime_ns, *unread]
    except OSError:
        return None


def let_pipes_drain():
    """Wait until the kernel's threads have taken what other processes have written, at most 1 s."""
    for _ in range(200):
        time.sleep(0.005)
        last = last_writes()
        if last is None or not any(last[2:]):
            break


def no_input(*_args, **_kwargs):
    raise EOFError(
        "input() has nobody to ask: the code runs in a sandbox without a terminal. "
        "Use a tool of the agent instead."
    )


def leave(code=None):
    raise SystemExit(code)
