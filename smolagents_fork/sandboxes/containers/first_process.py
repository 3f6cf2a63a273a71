"""First process of a sandbox: ends it when the host process is silent for the time of a lease.

The host process writes lines to its standard input several times in each lease. When none has come
for the time of the lease, or the line ``end`` has come, it exits, and the system ends all other
processes of its PID namespace (``pid_namespaces(7)``). It also does the work of an init process:
reaps orphans, and passes signals on to the main process. The lease begins with the first line, or
with the end of the input.

It has to be process 1, because the code has the same user and could kill or stop any other. It
answers while C code in the main process holds the GIL: see
:mod:`smolagents_fork.system.first_process_link`. Its standard output is its own: the main process,
which leads a group of processes, has standard error for both. Where KG_CLIENT_SOCKET names a
socket, it connects the main process to it, as KG_CLIENT_FD. Where KG_PROXY_PORT names a port, it
listens there on loopback before, and the socket to the host process first carries the listener,
with one byte.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["FIRST_PROCESS", "first_command"]

# Run as: python3 -I -S -c FIRST_PROCESS LEASE COMMAND... Works with any Python 3 of an image.
# An exception ends it and the container: it fails safe.
# Without the module signal, whose enumerations take 0.7 MB for as long as the sandbox lives.
FIRST_PROCESS = r"""
import _signal as signal,os,select,sys,time
lease,_,first=sys.argv[1].partition(":")
lease=float(lease)
# PR_SET_DUMPABLE: or the code, of the same user, could trace this process, or open the other end of
# its standard input through /proc/1/fd.
import ctypes
if ctypes.CDLL(None).prctl(4,0,0,0,0): sys.exit("the lease cannot be protected from the code: prctl failed")
def tell(line):
    os.set_blocking(1,False)
    try: os.write(1,b"\x1e"+line.encode()+b"\n")
    except OSError: pass
def connect():
    path=os.environ.pop("KG_CLIENT_SOCKET","")
    if not path: return
    import _socket
    sock=_socket.socket(_socket.AF_UNIX,_socket.SOCK_STREAM)
    try: sock.connect(path)
    except OSError as error: return tell("unreachable %s"%error.strerror)
    port=os.environ.pop("KG_PROXY_PORT","")
    if port:
        listener=_socket.socket(_socket.AF_INET,_socket.SOCK_STREAM)
        listener.bind(("127.0.0.1",int(port)))
        listener.listen(64)
        number=listener.fileno().to_bytes(4,sys.byteorder)
        sock.sendmsg([b"L"],[(_socket.SOL_SOCKET,_socket.SCM_RIGHTS,number)])
        listener.close()
    os.set_inheritable(sock.fileno(),True)
    os.environ["KG_CLIENT_FD"]=str(sock.detach())
def killed_for_memory():
    for path in "/sys/fs/cgroup/memory.events","/sys/fs/cgroup/memory/memory.oom_control":
        try:
            with open(path) as lines: return any(line.startswith("oom_kill ") and int(line.split()[1]) for line in lines)
        except (OSError,ValueError): pass
    return False
def state():
    try:
        with open("/proc/%d/stat"%main) as line: return line.read().rpartition(")")[2].split()[0]
    except OSError: return "Z"
def text(*names):
    for name in names:
        try:
            with open("/sys/fs/cgroup/"+name) as file: return file.read()
        except OSError: pass
    return ""
def field(text,*names):
    for line in text.splitlines():
        words=line.split()
        if words[:1] and words[0] in names: return int(words[1])
    return 0
def usage():
    # Memory without cached files in bytes, processor time in microseconds, and processes.
    memory=int(text("memory.current","memory/memory.usage_in_bytes") or 0)
    memory-=field(text("memory.stat","memory/memory.stat"),"total_inactive_file","inactive_file")
    cpu=field(text("cpu.stat"),"usage_usec") or int(text("cpuacct/cpuacct.usage") or 0)//1000
    pids=text("pids.current","pids/pids.current").strip()
    pids=int(pids) if pids else sum(name.isdigit() for name in os.listdir("/proc"))
    return " %d %d %d"%(max(0,memory),cpu,pids)
def answer(command,number):
    if command=="interrupt":
        for send in os.killpg,os.kill:
            try: send(main,signal.SIGINT)
            except ProcessLookupError: continue
            break
    tell("answer %s %s%s"%(number,state(),usage() if command=="usage" else ""))
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
        connect()
        os.setsid()
        os.dup2(2,1)
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
over=time.monotonic()+float(first) if first else None
rest=b""
while 1:
    ready=dict(poll.poll(None if over is None else min(1e6,max(0,over-time.monotonic())*1000+1)))
    if woken in ready: os.read(woken,4096)
    while 1:
        ended,status=os.waitpid(-1,os.WNOHANG)
        if not ended: break
        if ended==main:
            code=-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            tell("end %d %d"%(code,killed_for_memory() and code==-9))
            os._exit(code if code>=0 else 128-code)
    if 0 in ready:
        try: data=os.read(0,65536)
        except OSError: data=b""
        if not data:
            poll.unregister(0)
            if over is None: over=time.monotonic()+lease
        else:
            over=time.monotonic()+lease
            *lines,rest=(rest[-100:]+data).split(b"\n")
            for line in lines:
                words=line.decode("latin-1").split()
                if words==["end"]: os._exit(0)
                if len(words)==2: answer(*words)
    if over is not None and time.monotonic()>=over:
        # The code may have filled the pipe, which has no reader any more: do not block.
        os.set_blocking(2,False)
        try: os.write(2,b"the host process has not been heard of for %d s: the lease is over\n"%lease)
        finally: os._exit(137)
"""  # noqa: E501 - sent as it is


def first_command(
    lease_seconds: float, command: Sequence[str] = (), *, first_seconds: float | None = None
) -> list[str]:
    """Return the command that runs ``command`` under the lease.

    Args:
        lease_seconds: rounded up.
        command: the main process and its arguments.
        first_seconds: time until the first byte, rounded up; ``None``: it may take for ever.
    """
    lease = str(math.ceil(lease_seconds))
    if first_seconds is not None:
        lease += f":{math.ceil(first_seconds)}"
    return ["python3", "-I", "-S", "-c", FIRST_PROCESS, lease, *command]
