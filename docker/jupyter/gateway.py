"""Main process of the sandbox image: Jupyter's kernel gateway, configured for one executor.

It is the packaged gateway with its classes configured. These are the differences and reasons:

* The kernel starts while the gateway is still starting, and the first request gets it.
* Small frames are sent at once (TCP_NODELAY): Nagle's algorithm and delayed acknowledgements would
  otherwise add 40 ms to every call.
* The rate of output is not limited: the executor has a limit, with a marker where output was cut.
* A dead kernel is detected in a fraction of a second, its exit status is logged, and it is
  replaced.
* A new connection polls the kernel every 50 ms instead of every 500 ms.

Settings come from the environment: KG_IP, KG_PORT, KG_AUTH_TOKEN (names defined by the gateway).
"""

import asyncio
import sys

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from kernel_gateway.gatewayapp import KernelGatewayApp
from kernel_gateway.services.kernels.manager import (
    KernelGatewayIOLoopKernelManager,
    SeedingMappingKernelManager,
)
from tornado.httpserver import HTTPServer
from traitlets.config import Config

MAX_MESSAGE_BYTES = 1 << 30
# Every cell would be written to a database that is never read.
KERNEL_OPTIONS = ["--HistoryManager.enabled=False"]


def note(text):
    """Write one line to the container's log, which the executor quotes after a failure."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def oom_kills():
    """Return the number of out-of-memory kills in this container, or None if unknown."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        try:
            with open(path) as lines:
                for line in lines:
                    name, _, count = line.partition(" ")
                    if name == "oom_kill":
                        return int(count)
        except (OSError, ValueError):
            continue
    return None


class Manager(KernelGatewayIOLoopKernelManager):
    """Kernel manager that logs how a kernel ended, before it is replaced."""

    _seen_oom_kills = 0
    _ended = 0

    async def _async_launch_kernel(self, kernel_cmd, **kw):
        env = kw["env"]
        env.pop("KG_AUTH_TOKEN", None)
        self._told = False
        return await super()._async_launch_kernel([*kernel_cmd, *KERNEL_OPTIONS], **kw)

    async def _async_is_alive(self):
        alive = await super()._async_is_alive()
        if not alive and not getattr(self, "_told", True) and not self.shutting_down:
            self._told = True
            process = getattr(self.provisioner, "process", None)
            code = process.returncode if process is not None else None
            kills = oom_kills() or 0
            oom, Manager._seen_oom_kills = kills > Manager._seen_oom_kills, kills
            Manager._ended += 1
            # The executor reads this line; the number distinguishes it from earlier kernels.
            note(f"kernel {Manager._ended} ended: exit code {code}" + ", out of memory" * oom)
        return alive

    is_alive = _async_is_alive


class Kernels(SeedingMappingKernelManager):
    """Kernel manager that starts one kernel ahead of the first request."""

    _ahead = None

    def _kernel_manager_class_default(self):
        return f"{__name__}.Manager"

    def start_ahead(self):
        self._ahead = asyncio.ensure_future(super().start_kernel())

    async def start_kernel(self, *args, **kwargs):
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            return await ahead
        return await super().start_kernel(*args, **kwargs)


class Channels(ZMQChannelsWebsocketConnection):
    """Connection that opens as soon as the kernel answers."""

    def connect(self):
        # Not when the connection is accepted: tornado enables Nagle's algorithm again after every
        # response.
        self.websocket_handler.set_nodelay(True)
        return super().connect()

    def nudge(self):
        return asyncio.ensure_future(self._ask_until_heard())

    async def _ask_until_heard(self):
        heard = asyncio.Event()
        iopub = self.channels["iopub"]
        iopub.on_recv(lambda _: heard.set())
        asking = self.kernel_manager.connect_control()
        try:
            while not heard.is_set() and not iopub.closed():
                self.session.send(asking, "kernel_info_request")
                try:
                    await asyncio.wait_for(heard.wait(), 0.05)
                except (asyncio.TimeoutError, TimeoutError):
                    continue
        finally:
            asking.close()
            if not iopub.closed():
                iopub.stop_on_recv()

    async def prepare(self):
        # The packaged method also requests the kernel's protocol version, for clients with another
        # version. The executor uses the same version, and the request would delay the start.
        await self._register_session()
        self.session.key = self.kernel_manager.session.key


def main():
    config = Config()
    config.KernelGatewayApp.kernel_manager_class = Kernels
    config.KernelGatewayApp.kernel_websocket_connection_class = Channels
    config.KernelGatewayApp.port_retries = 0
    config.KernelGatewayApp.log_level = 30
    config.KernelGatewayApp.ws_ping_interval = 0
    config.ZMQChannelsWebsocketConnection.limit_rate = False
    # Between gateway and kernel: sockets in /tmp, which no other container can reach.
    config.KernelManager.transport = "ipc"
    # time_to_dead is the polling interval of the restarter. Ports stay the same, so that
    # connections stay open.
    config.KernelRestarter.time_to_dead = 0.2
    config.KernelRestarter.random_ports_until_alive = False
    config.KernelRestarter.stable_start_time = 1.0
    app = KernelGatewayApp(config=config)
    app.initialize([], new_httpserver=False)
    app.web_app.settings["websocket_max_message_size"] = MAX_MESSAGE_BYTES
    app.http_server = HTTPServer(app.web_app, max_buffer_size=MAX_MESSAGE_BYTES)
    app.http_server.listen(app.port, app.ip)
    app.io_loop.add_callback(app.kernel_manager.start_ahead)
    app.start()


if __name__ == "__main__":
    sys.modules.setdefault("gateway", sys.modules[__name__])
    main()
