"""Python code in a container: a Jupyter kernel with limits, a deadline, and no network."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...codec import Variables
from ...displays import DisplayLog
from ...distributions.requirements import missing_requirements
from ...errors import ExecutorError
from ...figures import FigureFolder
from ...hints import network_hint
from ...jupyter.collector import Collector
from ...results import Display, Execution, ExecutorStats
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.docker.container import DockerSandbox
from ...sandboxes.engine_protocol import Engine
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
from ..file_transfers import Files, FileStore, GivenFiles
from ..jupyter.connection import KernelConnection
from ..jupyter.error_text import CodeFailedError, failure_text
from ..jupyter.host_bindings import HostBindings
from ..jupyter.image_progress import shown_progress
from ..jupyter.packages import Packages
from ..jupyter.sandbox_files import SandboxFiles
from ..jupyter.session import Interrupted, KernelSession
from ..pools.pool_queue import check_tenant
from ..pools.sandbox_pool import check_pool
from ..validation import check_code, current_names, names_of
from ..weak_methods import weakly
from .docker_pool import DockerPool
from .engine_choice import chosen_engine
from .option_groups import DockerKeywordsWithUpstreams
from .options import Options, connection_to, option_names

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .option_groups import DockerKeywords

__all__ = ["DockerExecutor"]


# Parameters of the constructor that are not options.
_OWN = (
    "additional_authorized_imports",
    "additional_imports",
    "engine",
    "files",
    "logger",
    "pool",
    "tenant",
)


class DockerArguments(DockerKeywordsWithUpstreams, total=False):
    """Arguments of DockerExecutor's constructor by name, for :meth:`DockerExecutor.acreate`."""

    additional_authorized_imports: Sequence[str]
    additional_imports: Sequence[str]
    logger: Any
    pool: DockerPool | None
    tenant: str
    engine: Engine | None
    files: Files | None


