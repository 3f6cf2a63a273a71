"""Python code in a container: a Jupyter kernel with limits, a deadline, and no network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ...distributions.requirements import missing_requirements
from ...errors import ExecutorError
from ...network.network_list import NetworkAccess
from ...network.secrets.secret import log_visible_keys
from ...options import accept
from ...options.option import part_of, taking
from ...results import ExecutorStats
from ...sandboxes.docker.container import DockerSandbox
from ...sandboxes.provisioner import (
    Provisioner,
    PublishesPort,
    Report,
    Sandbox,
)
from ...sandboxes.termination import exit_on_sigterm
from ...upstream import LogLevel
from ..jupyter.connection import KernelConnection
from ..jupyter.image_progress import shown_progress
from ..jupyter.kernel_executor import KernelExecutor
from ..jupyter.packages import Packages
from ..pools.sandbox_pool import create_async
from ..session.guest import Ask
from ..weak_methods import weakly
from .arguments import DockerArguments, SetupArguments
from .docker_pool import DockerPool
from .options import DockerOptions, chosen_engine, connection_to

if TYPE_CHECKING:
    from ...network.host_proxy import SandboxProxy

__all__ = ["DockerExecutor"]


class DockerExecutor(KernelExecutor):
    """Executor that runs an agent's code in a container of its own.

    Upstream's parameters keep their meaning; the rest are keyword-only.
    :class:`.arguments.DockerArguments` has all, with what each is for or protects.

    Args:
        *arguments: Upstream's nine: ``additional_imports``, ``logger``, ``allow_pickle``, ``host``,
            ``port``, ``image_name``, ``build_new_image``, ``container_run_kwargs``,
            ``dockerfile_content``.
        **keywords: Further options, and these nine by keyword.

    Raises:
        ConfigurationError: an argument that cannot work.
        EngineUnavailableError: the engine does not answer.
        ImageBuildError: the image could not be built.
        ExecutorStartError: the container or its kernel did not start; nothing of it is left.

    Example:
        >>> with DockerExecutor(memory="1g", timeout_seconds=30) as executor:
        ...     executor("6 * 7").output
        42
    """

    options: DockerOptions

    @taking(DockerArguments)
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        given = DockerArguments.of(type(self).__name__, arguments, keywords)
        imports = (*given.additional_imports, *given.additional_authorized_imports)
        pool = given.pool
        log_visible_keys(given.environment or {})
        options = (
            part_of(given, DockerOptions) if pool is None else pool.options_for(given, imports)
        )
        super().__init__(imports, given.logger, options)
        self._pool, self._tenant = pool, given.tenant
        self._control.log.tenant = given.tenant
        #: Where the container runs.
        self.engine = chosen_engine(given.engine, pool, given)
        self._network_list = hosts = part_of(given, NetworkAccess)
        self._proxy: SandboxProxy | None = None
        self._of_pool, self._own_loopback = pool is not None, not options.shares_host_network
        remedy = self.engine.network_remedy(options, "pool" if self._of_pool else "executor")
        self._network_remedy = hosts.network_advice or remedy
        # Of a list, the proxy says what is not in it.
        install_remedy = self._network_remedy if hosts.allowed_hosts is None else ""
        self._packages = Packages(options.packages(install_remedy))
        self._connection = given.ready
        self._provisioner: Provisioner | None = None
        self.start()

    # -- lifecycle --

    @classmethod
    @taking(SetupArguments)
    def setup(cls, *arguments: Any, **keywords: Any) -> str:
        """Build the image once, at application start; instant when the engine has it.

        With a cluster of Ray, every node prepares it, and the progress names those that cannot.

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
        return await create_async(cls, DockerPool, args, keywords)

    def _start(self) -> None:
        options = self.options
        if self._pool is not None:
            connection = self._connection or self._pool.acquire(tenant=self._tenant)
        else:
            provisioner = self.engine.connect(options.container, note=weakly(self._note))
            self._provisioner = provisioner
            try:
                with shown_progress(lambda line: self._log(line, LogLevel.INFO)) as report:
                    image = self._build_image(self.additional_imports, report)
            except BaseException:
                provisioner.close()
                raise
            self._proxy = proxy = self._proxy_of(self._network_list)
            connection = connection_to(provisioner, options, image, proxy)
        self.installed_packages = list(self.additional_imports)
        self._open_kernel(connection)

    def _build_image(self, imports: Sequence[str], report: Report) -> str:
        if self._provisioner is None:
            raise ExecutorError("the executor has not been started")
        return self._provisioner.prepare_image(self.options.image_spec(imports), report=report)

    def _prepare(self, ask: Ask) -> None:
        """Give a new kernel the packages and files of the last one."""
        self._packages.prepare(ask)
        self.options.given_files.send(self._files())

    def _cleanup(self) -> None:
        if self._proxy is not None:
            self._proxy.close()
        super()._cleanup()
        if self._pool is not None and self._connection is not None:
            self._pool.release(self._connection)

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
        sandbox = self._sandbox
        return sandbox.container if isinstance(sandbox, DockerSandbox) else None

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

    # -- code and packages --

    def install_packages(self, additional_imports: Sequence[str]) -> list[str]:
        """Install packages for the code.

        Before the first call they are built into a new image, and the container is replaced.
        Afterwards, and in a container of a pool, pip installs them into the container and the state
        is kept; that needs a network.

        Raises:
            ExecutorError: there is no network and the container must stay, or pip failed.
        """
        with self._turn("install_packages"), self._naming_refusals():
            self._install(list(accept.names("additional_imports", additional_imports)))
        return list(additional_imports)

    def _install(self, names: list[str]) -> None:
        missing = [name for name in names if missing_requirements([name], self.additional_imports)]
        if not missing:
            return
        must_stay = self._must_stay()
        if must_stay is None:
            with shown_progress(lambda line: self._log(line, LogLevel.INFO)) as report:
                image = self._build_image([*self.additional_imports, *missing], report)
            self._kernel_connection().use_image(image)
            self._open_session().drop()
        else:
            self._packages.add(self._open_session().request, missing, must_stay)
        self.additional_imports += missing
        self.installed_packages += missing

    def _must_stay(self) -> str | None:
        """Return the reason not to replace the container; ``None`` when it may be replaced."""
        if self._open_session().has_run:
            return "code has run in this sandbox, and a new one would not have its state"
        return "a pool decides the image of its sandboxes" if self._pool is not None else None

    # -- control --

    def stats(self) -> ExecutorStats:
        """Return memory, processor time and processes of the sandbox now."""
        return self._running_sandbox("stats").stats()

    def _running_sandbox(self, action: str) -> Sandbox:
        self._check_open(action)
        sandbox = self._sandbox
        if sandbox is None:
            raise ExecutorError(f"{action}: there is no container now; the next call starts one")
        return sandbox

    def _kernel_connection(self) -> KernelConnection:
        if self._connection is None:
            raise ExecutorError("the executor has not been started")
        return self._connection

    def _note(self, line: str) -> None:
        self._log(line, LogLevel.INFO)
