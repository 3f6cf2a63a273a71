"""Python code in a container: a Jupyter kernel with limits, a deadline, and no network."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from ...errors import ExecutorError
from ...network.network_list import NetworkAccess
from ...network.secrets.secret import log_visible_keys
from ...options.option import part_of, taking
from ...results import ExecutorStats
from ...sandboxes.provisioner import Provisioner, PublishesPort, Sandbox
from ...sandboxes.termination import exit_on_sigterm
from ...system.closing import close_on_error
from ..jupyter.connection import KernelConnection
from ..jupyter.kernel_executor import KernelExecutor
from ..pools.pooled_executor import PooledExecutor
from ..weak_methods import weakly
from .arguments import DockerArguments, SetupArguments
from .docker_pool import DockerPool
from .options import DockerOptions, chosen_engine, connection_to

__all__ = ["DockerExecutor"]


class DockerExecutor(PooledExecutor[KernelConnection], KernelExecutor):
    """Executor that runs an agent's code in a container of its own.

    Upstream's parameters keep their meaning; the rest are keyword-only.
    :class:`.arguments.DockerArguments` has all, with what each is for or protects.

    Args:
        *arguments: Upstream's nine: ``additional_imports``, ``logger``, ``allow_pickle``, ``host``,
            ``port``, ``image_name``, ``build_new_image``, ``container_run_kwargs``,
            ``dockerfile_content``.
        **keywords: Further options, and these nine by keyword.

    Raises:
        ConfigurationError: an argument is invalid.
        EngineUnavailableError: the engine does not answer.
        ImageBuildError: the image could not be built.
        ExecutorStartError: the container or its kernel did not start; nothing of it is left.

    Example:
        >>> with DockerExecutor(memory="1g", timeout_seconds=30) as executor:
        ...     executor("6 * 7").output
        42
    """

    options: DockerOptions
    pool_class: ClassVar[type[DockerPool]] = DockerPool

    @taking(DockerArguments)
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        options = DockerArguments.of(type(self).__name__, arguments, keywords)
        imports = (*options.additional_imports, *options.additional_authorized_imports)
        pool = options.pool
        log_visible_keys(options.environment or {})
        effective_options = (
            part_of(options, DockerOptions) if pool is None else pool.options_for(options, imports)
        )
        #: Where the container runs.
        self.engine = chosen_engine(options.engine, pool, options)
        owner = "executor" if pool is None else "pool"
        remedy = options.network_advice or self.engine.network_remedy(effective_options, owner)
        super().__init__(
            imports,
            options.logger,
            effective_options,
            # Of a list, the proxy says what is not in it.
            effective_options.packages(remedy if options.allowed_hosts is None else ""),
            of_pool=pool is not None,
            network_remedy=remedy,
            own_loopback=not effective_options.shares_host_network,
        )
        self._join(pool, options)
        self._hosts: NetworkAccess = options
        self._provisioner: Provisioner | None = None
        self.start()

    # -- lifecycle --

    @classmethod
    @taking(SetupArguments)
    def setup(cls, *arguments: Any, **keywords: Any) -> str:
        """Build the image once, at application start; a no-op when the engine has it.

        On a Ray cluster every node prepares it, and the progress names those that cannot.

        Args:
            *arguments: ``additional_imports``.
            **keywords: :class:`.arguments.SetupArguments`: as for the constructor, ``rebuild`` and
                ``progress``.

        Returns:
            the image's name.
        """
        return SetupArguments.of("DockerExecutor.setup", arguments, keywords).build_image()

    @classmethod
    @taking(DockerArguments)
    async def acreate(cls, *args: Any, **keywords: Any) -> DockerExecutor:
        """Call the constructor without blocking the event loop.

        Waiting for a pool's container needs no thread. When the task is cancelled, the container
        that was started for it is removed.
        """
        # Here, because the constructor runs in another thread than the main one.
        exit_on_sigterm()
        return await cls._create_async(args, keywords)

    def _start(self) -> None:
        self._open_kernel(self._take() or self._connect())

    def _connect(self) -> KernelConnection:
        """Return a connection that starts a container of the executor's own."""
        provisioner = self.engine.connect(self.options.container, note=weakly(self._log))
        with close_on_error(provisioner):
            image = self.options.prepare_image(provisioner, self.additional_imports, self._log)
            proxy = self._open_proxy(self._hosts)
        self._provisioner = provisioner
        return connection_to(provisioner, self.options, image, proxy)

    def delete(self) -> None:
        """Call ``cleanup()`` and wait until the engine has removed the container."""
        self.cleanup()
        connection = getattr(self, "_connection", None)  # the constructor may have failed earlier
        if connection is not None:
            connection.wait_until_removed(15.0)

    @property
    def container(self) -> Any:
        """docker-py's object for the container (upstream's name); ``None`` without one.

        ``Any``, because docker-py is imported only when it is used.
        """
        return getattr(self._sandbox, "container", None)

    @property
    def place(self) -> str:
        """Sandbox, node and tenant on a cluster; empty on one machine."""
        # Not isinstance(): for a protocol it takes as long as the rest of a call before its start.
        place: str = getattr(self._sandbox, "place", "")
        return place

    def _sandbox_name(self) -> str:
        sandbox = self._sandbox
        name = "" if sandbox is None else f"sandbox {sandbox.id} of {self.engine.name}"
        return self.place or name

    # -- upstream's attributes: None where there is no such thing --

    @property
    def client(self) -> Any:
        """docker-py's client, ``None`` when there is no container."""
        return getattr(self.container, "client", None)

    @property
    def host(self) -> str | None:
        """Host of the gateway's published port; ``None`` unless one is published."""
        return None if self._address is None else self._address[0]

    @property
    def port(self) -> int | None:
        """Published port of the gateway; ``None`` unless one is published."""
        return None if self._address is None else self._address[1]

    @property
    def base_url(self) -> str | None:
        """Address of the gateway; ``None`` unless its port is published."""
        address = self._address
        if address is None:
            return None
        host, port = address
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def ws_url(self) -> str | None:
        """Address of the kernel's channels, with the token; ``None`` unless a port is published."""
        base, sandbox, kernel = self.base_url, self._sandbox, self.kernel_id
        if base is None or sandbox is None or kernel is None:
            return None
        address = base.replace("http", "ws", 1)
        return f"{address}/api/kernels/{kernel}/channels?token={sandbox.gateway_token}"

    @property
    def kernel_id(self) -> str | None:
        """Id of the kernel at its gateway; ``None`` when there is none."""
        return None if self._connection is None else self._connection.kernel_id

    @property
    def image_name(self) -> str | None:
        """Name of the container's image; ``None`` before it is known."""
        return None if self._connection is None else self._connection.spec.image

    @property
    def dockerfile_content(self) -> str | None:
        """The Dockerfile that was given."""
        return self.options.dockerfile_content

    @property
    def _sandbox(self) -> Sandbox | None:
        # The connection knows no more of sandboxes than it needs; these are an engine's.
        return cast("Sandbox | None", self._connection and self._connection.sandbox)

    @property
    def _address(self) -> tuple[str, int] | None:
        sandbox = self._sandbox
        return sandbox.published_address() if isinstance(sandbox, PublishesPort) else None

    # -- packages --

    def _install_missing(self, names: list[str]) -> None:
        connection, session = self._connection, self._open_session()
        if session.has_run:
            must_stay = "code has run in this sandbox, and a new one would not have its state"
            self._packages.add(session.request, names, must_stay)
        elif self._provisioner is None or connection is None:
            must_stay = "a pool decides the image of its sandboxes"
            self._packages.add(session.request, names, must_stay)
        else:
            imports = [*self.additional_imports, *names]
            image = self.options.prepare_image(self._provisioner, imports, self._log)
            connection.use_image(image)
            session.drop()
        self.additional_imports += names

    # -- control --

    def stats(self) -> ExecutorStats:
        """Return memory, processor time and processes of the sandbox now."""
        return self._running_sandbox("stats").stats()

    def _running_sandbox(self, action: str) -> Sandbox:
        self._check_open(action)
        sandbox = self._sandbox
        if sandbox is None:
            raise ExecutorError(f"{action}: no container is running; the next call starts one")
        return sandbox
