"""Whole agents in a container: agent, tools and the code it writes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ...agent_sandbox.model_service import ModelLimits, RunningCalls
from ...agent_sandbox.program_run import ConnectionLost, Ending, Job, carry_out
from ...agent_sandbox.saved_agent import ANSWER_FILE, job_files
from ...codec import decode
from ...deadline import Deadline, check_seconds
from ...errors import (
    AgentProgramError,
    ConfigurationError,
    ExecutorClosedError,
    ExecutorError,
    ExecutorStartError,
    SandboxDiedError,
)
from ...forks import Owner
from ...options import accept
from ...options.option import Options, about, option, same_as, taking
from ...options.words import ENGINES, VARIABLES
from ...representation import represent
from ...results import ExecutorStats
from ...sandboxes.docker.container import DockerSandbox
from ...sandboxes.docker.docker_engine import DockerEngine
from ...sandboxes.provisioner import ByteStream, Sandbox, SandboxStatus, signal_name
from ...sandboxes.resource_limits import Limits
from ..async_calls import AsyncCalls
from ..call_lock import CallLock
from ..file_transfers import FileMethods, Files, FileStore
from ..jupyter.image_progress import shown_progress
from ..jupyter.sandbox_files import SandboxFiles
from ..validation import check_code
from ..weak_methods import weakly
from .agent_image import agent_image_plan
from .options import DockerOptions

__all__ = ["AgentSandbox"]

# Characters of the output that an error's message has.
_SHOWN_CHARACTERS = 4_000
# How long the engine may take to hear of the end of a container after its streams have ended.
_END_SECONDS = 3.0
_SIGKILL = int(signal.SIGKILL)
_RUN_PROGRAM = ("-m", "smolagents_fork.agent_sandbox.program_main", "{run}/program.py")
_RUN_AGENT = ("-m", "smolagents_fork.agent_sandbox.saved_agent", "{run}")


def _secrets(name: str, value: Any) -> dict[str, str]:
    """Refuse what is not a variable; no message has a value."""
    found = accept.mapping(name, value)
    for key, secret in found.items():
        if not isinstance(key, str) or not key or "=" in key or "\0" in key:
            raise ConfigurationError(f"{name}: {key!r} is not a name of a variable")
        if not isinstance(secret, str) or "\0" in secret:
            raise ConfigurationError(f"{name}[{key!r}]: give text without NUL bytes")
    return found


def _model(name: str, value: Any) -> Any:
    if value is not None and not hasattr(value, "generate"):
        raise ConfigurationError(f"{name}={value!r}: give a model, which has generate()")
    return value


def _engine(name: str, value: Any) -> DockerEngine | None:
    if value is not None and not isinstance(value, DockerEngine):
        raise ConfigurationError(
            f"{name}={value!r}: AgentSandbox runs on Docker's engine; give a DockerEngine"
        )
    return value


@dataclass(frozen=True, kw_only=True)
class AgentArguments(Options):
    """Arguments of AgentSandbox's constructor."""

    secrets: Mapping[str, str] | None = option(
        None,
        "environment variables of the programs. They are not part of the container's "
        "configuration; a program can read them and, given a network, send them anywhere",
        _secrets,
        form="names to text",
        elsewhere=VARIABLES,
    )
    model_on_host: Any = option(
        None,
        "a model whose `generate` and `generate_stream` the agents call over the bridge. Its keys "
        "stay outside, so that no network is needed",
        _model,
        form="a model",
    )
    model_arguments: Sequence[str] = option(
        (),
        "further arguments of those calls that a program may choose, such as `temperature`",
        accept.names,
        form="names",
    )
    max_model_calls: int = option(
        1000, "calls of `model_on_host` that one program may make", accept.count, form="calls"
    )
    max_model_bytes: int = option(
        64 * 1024 * 1024,
        "of the messages of one such call, and of all that run at once",
        accept.count,
        form="bytes",
    )
    timeout_seconds: float | None = same_as(
        DockerOptions,
        "timeout_seconds",
        default=600.0,
        says="time a program may run; it is then killed",
    )
    on_output: Callable[[str], None] | None = same_as(DockerOptions, "on_output")
    files: Files | None = same_as(DockerOptions, "files")
    engine: DockerEngine | None = option(
        None,
        "where the container runs; `None`: the engine that the environment names",
        _engine,
        form="a `DockerEngine`",
        elsewhere=ENGINES,
    )
    network: str = same_as(DockerOptions, "network")
    memory: int | str | None = same_as(DockerOptions, "memory")
    cpus: float | None = same_as(DockerOptions, "cpus")
    pids_limit: int | None = same_as(DockerOptions, "pids_limit")
    disk_size: int | str | None = same_as(DockerOptions, "disk_size")
    workdir_size: int | str = same_as(DockerOptions, "workdir_size")
    tmp_size: int | str = same_as(DockerOptions, "tmp_size")
    read_only: bool = same_as(DockerOptions, "read_only")
    user: str = same_as(DockerOptions, "user")
    allow_root: bool = same_as(DockerOptions, "allow_root")
    allow_shared_network: bool = same_as(DockerOptions, "allow_shared_network")
    runtime: str | None = same_as(DockerOptions, "runtime")
    volumes: Any = same_as(DockerOptions, "volumes")
    workdir: str = same_as(DockerOptions, "workdir")
    lease_seconds: float = same_as(DockerOptions, "lease_seconds")
    startup_timeout_seconds: float = same_as(DockerOptions, "startup_timeout_seconds")
    image: str | None = same_as(DockerOptions, "image")
    base_image: str | None = same_as(DockerOptions, "base_image")
    ca_bundle: str | os.PathLike[str] | None = same_as(DockerOptions, "ca_bundle")
    build_timeout_seconds: float = same_as(DockerOptions, "build_timeout_seconds")
    container_run_kwargs: Mapping[str, Any] | None = same_as(DockerOptions, "container_run_kwargs")
    max_print_outputs_length: int | None = same_as(DockerOptions, "max_print_outputs_length")
    requirements: Sequence[str] = same_as(DockerOptions, "requirements")

    @property
    def docker_options(self) -> DockerOptions:
        """Options of image, container and limits."""
        shared = about(DockerOptions).keys() & about(AgentArguments).keys()
        return DockerOptions(**{name: getattr(self, name) for name in shared})

    @classmethod
    def completed(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Return what was given, and sizes that fit it."""
        return Limits.completed(given)


class AgentSandbox(FileMethods):
    """Runs agent programs and saved agents in a container of their own.

    The container has no root user, no capabilities, no network and no way to new privileges unless
    an argument says otherwise. Programs take turns in it: files stay, processes end with their
    program.

    :class:`AgentArguments` has the arguments, with what each is for.

    Args:
        **keywords: the arguments.

    Raises:
        ConfigurationError: an argument that cannot work.
        EngineUnavailableError: no container engine answers.
        ImageBuildError: the image could not be built.
        ExecutorStartError: the container did not come up; nothing is left behind.
    """

    @taking(AgentArguments)
    def __init__(self, **keywords: Any) -> None:
        given = AgentArguments.of("AgentSandbox", (), keywords)
        self._secrets = dict(given.secrets or {})
        self._model = given.model_on_host
        self._model_arguments = frozenset(given.model_arguments)
        self._model_limits = ModelLimits(given.max_model_calls, given.max_model_bytes)
        self._model_calls = RunningCalls()
        self._on_output = given.on_output
        #: The options of image, container and limits.
        self.options = given.docker_options
        self._given_files = self.options.given_files
        engine = given.engine or DockerEngine()
        self._owner = Owner()
        self._turns = CallLock(weakly(self._check_open))
        self._async_calls = AsyncCalls(self._turns, weakly(self.interrupt))
        self._interrupted = threading.Event()
        self._closed = False
        self._death: str | None = None
        self._sandbox: Sandbox | None = None
        container = dataclasses.replace(self.options.container, transport="exec")
        self._provisioner = engine.connect(container)
        try:
            self._start()
        except BaseException:
            self.cleanup()
            raise

    # -- lifecycle --

    def _start(self) -> None:
        options = self.options
        plan = agent_image_plan(
            image=options.image,
            base_image=options.base_image,
            requirements=options.requirements,
        )
        with shown_progress() as report:
            image = self._provisioner.ensure(plan, options.image_options, report=report)
        self._sandbox = self._provisioner.start(options.sandbox_spec(image))
        try:
            self._stream(self._sandbox).close()
        except (OSError, ExecutorError) as error:
            status = self._sandbox.status()
            raise ExecutorStartError(
                f"the supervisor in the sandbox did not come up in startup_timeout_seconds="
                f"{options.startup_timeout_seconds}: {error} ({status})"
            ) from None
        self._given_files.send(SandboxFiles(self._sandbox))

    def _stream(self, sandbox: Sandbox) -> ByteStream:
        return sandbox.open_stream(timeout=self.options.startup_timeout_seconds)

    def _connected(self, sandbox: Sandbox) -> ByteStream:
        try:
            return self._stream(sandbox)
        except (OSError, ExecutorError) as error:
            raise ConnectionLost(str(error)) from None

    def cleanup(self) -> None:
        """Remove the container; a program that runs ends with it. Safe at any time, repeatedly."""
        if self._closed:
            return
        self._closed = True
        if self._owner.inherited:
            return  # a forked child: the container is the parent's
        if self._sandbox is not None:
            self._sandbox.remove()
        self._provisioner.close()

    def __repr__(self) -> str:
        """Return what the sandbox is, where its programs run, its limits and its state."""
        sandbox = getattr(self, "_sandbox", None)
        if sandbox is None:
            return represent(self, "not started", "")
        state = "running a program" if self._turns.taken else "ready"
        state = "ended" if self._death is not None else state
        place = f"sandbox {sandbox.id} of docker"
        return represent(
            self,
            "closed" if self._closed else state,
            place,
            functools.partial(getattr, self.options),
        )

    def __enter__(self) -> AgentSandbox:
        self._check_open("with")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cleanup()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.cleanup()

    # -- programs --

    def run_code(self, code: str, *, timeout_seconds: float | None = None) -> str:
        """Run a Python program and return what it printed.

        With ``model_on_host=`` the name ``model`` in it is that model.

        Args:
            code: the program; it may define tools and make agents.
            timeout_seconds: it may run; ``None``: as the constructor says.

        Raises:
            AgentProgramError: the program ended with an error; has exit code and output.
            SandboxTimeoutError: it ran past the limit and was killed.
            SandboxDiedError: the container ended; names the cause.
        """
        check_code(code)
        job = Job(_RUN_PROGRAM, {"program.py": code.encode()}, self._secrets)
        return self._run("run_code", job, timeout_seconds).output

    def run_agent(
        self,
        folder: str | os.PathLike[str],
        task: str,
        *,
        timeout_seconds: float | None = None,
        **arguments: Any,
    ) -> Any:
        """Load a saved agent in the sandbox, run it and return its answer.

        Its code runs by the local executor, whatever it was saved with: the container is the
        boundary. With ``model_on_host=`` all agents in the folder call that model.

        Args:
            folder: as ``agent.save()`` has written it, on this machine.
            task: for the agent.
            timeout_seconds: it may run; ``None``: as the constructor says.
            **arguments: of ``agent.run``, such as ``max_steps`` and ``additional_args``.

        Raises:
            ConfigurationError: the folder is not a saved agent's.
            AgentProgramError: agent or program ended with an error; has exit code and output.
            SandboxTimeoutError: it ran past the limit and was killed.
            SandboxDiedError: the container ended; names the cause.
        """
        files = job_files(Path(folder), task, arguments, model_on_host=self._model is not None)
        job = Job(_RUN_AGENT, files, self._secrets, ANSWER_FILE)
        ending = self._run("run_agent", job, timeout_seconds)
        if ending.result is None:
            raise AgentProgramError(
                "the agent's program ended and left no answer", ending.exit_code, ending.output
            )
        return decode(ending.result, path="the agent's answer")

    async def arun_code(self, code: str, *, timeout_seconds: float | None = None) -> str:
        """Do as :meth:`run_code` without blocking the event loop.

        Waiting for another program needs no thread. When the task is cancelled, the program ends.
        """
        return await self._async_calls.run(
            lambda: self.run_code(code, timeout_seconds=timeout_seconds)
        )

    async def arun_agent(
        self,
        folder: str | os.PathLike[str],
        task: str,
        *,
        timeout_seconds: float | None = None,
        **arguments: Any,
    ) -> Any:
        """Do as :meth:`run_agent` without blocking the event loop; see :meth:`arun_code`."""
        return await self._async_calls.run(
            lambda: self.run_agent(folder, task, timeout_seconds=timeout_seconds, **arguments)
        )

    def interrupt(self) -> None:
        """End the program that runs, within a second, with an ``AgentProgramError``.

        No-op when idle; from any thread.
        """
        self._interrupted.set()

    def _run(self, action: str, job: Job, seconds: float | None) -> Ending:
        if seconds is None:
            seconds = self.options.timeout_seconds
        check_seconds("timeout_seconds", seconds)
        with self._turns.turn(action):
            self._interrupted.clear()
            sandbox = self._running_sandbox(action)
            self._model_calls.check()
            try:
                ending = carry_out(
                    self._connected(sandbox),
                    sandbox.gateway_token,
                    job,
                    Deadline(seconds),
                    model=self._model,
                    model_arguments=self._model_arguments,
                    model_limits=self._model_limits,
                    running_calls=self._model_calls,
                    on_output=self._on_output,
                    max_print_outputs_length=self.options.print_length,
                    is_closed=lambda: self._closed,
                    is_interrupted=self._interrupted.is_set,
                )
            except ConnectionLost as error:
                self._check_open(action)
                status = _ended_status(sandbox)
                text = f"the sandbox was lost while a program ran in it: {error} ({status})"
                self._death = f"{text}; make a new AgentSandbox"
                raise SandboxDiedError(text) from None
        self._check_exit(ending)
        return ending

    def _check_exit(self, ending: Ending) -> None:
        code = ending.exit_code
        if code == 0:
            return
        name = signal_name(128 - code)
        text = f"the program ended with exit code {code}" + (f" ({name})" if name else "")
        if code == -_SIGKILL:
            text += "; if it was short of memory, raise memory="
        if ending.model_error is not None:
            error = ending.model_error
            text += f"; the model on the host raised {type(error).__name__}: {error}"
        shown = ending.output[-_SHOWN_CHARACTERS:]
        text += f"; its output ended with:\n{shown}" if shown else "; it printed nothing"
        raise AgentProgramError(text, code, ending.output) from ending.model_error

    # -- files and figures --

    @contextlib.contextmanager
    def _file_store(self, action: str) -> Iterator[FileStore]:
        yield SandboxFiles(self._running_sandbox(action))

    def stats(self) -> ExecutorStats:
        """Memory, processor time and processes of the sandbox now."""
        return self._running_sandbox("stats").stats()

    @property
    def container(self) -> Any:
        """docker-py's object for the container, ``None`` when there is none."""
        return self._sandbox.container if isinstance(self._sandbox, DockerSandbox) else None

    def _running_sandbox(self, action: str) -> Sandbox:
        self._check_open(action)
        if self._death is not None:
            raise SandboxDiedError(self._death)
        if self._sandbox is None:
            raise ExecutorClosedError(f"AgentSandbox: {action} before it was started")
        return self._sandbox

    def _check_open(self, action: str) -> None:
        if self._closed:
            raise ExecutorClosedError(f"AgentSandbox: {action} after cleanup()")
        self._owner.check("AgentSandbox", action)


def _ended_status(sandbox: Sandbox) -> SandboxStatus:
    """Return the status of a sandbox whose stream has ended, which may be first to show its end."""
    deadline = Deadline(_END_SECONDS)
    while True:
        status = sandbox.status()
        if not status.running or deadline.expired():
            return status
        time.sleep(0.05)
