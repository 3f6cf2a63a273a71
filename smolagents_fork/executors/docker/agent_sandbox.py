"""Whole agents in a container: agent, tools and the code it writes."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypedDict

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
from ...representation import represent
from ...results import ExecutorStats
from ...sandboxes.docker.container import DockerSandbox
from ...sandboxes.docker.docker_engine import DockerEngine
from ...sandboxes.provisioner import ByteStream, Sandbox, SandboxStatus
from ..async_calls import AsyncCalls
from ..call_lock import CallLock
from ..file_transfers import FileMethods, Files, FileStore, GivenFiles
from ..jupyter.diagnosis import signal_name
from ..jupyter.image_progress import shown_progress
from ..jupyter.sandbox_files import SandboxFiles
from ..validation import (
    check_code,
    check_count,
    check_known,
    check_output_function,
    current_names,
    mapping_of,
    names_of,
)
from ..weak_methods import weakly
from .agent_image import agent_image_plan
from .options import Options

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["AgentSandbox"]

# Characters of the output that an error's message has.
_SHOWN_CHARACTERS = 4_000
# How long the engine may take to hear of the end of a container after its streams have ended.
_END_SECONDS = 3.0
_SIGKILL = int(signal.SIGKILL)
_RUN_PROGRAM = ("-m", "smolagents_fork.agent_sandbox.program_main", "{run}/program.py")
_RUN_AGENT = ("-m", "smolagents_fork.agent_sandbox.saved_agent", "{run}")


class AgentKeywords(TypedDict, total=False):
    """Keywords that :class:`AgentSandbox` shares with ``DockerExecutor``."""

    network: str
    memory: int | str | None
    cpus: float | None
    pids_limit: int | None
    disk_size: int | str | None
    workdir_size: int | str
    tmp_size: int | str
    read_only: bool
    user: str
    allow_root: bool
    allow_shared_network: bool
    runtime: str | None
    volumes: Any
    workdir: str
    lease_seconds: float
    startup_timeout_seconds: float
    image: str | None
    base_image: str | None
    ca_bundle: str | os.PathLike[str] | None
    build_timeout_seconds: float
    container_run_kwargs: Mapping[str, Any] | None


class AgentSandbox(FileMethods):
    """Runs agent programs and saved agents in a container of their own.

    The container has no root user, no capabilities, no network and no way to new privileges unless
    an argument says otherwise. Programs take turns in it: files stay, processes end with their
    program.

    Args:
        secrets: environment variables of the programs. They are not part of the container's
            configuration; a program can read them and, given a network, send them anywhere.
        model_on_host: a model whose ``generate`` and ``generate_stream`` the agents call over the
            bridge. Its keys stay outside, so that no network is needed.
        model_arguments: names of further arguments of those calls that a program may choose, such
            as ``"temperature"``.
        max_model_calls: calls of ``model_on_host`` that one program may make.
        max_model_bytes: bytes of the messages of one such call, and of all that run at once.
        requirements: what pip installs into the image, besides smolagents.
        timeout_seconds: a program may run; ``None`` for no limit.
        on_output: gets printed text as it comes.
        max_print_outputs_length: characters of output that are kept, first and last half; ``None``:
            50,000.
        files: the programs' paths to paths of this machine or bytes.
        engine: where the container runs; ``None``: the engine that the environment names.
        **keywords: as for ``DockerExecutor``, which documents them.

    Raises:
        ConfigurationError: an argument that cannot work.
        EngineUnavailableError: no container engine answers.
        ImageBuildError: the image could not be built.
        ExecutorStartError: the container did not come up; nothing is left behind.
    """

    def __init__(
        self,
        *,
        secrets: Mapping[str, str] | None = None,
        model_on_host: Any = None,
        model_arguments: Sequence[str] = (),
        max_model_calls: int = 1000,
        max_model_bytes: int = 64 * 1024 * 1024,
        requirements: Sequence[str] = (),
        timeout_seconds: float | None = 600.0,
        on_output: Callable[[str], None] | None = None,
        max_print_outputs_length: int | None = None,
        files: Files | None = None,
        engine: DockerEngine | None = None,
        **keywords: Unpack[AgentKeywords],
    ) -> None:
        own = ("secrets", "model_on_host", "model_arguments", "max_model_calls", "max_model_bytes",
               "requirements", "timeout_seconds", "on_output", "max_print_outputs_length", "files",
               "engine")  # fmt: skip
        known = [*AgentKeywords.__annotations__, *own]
        options: dict[str, Any] = {**keywords}
        if max_print_outputs_length is not None:
            options["max_print_outputs_length"] = max_print_outputs_length
        options = current_names("AgentSandbox", options, known)
        check_known("AgentSandbox", options, known)
        self._secrets = _checked_secrets(secrets)
        if model_on_host is not None and not hasattr(model_on_host, "generate"):
            raise ConfigurationError(
                f"model_on_host={model_on_host!r}: give a model, which has generate()"
            )
        engine = DockerEngine() if engine is None else engine
        if not isinstance(engine, DockerEngine):
            raise ConfigurationError(
                f"engine={engine!r}: AgentSandbox runs on Docker's engine; give a DockerEngine"
            )
        self._model = model_on_host
        self._model_arguments = frozenset(names_of("model_arguments", model_arguments))
        check_count("max_model_calls", max_model_calls)
        check_count("max_model_bytes", max_model_bytes)
        self._model_limits = ModelLimits(max_model_calls, max_model_bytes)
        self._model_calls = RunningCalls()
        check_output_function(on_output)
        self._on_output = on_output
        self._given_files = GivenFiles.of(files)
        #: The options of image, container and limits, in groups.
        self.options = Options.of(
            "AgentSandbox",
            requirements=requirements,
            timeout_seconds=timeout_seconds,
            **options,
        )
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
            image=options.image.image,
            base_image=options.image.base_image,
            requirements=options.image.requirements,
        )
        with shown_progress() as report:
            image = self._provisioner.ensure(plan, options.image, report=report)
        self._sandbox = self._provisioner.start(options.sandbox_spec(image))
        try:
            self._stream(self._sandbox).close()
        except (OSError, ExecutorError) as error:
            status = self._sandbox.status()
            raise ExecutorStartError(
                f"the supervisor in the sandbox did not come up in startup_timeout_seconds="
                f"{options.limits.startup_timeout_seconds}: {error} ({status})"
            ) from None
        self._given_files.send(SandboxFiles(self._sandbox))

    def _stream(self, sandbox: Sandbox) -> ByteStream:
        return sandbox.open_stream(timeout=self.options.limits.startup_timeout_seconds)

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
        return represent(self, "closed" if self._closed else state, place, self.options.value)

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
            seconds = self.options.limits.timeout_seconds
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
                    max_print_outputs_length=self.options.limits.print_length,
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
        text = f"the program ended with exit code {code}{signal_name(str(code))}"
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


def _checked_secrets(secrets: Mapping[str, str] | None) -> dict[str, str]:
    """Refuse what is not a variable; no message has a value."""
    found = mapping_of("secrets", secrets)
    for name, value in found.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise ConfigurationError(f"secrets: {name!r} is not a name of a variable")
        if not isinstance(value, str) or "\0" in value:
            raise ConfigurationError(f"secrets[{name!r}]: give text without NUL bytes")
    return found