class DockerExecutor(Executor):
    """Runs an agent's code in a container of its own.

    Upstream's parameters keep their meaning; the rest are keyword-only.
    ``docs/executors/docker.md`` says what each protects.

    Args:
        additional_imports: import names the code may use; their packages are installed when the
            image is built.
        logger: upstream's ``AgentLogger``; ``None``: Python's logger
            ``smolagents_fork``.
        allow_pickle: fall back to pickle for values that the codec refuses, with upstream's
            warning. The sandbox can then run code on the host.
        host: address a published port is bound to (only with a network).
        port: its number; ``None`` for a free one.
        image_name: another name for the image that is built; with ``build_new_image=False`` an
            existing image of that name is used.
        build_new_image: whether ``image_name`` is built even if it exists. The same content is
            never built twice.
        container_run_kwargs: docker-py's arguments, which override all others.
        dockerfile_content: a Dockerfile in place of the fork's; its image must start a Jupyter
            kernel gateway on port 8888.
        pool: take a ready container from this pool.
        tenant: whose quota of the pool the container counts for (``max_per_tenant``).
        engine: where the container runs, such as ``DockerEngine(host=...)``; ``None``: the pool's,
            or Docker's engine that the environment names.
        files: the code's paths to paths of this machine or bytes; written for each new kernel.
        **keywords: other options, in seconds, bytes and cores:
            ``timeout_seconds`` (60), ``startup_timeout_seconds`` (60), ``interrupt_grace_seconds``
            (3), ``on_death`` ("restart" or "fail"), ``network`` ("none"), ``transport`` ("auto"),
            ``memory`` ("2g"), ``cpus`` (1.0), ``pids_limit`` (256), ``read_only`` (True), ``user``
            ("1000:1000"), ``runtime``, ``environment``, ``volumes``, ``workdir``, ``workdir_size``
            ("512m"), ``tmp_size`` ("128m"), ``lease_seconds`` (15),
            ``max_print_outputs_length`` (50,000 characters), ``max_value_bytes`` (256 MiB),
            ``max_tool_calls`` (100,000), ``tool_timeout_seconds``,
            ``tools_in_calling_thread``, ``on_output``, ``figures_dir``, ``tool_placement``,
            ``additional_functions`` (of the host, called as tools are),
            ``image``, ``base_image``, ``requirements``, ``ca_bundle``,
            ``build_timeout_seconds`` (1800),
            ``disk_size`` ("2g"), ``allow_root`` (False), ``allow_shared_network`` (False).

    Raises:
        ConfigurationError: an argument that cannot work.
        EngineUnavailableError: the engine does not answer.
        ImageBuildError: the image could not be built.
        ExecutorStartError: the container or its kernel did not start; nothing of it is left.
    """

    supports_managed_agents: ClassVar[bool] = True

    def __init__(
        self,
        additional_imports: Sequence[str] = (),
        logger: Any = None,
        allow_pickle: bool = False,
        host: str = "127.0.0.1",
        port: int | None = None,
        image_name: str | None = None,
        build_new_image: bool = True,
        container_run_kwargs: Mapping[str, Any] | None = None,
        dockerfile_content: str | None = None,
        *,
        additional_authorized_imports: Sequence[str] = (),
        pool: DockerPool | None = None,
        tenant: str = "",
        engine: Engine | None = None,
        files: Files | None = None,
        _connection: KernelConnection | None = None,
        **keywords: Unpack[DockerKeywords],
    ) -> None:
        imports = names_of("additional_imports", additional_imports)
        imports += names_of("additional_authorized_imports", additional_authorized_imports)
        super().__init__(imports, logger)
        self._session: KernelSession | None = None
        self._pool = pool
        self._given_files = GivenFiles.of(files)
        # With the signature's defaults: an option that differs was given.
        upstreams: dict[str, tuple[Any, Any]] = {
            "allow_pickle": (allow_pickle, False),
            "host": (host, "127.0.0.1"),
            "port": (port, None),
            "image_name": (image_name, None),
            "build_new_image": (build_new_image, True),
            "container_run_kwargs": (container_run_kwargs, None),
            "dockerfile_content": (dockerfile_content, None),
        }
        values = {name: value for name, (value, _) in upstreams.items()}
        self.options = Options.of(type(self).__name__, _OWN, **values, **keywords)
        check_pool(pool, DockerPool)
        self._tenant = check_tenant(tenant)
        #: Where the container runs.
        self.engine = chosen_engine(engine, pool, self.options)
        if pool is not None:
            given = {name for name, (value, default) in upstreams.items() if value != default}
            given |= current_names(type(self).__name__, keywords, option_names()).keys()
            self.options = pool.options_for(self.options, self.additional_imports, given)
        #: Rich displays of the last call.
        self.displays: tuple[Display, ...] = ()
        #: Read by upstream's agent when a step has failed.
        self.state: dict[str, Any] = {"_print_outputs": ""}
        self.installed_packages: list[str] = []
        self._folder = FigureFolder(self.options.bridge.figures_dir)
        self._host = HostBindings(self.options.bridge, weakly(self._log_call))
        self._packages = Packages(self.options.packages(self._network_remedy))
        self._ran_code = False
        self._ready_connection = _connection
        self._provisioner: Provisioner | None = None
        self.start()

    # -- lifecycle --

    @classmethod
    def setup(
        cls,
        additional_imports: Sequence[str] = (),
        *,
        rebuild: bool = False,
        progress: Callable[[str], None] | None = None,
        engine: Engine | None = None,
        **keywords: Unpack[DockerKeywordsWithUpstreams],
    ) -> str:
        """Build the image once, at application start; instant when the engine has it.

        With a cluster of Ray, every node prepares it, and the progress names those that cannot.

        Args:
            additional_imports: as for the constructor.
            rebuild: build again, without the engine's cache.
            progress: takes one line at a time; ``None``: a display on a terminal, plain lines on
                standard error elsewhere.
            engine: as for the constructor.
            **keywords: the constructor's options of the image.

        Returns:
            the image's name.
        """
        options = Options.of("DockerExecutor.setup", ("engine", "progress", "rebuild"), **keywords)
        names = names_of("additional_imports", additional_imports)
        provisioner = chosen_engine(engine, None, options).connect(ContainerOptions())
        try:
            spec = options.image_spec(names)
            prepare = provisioner.prepare_image
            if isinstance(provisioner, NodesProvisioner):
                prepare = provisioner.prepare_on_all_nodes
            if progress is not None:
                return prepare(spec, report=progress, rebuild=rebuild)
            with shown_progress() as report:
                return prepare(spec, report=report, rebuild=rebuild)
        finally:
            provisioner.close()

    @classmethod
    async def acreate(cls, *args: Any, **keywords: Unpack[DockerArguments]) -> DockerExecutor:
        """Call the constructor without blocking the event loop.

        Waiting for a pool's container needs no thread. When the task is cancelled, the container
        that was started for it is removed.
        """
        pool, tenant = keywords.get("pool"), check_tenant(keywords.get("tenant", ""))
        check_pool(pool, DockerPool)
        # Here, because the constructor runs in another thread than the main one.
        exit_on_sigterm()
        return await created(
            lambda connection: cls(*args, _connection=connection, **keywords),
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
            connection = connection_to(provisioner, self.options, image)
            self._session = self._session_on(connection)
            connection.open(self.options.limits.startup_timeout_seconds)
        if self._given_files.entries:
            self._session.prepare()
        self.installed_packages = list(self.additional_imports)

    def _session_on(self, connection: KernelConnection) -> KernelSession:
        return KernelSession(connection, self.options.limits.session, weakly(self._prepare))

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
        return self.options.value(name)

    @property
    def _network_remedy(self) -> str:
        owner = "executor" if self._pool is None else "pool"
        return self.engine.network_remedy(self.options.container, owner)

    @property
    def _own_loopback(self) -> bool:
        return not self.options.container.shares_host_network

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
        return self.options.image.dockerfile_content

    @property
    def allow_pickle(self) -> bool:
        """Tell whether values that the codec refuses may be pickled."""
        return self.options.bridge.allow_pickle

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
        shown = DisplayLog(self.options.bridge.max_value_bytes, self._folder.save)
        collector = Collector(
            max_print_outputs_length=self.options.limits.print_length,
            max_value_bytes=self.options.bridge.max_value_bytes,
            shown=shown,
            on_output=self.options.bridge.on_output,
            answer=self._host.answer,
        )
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
                shown.add_value(collector.output())
            self.displays = tuple(shown.displays)
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
            raise CodeFailedError(text)
        logs = collector.logs()
        return Execution(
            calls.final_answer if final else collector.output(),
            # Code that catches the error and prints it has not ended with it.
            logs + network_hint(logs, self._network_remedy, own_loopback=self._own_loopback),
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
            self._install(list(names_of("additional_imports", additional_imports)))
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
