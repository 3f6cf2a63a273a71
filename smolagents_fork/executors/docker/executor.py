"""Python code in a container: a Jupyter kernel with limits, a deadline, and no network."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...call_output import CallOutput
from ...codec import Variables
from ...distributions.requirements import missing_requirements
from ...errors import ExecutorError
from ...figures import FigureFolder
from ...hints import network_hint
from ...jupyter.collector import Collector
from ...network.network_list import NetworkList
from ...options import accept
from ...options.option import part_of, taking
from ...results import Display, Execution, ExecutorStats
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.docker.container import DockerSandbox
from ...sandboxes.provisioner import (
    NodesProvisioner,
    Provisioner,
    PublishesPort,
    Report,
    Sandbox,
)
from ...sandboxes.termination import exit_on_sigterm
from ...upstream import CodeOutput, LogLevel
from ..async_calls import created
from ..base import Executor
from ..file_transfers import FileStore
from ..jupyter.connection import KernelConnection
from ..jupyter.error_text import CodeFailedError, failure_text
from ..jupyter.host_bindings import HostBindings
from ..jupyter.image_progress import shown_progress
from ..jupyter.packages import Packages
from ..jupyter.sandbox_files import SandboxFiles
from ..jupyter.session import Interrupted, KernelSession
from ..pools.pool_queue import tenant_of
from ..pools.sandbox_pool import pool_of
from ..validation import check_code
from ..weak_methods import weakly
from .arguments import DockerArguments, SetupArguments
from .docker_pool import DockerPool
from .engine_choice import chosen_engine
from .options import DockerOptions, connection_to

if TYPE_CHECKING:
    from ...network.host_proxy import SandboxProxy

__all__ = ["DockerExecutor"]


class DockerExecutor(Executor):
    """Runs an agent's code in a container of its own.

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
    """

    supports_managed_agents: ClassVar[bool] = True

    @taking(DockerArguments)
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        given = DockerArguments.of(type(self).__name__, arguments, keywords)
        imports = (*given.additional_imports, *given.additional_authorized_imports)
        super().__init__(imports, given.logger)
        self._session: KernelSession | None = None
        self._pool, self._tenant = given.pool, given.tenant
        #: Where the container runs.
        self.engine = chosen_engine(given.engine, given.pool, given)
        self.options = part_of(given, DockerOptions)
        self._network_list = part_of(given, NetworkList)
        self._proxy: SandboxProxy | None = None
        if given.pool is not None:
            self.options = given.pool.options_for(given, self.additional_imports)
        self._given_files = self.options.given_files
        #: Rich displays of the last call.
        self.displays: tuple[Display, ...] = ()
        #: Read by upstream's agent when a step has failed.
        self.state: dict[str, Any] = {"_print_outputs": ""}
        self.installed_packages: list[str] = []
        self._folder = FigureFolder(self.options.figures_dir)
        self._host = HostBindings(self.options, weakly(self._log_call))
        self._packages = Packages(self.options.packages(self._network_remedy))
        self._ran_code = False
        self._ready_connection: KernelConnection | None = given.ready
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
        given = SetupArguments.of("DockerExecutor.setup", arguments, keywords)
        provisioner = chosen_engine(given.engine, None, given).connect(ContainerOptions())
        try:
            spec = given.image_spec(given.additional_imports)
            prepare = provisioner.prepare_image
            if isinstance(provisioner, NodesProvisioner):
                prepare = provisioner.prepare_on_all_nodes
            if given.progress is not None:
                return prepare(spec, report=given.progress, rebuild=given.rebuild)
            with shown_progress() as report:
                return prepare(spec, report=report, rebuild=given.rebuild)
        finally:
            provisioner.close()

    @classmethod
    @taking(DockerArguments)
    async def acreate(cls, *args: Any, **keywords: Any) -> DockerExecutor:
        """Call the constructor without blocking the event loop.

        Waiting for a pool's container needs no thread. When the task is cancelled, the container
        that was started for it is removed.
        """
        pool = pool_of(DockerPool)("pool", keywords.get("pool"))
        tenant = tenant_of("tenant", keywords.get("tenant", ""))
        # Here, because the constructor runs in another thread than the main one.
        exit_on_sigterm()
        return await created(
            lambda connection: cls(*args, ready=connection, **keywords),
            pool,
            tenant,
        )

    def _start(self) -> None:
        if self._pool is not None:
            connection = self._ready_connection or self._pool.acquire(tenant=self._tenant)
            self._session = self._session_on(connection)
        else:
            provisioner = self.engine.connect(self.options.container, note=weakly(self._note))
            self._provisioner = provisioner
            try:
                with shown_progress(lambda line: self._log(line, LogLevel.INFO)) as report:
                    image = self._build_image(self.additional_imports, report)
            except BaseException:
                provisioner.close()
                raise
            self._proxy = proxy = self._network_list.network_proxy(type(self).__name__)
            serve = None if proxy is None else proxy.serve
            self._access = None if proxy is None else proxy.record
            connection = connection_to(provisioner, self.options, image, serve)
            self._session = self._session_on(connection)
            connection.open(self.options.startup_timeout_seconds)
        if self._given_files.entries:
            self._session.prepare()
        self.installed_packages = list(self.additional_imports)

    def _session_on(self, connection: KernelConnection) -> KernelSession:
        return KernelSession(connection, self.options.session, weakly(self._prepare))

    def _build_image(self, imports: Sequence[str], report: Report) -> str:
        if self._provisioner is None:
            raise ExecutorError("the executor has not been started")
        return self._provisioner.prepare_image(self.options.image_spec(imports), report=report)

    def _prepare(self, session: KernelSession) -> None:
        """Give a new kernel the packages, files, tools and variables of the last one."""
        self._packages.prepare(session)
        if session.sandbox is not None:
            self._given_files.send(SandboxFiles(session.sandbox))
        self._host.prepare(session)

    def _cleanup(self) -> None:
        if self._proxy is not None:
            self._proxy.close()
        if self._session is None:
            return  # not started
        self._session.close()
        self._host.calls.close()
        if self._pool is not None:
            self._pool.release(self._session.connection)

    def delete(self) -> None:
        """Call ``cleanup()`` and wait until the engine has removed the container."""
        self.cleanup()
        session = getattr(self, "_session", None)  # the constructor may have failed earlier
        if session is not None:
            session.connection.wait_until_removed(15.0)

    def is_alive(self) -> bool:
        """Tell whether the next call works without starting a new container."""
        session = self._session
        if session is None or not super().is_alive():
            return False
        with self._calls.unless_taken() as mine:
            return session.is_alive() if mine else True  # another thread runs code

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

    def _option(self, name: str) -> Any:
        return getattr(self.options, name)

    @property
    def _network_remedy(self) -> str:
        owner = "executor" if self._pool is None else "pool"
        remedy = self.engine.network_remedy(self.options, owner)
        return self._network_list.network_advice or remedy

    @property
    def _own_loopback(self) -> bool:
        return not self.options.shares_host_network

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
        return None if self._session is None else self._session.connection.kernel_id

    @property
    def image_name(self) -> str | None:
        """Name of the container's image; ``None`` before it is known."""
        return None if self._session is None else self._session.connection.spec.image

    @property
    def dockerfile_content(self) -> str | None:
        """The Dockerfile that was given."""
        return self.options.dockerfile_content

    @property
    def allow_pickle(self) -> bool:
        """Tell whether values that the codec refuses may be pickled."""
        return self.options.allow_pickle

    @property
    def _sandbox(self) -> Sandbox | None:
        return self._session.sandbox if self._session is not None else None

    @property
    def _address(self) -> tuple[str, int] | None:
        sandbox = self._sandbox
        return sandbox.published_address() if isinstance(sandbox, PublishesPort) else None

    # -- code --

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        """Run ``code`` and return upstream's type; see :meth:`run`."""
        execution = self.run(code)
        return CodeOutput(execution.output, execution.logs, execution.is_final_answer)

    def run(self, code: str) -> Execution:
        """Run ``code`` and return all its results. Calls from several threads run one by one.

        Raises:
            AgentError: the code raised; the message has the traceback. What was printed before is
                ``state["_print_outputs"]``, which an agent's model is sent, too.
            SandboxTimeoutError: it ran past ``timeout_seconds``; says whether state survived.
            SandboxDiedError: kernel, sandbox or engine ended; names the cause.
            ExecutorClosedError: after ``cleanup()``.
        """
        check_code(code)
        with self._call_turn():
            return self._run(code)

    def _run(self, code: str) -> Execution:
        session = self._open_session()
        options = self.options
        output = CallOutput(
            options.print_length, options.max_value_bytes, options.on_output, self._folder.save
        )
        collector = Collector(output, self._host.answer)
        calls = self._host.calls
        calls.begin_run()
        self.displays, self.state["_print_outputs"] = (), ""
        try:
            self._ran_code = True
            request = session.run(
                code,
                collector,
                lambda: calls.has_final_answer or calls.limit is not None,
                calls.end_run,
            )
        except Interrupted:
            raise CodeFailedError(
                "the code was interrupted by interrupt() before it began"
            ) from None
        finally:
            if not calls.has_final_answer:
                output.shown.add_value(collector.output())
            self.displays = output.displays
            self.state["_print_outputs"] = collector.logs()
        final = calls.has_final_answer
        if calls.limit is not None:
            raise CodeFailedError(str(calls.limit))
        if request.error is not None and not final:
            text = failure_text(
                request.error,
                interrupted=session.was_interrupted,
                present=self.additional_imports,
                of_pool=self._pool is not None,
                network_remedy=self._network_remedy,
                own_loopback=self._own_loopback,
            )
            raise CodeFailedError(text + self._refusals())
        logs = collector.logs()
        return Execution(
            calls.final_answer if final else collector.output(),
            # Code that catches the error and prints it has not ended with it.
            logs
            + network_hint(logs, self._network_remedy, own_loopback=self._own_loopback)
            + self._refusals(),
            final,
            self.displays,
            collector.cut_length,
            session.last_seconds,
        )

    # -- tools and variables --

    def send_tools(self, tools: Mapping[str, Any]) -> None:
        """Make tools and managed agents callable from the code.

        They run on the host, unless their ``tool_placement`` is ``sandbox``: then their source is
        sent and their requirements installed, as upstream does.
        """
        with self._turn("send_tools"):
            session = self._open_session()
            needed = self._host.register(tools)
            self._install(needed)
            self._host.define(session, tools)

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Set variables in the code's namespace.

        Raises:
            EncodeError: a value cannot be encoded; names the path to it.
        """
        if not variables:
            return
        with self._turn("send_variables"):
            self._host.set_variables(self._open_session(), variables)

    def variables(self) -> Variables:
        """Return copies of the code's public variables; ``left_out`` names the others."""
        with self._turn("variables"):
            return self._host.variables(self._open_session())

    def install_packages(self, additional_imports: Sequence[str]) -> list[str]:
        """Install packages for the code.

        Before the first call they are built into a new image, and the container is replaced.
        Afterwards, and in a container of a pool, pip installs them into the container and the state
        is kept; that needs a network.

        Raises:
            ExecutorError: there is no network and the container must stay, or pip failed.
        """
        with self._turn("install_packages"):
            self._install(list(accept.names("additional_imports", additional_imports)))
        return list(additional_imports)

    def _install(self, names: list[str]) -> None:
        missing = [name for name in names if missing_requirements([name], self.additional_imports)]
        if not missing:
            return
        self._packages.add(
            self._open_session(),
            missing,
            present=self.additional_imports,
            must_stay=self._must_stay(),
            build=self._build_image,
            report=lambda line: self._log(line, LogLevel.INFO),
        )
        self.additional_imports += missing
        self.installed_packages += missing

    def _must_stay(self) -> str | None:
        """Return the reason not to replace the container; ``None`` when it may be replaced."""
        if self._ran_code:
            return "code has run in this sandbox, and a new one would not have its state"
        return "a pool decides the image of its sandboxes" if self._pool is not None else None

    # -- control --

    def _interrupt(self) -> None:
        if self._session is not None:
            self._session.interrupt(self._host.calls.give_up)

    def restart(self) -> None:
        """Replace the container; variables and files that the code made are lost."""
        with self._turn("restart"):
            self._open_session().restart()

    def stats(self) -> ExecutorStats:
        """Return memory, processor time and processes of the sandbox now."""
        return self._running_sandbox("stats").stats()

    @contextlib.contextmanager
    def _file_store(self, action: str) -> Iterator[FileStore]:
        self._check_open(action)
        session = self._open_session()
        if session.sandbox is None:
            # The last one has ended, or was replaced: a call would start another, too.
            with self._turn(action):
                session.prepare()
        yield SandboxFiles(self._running_sandbox(action))

    def _running_sandbox(self, action: str) -> Sandbox:
        self._check_open(action)
        sandbox = self._open_session().sandbox
        if sandbox is None:
            raise ExecutorError(f"{action}: there is no container now; the next call starts one")
        return sandbox

    def _open_session(self) -> KernelSession:
        if self._session is None:
            raise ExecutorError("the executor has not been started")
        return self._session

    def _note(self, line: str) -> None:
        self._log(line, LogLevel.INFO)
