"""Main process of the sandbox image: Jupyter's kernel gateway, set up for one executor.

It is the packaged gateway with its own classes configured; what differs, and why:

* the kernel starts while the gateway is still coming up, and the first request for one gets it;
* small frames are sent at once (TCP_NODELAY): Nagle's algorithm and delayed acknowledgements would
  otherwise add 40 ms to every call;
* no limit on the rate of output: the executor has its own, with a marker where output was cut;
* a dead kernel is noticed in a fraction of a second, its exit status is logged, and it is replaced;
* opening a connection asks the kernel every 50 ms instead of every 500 ms whether it is there.

Settings come from the environment: KG_IP, KG_PORT, KG_AUTH_TOKEN (the gateway's own names).
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
# Every cell would be written into a database that nobody reads.
KERNEL_OPTIONS = ["--HistoryManager.enabled=False"]


def note(text):
    """One line for the container's log, which the executor quotes when something ended."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def oom_kills():
    """How often the kernel of the host killed something here for lack of memory, or None."""
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
    """Says how a kernel ended, before it is replaced."""

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
            # The executor reads this line; the number tells it from those of earlier kernels.
            note(f"kernel {Manager._ended} ended: exit code {code}" + ", out of memory" * oom)
        return alive

    is_alive = _async_is_alive


class Kernels(SeedingMappingKernelManager):
    """Starts one kernel ahead of the first request for it."""

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
    """Opens as soon as the kernel answers."""

    def connect(self):
        # Here and not when the connection is accepted: tornado switches Nagle's algorithm back on
        # after every response.
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
        # The packaged method also asks for the kernel's protocol version, for clients that speak
        # another; the executor speaks this one, and asking costs a whole kernel start.
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
    # time_to_dead is how often the restarter looks; ports stay, so that connections stay.
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
