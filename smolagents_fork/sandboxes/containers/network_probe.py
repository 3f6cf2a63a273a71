"""Probe from inside a sandbox of what its network reaches.

Not every network plugin of a cluster enforces its policies. So a program in the sandbox tries to
reach addresses before any of the user's code runs there: the cluster's API server and name servers,
the node, and the internet. An answer of any kind, a refusal too, means that packets leave it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ...deadline import Deadline
from ...errors import ExecutorError, ExecutorStartError, ProtocolError
from ...stream.timed_socket import ByteStream
from .attached_program import read_pieces
from .untrusted_json import read_json

__all__ = ["check_isolation"]

# Time a network plugin may take to apply a policy to a new sandbox.
_APPLY_SECONDS = 10.0
_PAUSE_SECONDS = 1.0
_RUN_SECONDS = 20.0
_MOST_OUTPUT, _MOST_SHOWN = 65_536, 200
# Run as: python3 -I -S -c PROBE seconds node... Prints the addresses that it reached, as JSON.
_PROBE = """
import errno,json,os,select,socket,sys,time
targets=[("the internet",a,p,0) for a,p in (("1.1.1.1",443),("8.8.8.8",53),("2606:4700:4700::1111",443))]
api=os.environ.get("KUBERNETES_SERVICE_HOST")
if api: targets.append(("the API server",api,int(os.environ.get("KUBERNETES_SERVICE_PORT","443")),0))
targets+=[("the node",node,10250,0) for node in sys.argv[2:]]
try:
    for line in open("/etc/resolv.conf"):
        words=line.split()
        if words[:1]==["nameserver"] and len(words)>1:
            targets+=[("the cluster's name server",words[1],53,udp) for udp in (0,1)]
except OSError: pass
query=b"\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x0akubernetes\\x07default\\x03svc\\0\\0\\x01\\0\\x01"
poll=select.poll()
waiting={}
reached=set()
def name(target): return "%s (%s port %d)"%target[:3]
for target in targets:
    s=socket.socket(socket.AF_INET6 if ":" in target[1] else socket.AF_INET,socket.SOCK_DGRAM if target[3] else socket.SOCK_STREAM)
    s.setblocking(False)
    error=s.connect_ex(target[1:3])
    if not error and target[3]:
        try: s.send(query); error=errno.EINPROGRESS
        except OSError as problem: error=problem.errno
    if error==errno.EINPROGRESS:
        waiting[s.fileno()]=s,target
        poll.register(s,select.POLLIN if target[3] else select.POLLOUT)
    elif error in (0,errno.ECONNREFUSED): reached.add(name(target))
end=time.monotonic()+float(sys.argv[1])
while waiting and time.monotonic()<end:
    for f,_ in poll.poll(max(0,end-time.monotonic())*1000):
        s,target=waiting.pop(f)
        poll.unregister(f)
        error=s.getsockopt(socket.SOL_SOCKET,socket.SO_ERROR)
        if error in (0,errno.ECONNREFUSED): reached.add(name(target))
print(json.dumps(sorted(reached)))
"""  # noqa: E501 - sent as it is
_WAIT_SECONDS = 1.5


def check_isolation(
    open_program: Callable[[list[str], float], ByteStream],
    nodes: Sequence[str],
    place: str,
    remedy: str,
) -> None:
    """Refuse a sandbox whose network reaches anything.

    Args:
        open_program: starts a program in the sandbox within some seconds; returns its stream.
        nodes: addresses of its node.
        place: the sandbox and where it runs, for messages.
        remedy: what the user can do, a sentence without its full stop.

    Raises:
        ExecutorStartError: it reaches something, and names what; or the probe failed.
        ProtocolError: the probe's answer is not a list of addresses.
    """
    end = time.monotonic() + _APPLY_SECONDS
    argv = ["python3", "-I", "-S", "-c", _PROBE, str(_WAIT_SECONDS), *nodes]
    while True:
        output = b""
        try:
            for piece in read_pieces(
                open_program(argv, _RUN_SECONDS), deadline=Deadline(_RUN_SECONDS)
            ):
                output += piece
                if len(output) > _MOST_OUTPUT:
                    raise ExecutorError(f"it wrote more than {_MOST_OUTPUT} bytes")
        except ExecutorError as error:
            text = str(error)[-500:]
            raise ExecutorStartError(
                f"{place}: the probe of its network failed, so no code is run in it: {text}"
            ) from None
        subject = "the addresses that it reaches"
        reached = read_json(output, subject)
        if type(reached) is not list or not all(type(address) is str for address in reached):
            raise ProtocolError(f"the sandbox sent {subject} as {output[:_MOST_SHOWN]!r}")
        if not reached:
            return
        if time.monotonic() > end:
            raise ExecutorStartError(
                f"{place} has a network, so no code is run in it: it reaches "
                f"{', '.join(reached)}. {remedy}"
            )
        time.sleep(_PAUSE_SECONDS)
