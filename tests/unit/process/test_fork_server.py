"""Events of a fork server in the worst order: those of one child must not end the others."""

from __future__ import annotations

from background import run_python

# In a separate process: a fork server handles signals, and forks.
SCRIPT = """
import atexit, os, signal, socket
from smolagents_fork.process.fork_server import EXIT, ForkServer, _Child

near, far = socket.socketpair()
server = ForkServer(far)

class Batches:
    # The selector, whose batches are given from a list, in the order the test has chosen.
    def __init__(self, selector):
        self.selector = selector
        self.batches = []

    def __getattr__(self, name):
        return getattr(self.selector, name)

    def select(self, timeout):
        keys = {key.fileobj: key for key in self.selector.get_map().values()}
        if not self.batches:
            server._is_over = True
            return []
        return [(keys[fileobj], 1) for fileobj in self.batches.pop(0)]

def child(wait):
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        if wait:
            signal.pause()
        os._exit(3)
    channel, _ = socket.socketpair()
    server._adopt(_Child(pid, theirs, channel, 8))
    return pid, ours, theirs

signal.alarm(60)  # whatever happens, nothing is left
ended, its_status, its_end = child(wait=False)
other, other_status, _ = child(wait=True)
atexit.register(os.kill, other, signal.SIGKILL)
os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
its_status.send(b"I")  # the host stops it just when it ends by itself
server._selector = Batches(server._selector)
server._selector.batches = [[server._wake, its_end], [server._wake]]
server.serve()
assert list(server._children) == [other], server._children
assert EXIT.unpack(its_status.recv(4)) == (3,)
print("served on")
"""


def test_stopping_a_child_that_just_ended():
    assert run_python(SCRIPT) == "served on\n"


# A host with some fifty children gives its fork server descriptors of any number.
MOVES = """
import os, socket
from smolagents_fork.process.fork_server import _arrange

files, pairs = {}, []
for number in (45, 43, 44, 90, 1001, 1003, 1000):
    pairs.append(socket.socketpair())
    os.dup2(pairs[-1][0].fileno(), number)
    files[number] = os.fstat(number).st_ino
os.dup2(1, 70)
ends = _arrange([1001, 43, 1003, 70], 45)
assert [end.fileno() for end in ends] == [1000, 1001, 1002], ends
assert [os.fstat(end.fileno()).st_ino for end in ends] == [files[1001], files[1003], files[45]]
assert sorted(map(int, os.listdir("/proc/self/fd"))) == [0, 1, 2, 3, 1000, 1001, 1002]
os.write(1, b"kept\\n")
os._exit(0)
"""


def test_descriptors_of_any_number_are_kept():
    assert run_python(MOVES) == "kept\n"


# The system has no process left: the answer says so, and the next request is answered.
REFUSALS = """
import errno, os, socket, threading
from smolagents_fork.process.fork_server import ANSWER, REQUEST, ForkServer

def fork():
    raise OSError(errno.EAGAIN, "no process")

os.fork = fork
host, control = socket.socketpair()
host.settimeout(60)
server = ForkServer(control)
answers = []

def ask():
    try:
        answers.append(host.recv(1))
        for count in (4, 4, 2, 4):  # of two, the kernel has dropped two
            number = os.open(os.devnull, os.O_RDONLY)
            near, far = socket.socketpair()
            sent = [number, far.fileno(), number, number][:count]
            before = len(os.listdir("/proc/self/fd"))
            socket.send_fds(host, [REQUEST.pack(8)], sent)
            answers.append(ANSWER.unpack(host.recv(4))[0])
            assert len(os.listdir("/proc/self/fd")) == before, "descriptors are left open"
    finally:
        host.close()

asking = threading.Thread(target=ask)
asking.start()
server.serve()
asking.join()
assert answers == [b"R", -errno.EAGAIN, -errno.EAGAIN, -errno.EMFILE, -errno.EAGAIN], answers
print("refused")
"""


def test_request_is_refused_when_no_process_is_left():
    assert run_python(REFUSALS) == "refused\n"
