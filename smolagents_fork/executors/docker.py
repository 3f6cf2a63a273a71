"""Python code in a container: a Jupyter kernel with limits, a deadline, and no network.

See ``docs/executors/docker.md`` for what each parameter protects.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from .. import codec
from ..bridge.describe import describe
from ..bridge.dispatch import Dispatcher
from ..containers import images
from ..containers.requirements import requirements_for
from ..containers.runtime import DockerProvisioner
from ..errors import ConfigurationError, ExecutorError
from ..jupyter.collector import Collector, without_colours
from ..jupyter.messages import InputRequest
from ..results import Display, Execution, ExecutorStats
from ..upstream_api import AgentError, CodeOutput, LogLevel, get_tools_definition_code
from .base import Executor
from .docker_options import OnDeath, Options, Transport
from .docker_session import KernelSession

__all__ = ["DockerExecutor"]

_SHOWN_LOG_CHARS = 4000


class _NoLogger:
    """Stands in where no logger was given: upstream's errors log themselves."""

    def log(self, *_args: Any, **_kwargs: Any) -> None: ...
    def log_error(self, *_args: Any, **_kwargs: Any) -> None: ...


class DockerExecutor(Executor):
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
        timeout_seconds: float | None = 60.0,
        startup_timeout_seconds: float = 60.0,
        interrupt_grace_seconds: float = 3.0,
        on_death: OnDeath = "restart",
        network: str = "none",
        transport: Transport = "auto",
        memory: int | str | None = "2g",
        cpus: float | None = 1.0,
        pids_limit: int | None = 256,
        read_only: bool = True,
        user: str = "1000:1000",
        runtime: str | None = None,
        environment: Mapping[str, str] | None = None,
        volumes: Any = None,
        workdir: str = "/workspace",
        workdir_size: int | str = "512m",
        tmp_size: int | str = "128m",
        lease_seconds: float = 5.0,
        max_output_bytes: int = 1_000_000,
        max_value_bytes: int = 256 * 1024 * 1024,
        max_tool_calls: int = 100_000,
        on_output: Callable[[str], None] | None = None,
        tool_placement: Mapping[str, str] | None = None,
        image: str | None = None,
        base_image: str | None = None,
        requirements: Sequence[str] = (),
        ca_bundle: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(additional_imports, logger or _NoLogger())
        self._pid = os.getpid()
        self._call_lock = threading.Lock()
        self._provisioner: DockerProvisioner | None = None
        self._session: KernelSession | None = None
        self.options = Options(
            timeout_seconds=timeout_seconds,
            startup_timeout_seconds=startup_timeout_seconds,
            interrupt_grace_seconds=interrupt_grace_seconds,
            on_death=on_death,
            network=network,
            transport=transport,
            host=host,
            port=port,
            memory=memory,
            cpus=cpus,
            pids_limit=pids_limit,
            read_only=read_only,
            user=user,
            runtime=runtime,
            environment=dict(environment or {}),
            volumes=volumes,
            workdir=workdir,
            workdir_size=workdir_size,
            tmp_size=tmp_size,
            lease_seconds=lease_seconds,
            max_output_bytes=max_output_bytes,
            max_value_bytes=max_value_bytes,
            max_tool_calls=max_tool_calls,
            on_output=on_output,
            tool_placement=dict(tool_placement or {}),
            allow_pickle=allow_pickle,
            container_run_kwargs=dict(container_run_kwargs or {}),
            image=image,
            image_name=image_name,
            build_new_image=build_new_image,
            dockerfile_content=dockerfile_content,
            base_image=base_image,
            requirements=tuple(requirements),
            ca_bundle=ca_bundle,
        )
        #: Rich displays of the last call.
        self.displays: tuple[Display, ...] = ()
        #: What upstream's agent shows of a failed step.
        self.state: dict[str, Any] = {"_print_outputs": ""}
        self.installed_packages: list[str] = []
        self._dispatcher = Dispatcher(
            max_value_bytes=max_value_bytes,
            max_calls=max_tool_calls,
            log=lambda line: self._log(line, LogLevel.DEBUG),
        )
        self._stubs: dict[str, dict[str, Any]] = {}
        self._sandbox_code: list[str] = []
        self._variables: dict[str, bytes] = {}
        self.start()

    # -- lifecycle --

    def _start(self) -> None:
        self._provisioner = DockerProvisioner()
        image = self._ensure_image()
        self._session = KernelSession(
            self.options,
            image,
            self._provisioner,
            note=lambda line: self._log(line, LogLevel.INFO),
        )
        self._session.prepare = self._prepare
        self._session.open()

    def _ensure_image(self) -> str:
        assert self._provisioner is not None
        options = self.options
        client = self._provisioner.client
        image = options.image
        name = options.image_name
        if image is None and name is not None and not options.build_new_image:
            if images.exists(client, name):
                image = name
        wanted = images.plan(
            base_image=options.base_image,
            dockerfile_content=options.dockerfile_content if image is None else None,
            image=image,
            requirements=requirements_for(self.additional_imports, options.requirements),
        )
        tag = images.ensure(
            client,
            wanted,
            report=lambda line: self._log(line, LogLevel.DEBUG),
            ca_bundle=options.ca_bundle,
        )
        if name is not None and image is None:
            repository, _, version = name.partition(":")
            client.api.tag(tag, repository, version or "latest")
        self.installed_packages = list(self.additional_imports)
        return tag

    def _cleanup(self) -> None:
        if os.getpid() != getattr(self, "_pid", None):
            return  # a forked child: the container is the parent's
        session, provisioner = self._session, self._provisioner
        if session is not None:
            session.close()
        if provisioner is not None:
            with contextlib.suppress(Exception):
                provisioner.close()

    @property
    def container(self) -> Any:
        """docker-py's object for the container, ``None`` when there is none (upstream's name)."""
        sandbox = self._session.sandbox if self._session is not None else None
        return sandbox.container if sandbox is not None else None

    # -- code --

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        """Run ``code`` and return its output, as upstream's type.

        Raises:
            AgentError: the code raised; the message has the traceback and what was printed before.
            SandboxTimeoutError, SandboxDiedError: see :meth:`run`.
        """
        execution = self.run(code)
        return CodeOutput(execution.output, execution.logs, execution.is_final_answer)

    def run(self, code: str) -> Execution:
        """Run ``code`` and return everything it gave.

        Raises:
            AgentError: the code raised.
            SandboxTimeoutError: it ran past ``timeout_seconds``.
            SandboxDiedError: kernel, container or engine ended.
            ExecutorClosedError: after ``cleanup()``.
        """
        with self._call_lock:
            self._check_open("call")
            return self._run(code)

    def _run(self, code: str) -> Execution:
        session = self._open_session()
        collector = Collector(
            max_output_bytes=self.options.max_output_bytes,
            max_value_bytes=self.options.max_value_bytes,
            on_output=self.options.on_output,
            answer=self._answer,
        )
        self._dispatcher.begin()
        self.displays = ()
        self.state["_print_outputs"] = ""
        try:
            request = session.run(code, collector, lambda: self._dispatcher.has_answer)
        except ExecutorError as error:
            raise self._with_output(error, collector) from error.__cause__
        finally:
            self.displays = tuple(collector.displays)
            self.state["_print_outputs"] = collector.logs()
        if self._dispatcher.has_answer:
            return Execution(
                self._dispatcher.answer, collector.logs(), True, self.displays, collector.cut_bytes
            )
        if request.error is not None:
            error_text = without_colours(request.error.traceback) or (
                f"{request.error.name}: {request.error.value}"
            )
            if session.was_interrupted:
                error_text = f"the code was interrupted by interrupt()\n{error_text}"
            raise AgentError(error_text + _shown(collector.logs()), self.logger)
        return Execution(
            collector.output(), collector.logs(), False, self.displays, collector.cut_bytes
        )

    def _with_output(self, error: ExecutorError, collector: Collector) -> ExecutorError:
        return type(error)(f"{error}{_shown(collector.logs())}")

    def _open_session(self) -> KernelSession:
        if self._session is None:
            raise ExecutorError("the executor has not been started")
        return self._session

    def _answer(self, question: InputRequest) -> tuple[str, Sequence[bytes]]:
        """Answer the kernel's question: a call of the bridge, or nothing we know."""
        start = question.prompt.find("{")
        try:
            header = json.loads(question.prompt[start:]) if start >= 0 else None
        except (ValueError, RecursionError):
            header = None
        if not isinstance(header, dict) or not question.buffers:
            return "", ()
        reply = self._dispatcher.handle(header, question.buffers[0])
        return json.dumps({**reply.header, "id": header.get("id")}), [reply.payload]

    # -- tools and variables --

    def send_tools(self, tools: Mapping[str, Any]) -> None:
        """Make tools and managed agents callable from the code.

        They stay on the host and are called from the sandbox, unless ``tool_placement`` says
        ``sandbox``: then their source is sent, as upstream does.
        """
        with self._call_lock:
            self._check_open("send_tools")
            self._send_tools(tools)

    def _send_tools(self, tools: Mapping[str, Any]) -> None:
        placement = self.options.tool_placement
        sent = {n: t for n, t in tools.items() if placement.get(n) == "sandbox"}
        kept = {n: t for n, t in tools.items() if n not in sent}
        if "final_answer" in sent:
            raise ConfigurationError("tool_placement['final_answer'] cannot be 'sandbox'")
        self._dispatcher.functions.update(kept)
        if "final_answer" in kept:
            self._dispatcher.final = "final_answer"
        self._stubs.update({name: describe(name, tool) for name, tool in kept.items()})
        session = self._open_session()
        self._define(session, [self._stubs[name] for name in kept])
        if sent:
            code = get_tools_definition_code(sent)
            self._sandbox_code.append(code)
            session.request(code, (), "defining tools in the sandbox")

    def _define(self, session: KernelSession, stubs: Sequence[dict[str, Any]]) -> None:
        if stubs:
            data = json.dumps(list(stubs)).encode()
            session.request("__smolagents_fork__.define()", [data], "send_tools")

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Set variables in the code's namespace.

        Raises:
            EncodeError: a value cannot travel; names the path to it.
        """
        if not variables:
            return
        with self._call_lock:
            self._check_open("send_variables")
            encoded = {
                name: codec.encode(
                    {name: value}, path="vars", max_bytes=self.options.max_value_bytes
                )
                for name, value in variables.items()
            }
            self._variables.update(encoded)
            self._set(self._open_session(), encoded)

    def _set(self, session: KernelSession, encoded: Mapping[str, bytes]) -> None:
        for data in encoded.values():
            session.request("__smolagents_fork__.receive()", [data], "send_variables")

    def _prepare(self, session: KernelSession) -> None:
        """Send a fresh kernel what the last one had from the host."""
        self._define(session, list(self._stubs.values()))
        for code in self._sandbox_code:
            session.request(code, (), "defining tools in the sandbox")
        self._set(session, self._variables)

    # -- control --

    def interrupt(self) -> None:
        """Stop the code that runs now; its state is kept. From any thread."""
        if self._session is not None and not self.closed:
            self._session.interrupt()

    def restart(self) -> None:
        """Go on with a new container; variables the code made and its files are gone."""
        with self._call_lock:
            self._check_open("restart")
            self._open_session().restart()

    def stats(self) -> ExecutorStats:
        """Memory, processor time and processes of the sandbox now."""
        self._check_open("stats")
        session = self._open_session()
        if session.sandbox is None:
            raise ExecutorError("there is no container now; the next call starts one")
        return session.sandbox.stats()


def _shown(logs: str) -> str:
    if not logs:
        return ""
    if len(logs) > _SHOWN_LOG_CHARS:
        logs = (
            f"... [{len(logs) - _SHOWN_LOG_CHARS} characters before]\n" + logs[-_SHOWN_LOG_CHARS:]
        )
    return f"\n\nOutput printed before the error:\n{logs}"
