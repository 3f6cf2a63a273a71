"""Relay in a sandbox, which joins an engine's stream to the kernel's port on the loopback.

So neither a published port nor a network is needed.
"""

from __future__ import annotations

__all__ = ["relay_command"]

# Runs in the sandbox as: python3 -I -S -c RELAY port seconds. It tries to connect for the given
# seconds (the kernel may still be starting), then copies in both directions until one side ends.
# Neither direction waits for the other: the host sends a large value without reading output.
# All bytes that the kernel sent before its end are passed on.
_RELAY = """
import os,select,socket,sys,time
end=time.monotonic()+float(sys.argv[2])
while 1:
    try: s=socket.create_connection(("127.0.0.1",int(sys.argv[1])));break
    except OSError:
        if time.monotonic()>end: sys.exit("relay: the kernel gateway does not listen on port "+sys.argv[1])
        time.sleep(.005)
s.setsockopt(socket.IPPROTO_TCP,socket.TCP_NODELAY,1)
g=s.fileno()
for f in 0,1,g: os.set_blocking(f,False)
copies=[(0,g,bytearray()),(g,1,bytearray())]
output=copies[1][2]
ended=False
while output or not ended:
    r=[f for f,_,data in copies if len(data)<65536 and not (ended and f==g)]
    r,w,_=select.select(r,[t for _,t,data in copies if data],[])
    for f,t,data in copies:
        if f in r:
            try: b=os.read(f,65536)
            except BlockingIOError: continue
            except OSError: b=b""
            if not b and f==0: sys.exit()
            ended=ended or not b
            data+=b
        if data and (f in r or t in w):
            try: del data[:os.write(t,data)]
            except BlockingIOError: pass
            except OSError:
                if t==1: sys.exit()
                data.clear()
"""  # noqa: E501 - sent as it is


def relay_command(port: int, seconds: float) -> list[str]:
    """Return the command of the relay.

    Args:
        seconds: that the kernel may take to listen.
    """
    return ["python3", "-I", "-S", "-c", _RELAY, str(port), str(seconds)]
