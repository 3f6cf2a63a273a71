"""Lease that ends a container whose host process or engine was killed, with any image.

The host process writes a byte to the container's standard input several times in each lease. The
container's first process reads them, and exits when none has come for the time of the lease. With
process 1 of a PID namespace the system ends all others (``pid_namespaces(7)``), and the engine
removes the container. A lost connection does not matter by itself: the input stays open, and the
host process attaches to it again. Nothing but time ends a container whose engine is dead, because
nobody closes its input then.

Where the connection cannot be written to (a named pipe, docker-py's own SSH, a terminal), the lease
begins when the engine closes the input, which it does when the connection ends.

It has to be process 1, because the code has the same user and could kill or stop any other. It also
does the work of an init process: reaps orphans, and passes signals on to the main process.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["FIRST_PROCESS", "leased", "main_command"]

# Run as: python3 -I -S -c FIRST_PROCESS LEASE COMMAND... Works with any Python 3 of an image.
# An exception ends it and the container: it fails safe.
FIRST_PROCESS = r"""
import os,select,signal,sys,time
lease=float(sys.argv[1])
try:
    # PR_SET_DUMPABLE: or the code, of the same user, could trace this process, or open the other
    # end of its standard input through /proc/1/fd.
    import ctypes
    ctypes.CDLL(None).prctl(4,0,0,0,0)
except Exception: pass
woken,wake=os.pipe()
for end in woken,wake: os.set_blocking(end,False)
signal.set_wakeup_fd(wake)
signal.signal(signal.SIGCHLD,lambda *_: None)
passed=[getattr(signal,"SIG"+name) for name in "TERM INT HUP QUIT USR1 USR2".split()]
# Signals that come before this process can pass them on wait, or they would be lost.
before=signal.pthread_sigmask(signal.SIG_BLOCK,passed)
main=os.fork()
if not main:
    try:
        signal.set_wakeup_fd(-1)
        for number in range(1,signal.NSIG):
            try: signal.signal(number,signal.SIG_DFL)
            except (OSError,ValueError): pass
        signal.pthread_sigmask(signal.SIG_SETMASK,before)
        os.dup2(os.open(os.devnull,os.O_RDWR),0)
        os.execvp(sys.argv[2],sys.argv[2:])
    except BaseException as error: sys.stderr.write("%s: %s\n"%(sys.argv[2:],error))
    finally: os._exit(127)
def passed_on(number,_):
    try: os.kill(main,number)
    except ProcessLookupError: pass
for number in passed: signal.signal(number,passed_on)
signal.pthread_sigmask(signal.SIG_SETMASK,before)
poll=select.poll()
for end in 0,woken: poll.register(end,select.POLLIN)
over=None
while 1:
    ready=dict(poll.poll(None if over is None else min(1e6,max(0,over-time.monotonic())*1000+1)))
    if woken in ready: os.read(woken,4096)
    while 1:
        ended,status=os.waitpid(-1,os.WNOHANG)
        if not ended: break
        if ended==main: os._exit(128+os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
    if 0 in ready:
        try: data=os.read(0,65536)
        except OSError: data=b""
        if not data:
            poll.unregister(0)
            if over is None: over=time.monotonic()+lease
        else: over=time.monotonic()+lease
    if over is not None and time.monotonic()>=over:
        # The code may have filled the pipe, which has no reader any more: do not block.
        os.set_blocking(2,False)
        try: os.write(2,b"the host process has not been heard of for %d s: the lease is over\n"%lease)
        finally: os._exit(137)
"""  # noqa: E501 - sent as it is


def main_command(config: Mapping[str, Any], extra: Mapping[str, Any]) -> list[str]:
    """Return the command that the container would run without a lease.

    Args:
        config: the image's ``Config``, as the engine's inspection gives it.
        extra: the user's arguments, whose ``entrypoint`` and ``command`` replace the image's. An
            entrypoint alone removes the image's command, as in the engine.
    """
    entrypoint = _arguments(extra.get("entrypoint"))
    command = _arguments(extra.get("command"))
    if entrypoint is None:
        entrypoint = _arguments(config.get("Entrypoint"))
        if command is None:
            command = _arguments(config.get("Cmd"))
    return [*(entrypoint or ()), *(command or ())]


def _arguments(value: str | Sequence[str] | None) -> list[str] | None:
    if value is None:
        return None
    return shlex.split(value) if isinstance(value, str) else list(value)


def leased(command: Sequence[str], seconds: float, *, renewed: bool) -> dict[str, Any]:
    """Return docker-py's arguments that run ``command`` under the lease.

    Args:
        command: the container's main process and its arguments.
        seconds: the lease; rounded up.
        renewed: whether the host process writes to the container's standard input.
    """
    return {
        "entrypoint": ["python3", "-I", "-S", "-c", FIRST_PROCESS, str(math.ceil(seconds))],
        "command": list(command),
        # Detached: docker-py leaves standard input open when its first connection ends. Otherwise
        # the end of that connection has to begin the lease.
        "stdin_open": True,
        "detach": renewed,
    }
