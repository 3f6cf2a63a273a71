"""Relay in a pod between an exec and the kernel gateway, which survives the end of the exec.

The program that is executed connects to the gateway, leaves a process behind that has the
connection, and copies between its own input and output and that process. When the exec's stream is
lost, another exec finds the process by the stream's name, and continues.

Run as: ``python3 -I -S -c PROGRAM name port seconds keep``. ``seconds`` is the time the gateway may
take to listen; 0 continues a stream that exists. The process that was left ends when it has been
without an exec for ``keep`` seconds.
"""

from __future__ import annotations

import inspect

from . import resumable

__all__ = ["relay_command"]

_MAIN = """
import os,select,socket,sys,time
name,port,seconds,keep="\\0smolagents-fork-"+sys.argv[1],int(sys.argv[2]),float(sys.argv[3]),float(sys.argv[4])
def gateway():
    end=time.monotonic()+seconds
    while 1:
        try: return socket.create_connection(("127.0.0.1",port))
        except OSError:
            if time.monotonic()>end: sys.exit("relay: the kernel gateway does not listen on port %d"%port)
            time.sleep(.01)
def write(f,data):
    try: del data[:os.write(f,data[:262144])]
    except BlockingIOError: pass
def read(f):
    try: return os.read(f,262144)
    except BlockingIOError: return None
    except OSError: return b""
def left_behind(listener,s):
    g,end,client,since=s.fileno(),Endpoint(),None,time.monotonic()
    for f in g,listener.fileno(): os.set_blocking(f,False)
    closed=False
    while not end.ended:
        r=[listener]
        if end.room and not closed: r.append(g)
        if client and end.accepts: r.append(client)
        w=[g] if end.arrived and not closed else []
        if client and end.outgoing(): w.append(client)
        r,w,_=select.select(r,w,[],5)
        if listener in r:
            if client: client.close()
            client,_=listener.accept(); client.setblocking(False); end.connected(); r=[]; w=[]
        if not client and time.monotonic()-since>keep: return
        if g in r:
            data=read(g)
            if data: end.push(data)
            elif data is not None: closed=True; end.finish()
        try:
            if g in w: write(g,end.arrived)
        except OSError: closed=True; end.finish()
        if client:
            try:
                if client in r:
                    data=read(client.fileno())
                    if data: end.feed(data)
                    elif data is not None: raise OSError
                if client in w: write(client.fileno(),end.outgoing())
            except OSError: client.close(); client=None
            since=time.monotonic()
        if closed: end.arrived.clear()
def copy(s):
    u=s.fileno()
    for f in 0,1,u: os.set_blocking(f,False)
    copies=[(0,u,bytearray()),(u,1,bytearray())]
    ended=False
    while copies[1][2] or not ended:
        r=[f for f,_,data in copies if len(data)<262144 and not (ended and f==u)]
        r,w,_=select.select(r,[t for _,t,data in copies if data],[])
        for f,t,data in copies:
            if f in r:
                b=read(f)
                if b: data+=b
                elif b is not None:
                    if f==0: return
                    ended=True
            if data and (f in r or t in w):
                try: write(t,data)
                except OSError:
                    if t==1: return
                    data.clear()
if seconds:
    g=gateway(); g.setsockopt(socket.IPPROTO_TCP,socket.TCP_NODELAY,1)
    listener=socket.socket(socket.AF_UNIX); listener.bind(name); listener.listen(4)
    if not os.fork():
        try:
            os.setsid()
            null=os.open(os.devnull,os.O_RDWR)
            for f in 0,1,2: os.dup2(null,f)
            left_behind(listener,g)
        finally: os._exit(0)
    g.close(); listener.close()
# After the fork: the process that was left would keep this end open, too.
s=socket.socket(socket.AF_UNIX)
try: s.connect(name)
except OSError: sys.exit("relay: the stream has ended")
copy(s)
"""  # noqa: E501 - sent as it is


def relay_command(name: str, port: int, seconds: float, keep: float) -> list[str]:
    """Return the command of the relay.

    Args:
        name: Name of the stream, unguessable.
        port: Port of the gateway.
        seconds: Seconds that the gateway may take to listen; 0 continues an existing stream.
        keep: seconds that the stream may be without an exec.
    """
    program = inspect.getsource(resumable).replace(inspect.getdoc(resumable) or "", "") + _MAIN
    return ["python3", "-I", "-S", "-c", program, name, str(port), str(seconds), str(keep)]
