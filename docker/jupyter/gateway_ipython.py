"""IPython kernel in a process that has been forked from the gateway.

It is ipykernel's own application with its own kernel, shell and sockets. It leaves out what only a
person at a terminal or an editor uses: history, profile and configuration files, debugger,
heartbeat, subshells. Matplotlib is not touched until the program imports it.
"""

import ctypes
import logging
import os
import signal
import sys

import zmq
from ipykernel.control import ControlThread
from ipykernel.iostream import IOPubThread
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from IPython.core.profiledir import ProfileDir
from jupyter_client.session import Session
from traitlets.config import Config
from zmq.eventloop.zmqstream import ZMQStream

#: The kernel's sockets by channel: ipykernel appends the numbers to the path.
CHANNELS = {"shell": 1, "iopub": 2, "stdin": 3, "control": 4}

_PR_SET_PDEATHSIG = 1


class Profile(ProfileDir):
    """Profile that has a name and no folder."""

    def check_dirs(self):
        """Create nothing: /tmp may be full, and no file of it is ever read."""


class Kernel(IPythonKernel):
    """IPython's kernel, without the debugger, which would load a package that is not there."""

    use_experimental_completions = False

    def start(self):
        """Answer requests; IPython's own method starts the debugger's task."""
        self.shell.exit_now = False
        super(IPythonKernel, self).start()


class Publisher(IOPubThread):
    """ipykernel's thread of the iopub channel, which greets every subscriber."""

    def _really_send(self, *arguments, **keywords):
        super()._really_send(*arguments, **keywords)
        # To send is also to process what has arrived, and no other event tells of it (ZMQ_FD).
        socket = self.socket
        while not self.closed and socket.getsockopt(zmq.EVENTS) & zmq.POLLIN:
            self._handle_subscription(socket.recv_multipart(zmq.NOBLOCK))


class Application(IPKernelApp):
    """ipykernel's application, started without its command line and files."""

    kernel_class = Kernel

    def prepare(self, path):
        """Create the kernel and its sockets at ``path`` followed by a number."""
        self.transport, self.ip = "ipc", path
        for channel, number in CHANNELS.items():
            setattr(self, f"{channel}_port", number)
        # Without a signature: only this user can open the folder of the sockets.
        self.session = Session(parent=self, key=b"")
        self.profile_dir = Profile()
        self._ports = {}
        self.init_sockets()
        self.init_io()
        self.init_signal()
        self.init_kernel()
        self.init_path()
        self.init_shell()
        sys.stdout.flush()
        sys.stderr.flush()

    def init_control(self, context):
        """Create the control channel, without the debugger's sockets and the subshells' thread."""
        self.control_socket = context.socket(zmq.ROUTER)
        self.control_socket.linger = 1000
        self.control_port = self._bind_socket(self.control_socket, self.control_port)
        self.control_socket.router_handover = 1
        self.control_thread = ControlThread(daemon=True)
        self.shell_channel_thread = None

    def init_iopub(self, context):
        """Create the iopub channel, which waits for a client that does not read."""
        self.iopub_socket = context.socket(zmq.XPUB)
        self.iopub_socket.linger = 1000
        # By default messages to a slow client are dropped, the one that says "idle" too.
        self.iopub_socket.setsockopt(zmq.XPUB_NODROP, 1)
        # A long array is taken in fewer turns.
        self.iopub_socket.setsockopt(zmq.SNDBUF, 1 << 20)
        self.iopub_port = self._bind_socket(self.iopub_socket, self.iopub_port)
        self.configure_tornado_logger()
        self.iopub_thread = Publisher(self.iopub_socket, pipe=True, session=self.session)
        self.iopub_thread.start()
        self.iopub_socket = self.iopub_thread.background_socket

    def init_kernel(self):
        """Create the kernel, which reads the shell channel in the main thread."""
        control = ZMQStream(self.control_socket, self.control_thread.io_loop)
        self.control_thread.start()
        self.kernel = self.kernel_class.instance(
            parent=self,
            session=self.session,
            control_stream=control,
            shell_stream=ZMQStream(self.shell_socket),
            control_thread=self.control_thread,
            iopub_thread=self.iopub_thread,
            iopub_socket=self.iopub_socket,
            stdin_socket=self.stdin_socket,
            log=self.log,
            profile_dir=self.profile_dir,
            user_ns=self.user_ns,
        )
        self.displayhook.get_execution_count = lambda: self.kernel.execution_count


def leave_the_gateway():
    """Give this process its own session, input, signals and environment."""
    os.setsid()
    # The kernel ends with the gateway, whatever ends the gateway.
    gateway = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != gateway:
        os._exit(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    # If memory runs out, the kernel is replaced more easily than the gateway.
    try:
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("100")
    except OSError:
        pass


def run(path, ready):
    """Be a kernel until it ends.

    Args:
        path: of the sockets, without their numbers.
        ready: descriptor that gets a byte when the kernel answers.
    """
    leave_the_gateway()
    sys.argv[:] = ["ipykernel"]
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    config = Config()
    config.HistoryManager.enabled = False
    app = Application.instance(config=config, log_level=logging.ERROR)
    # The level belongs to the handler alone, and four records would be made for each call.
    app.log.setLevel(logging.ERROR)
    app.prepare(path)
    os.write(ready, b"1")
    os.close(ready)
    app.start()
