"""Whole agents in a container: agent, tools and the code it writes."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from ...agent_sandbox import PROGRAM_FILE
from ...agent_sandbox.model_service import ModelService
from ...agent_sandbox.saved_agent import job_files
from ...codec import DEFAULT_MAX_BYTES, decode
from ...errors import (
    AgentProgramError,
    ConfigurationError,
    ExecutorClosedError,
    ExecutorError,
    ExecutorStartError,
    ForkError,
    ProtocolError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from ...network.network_list import PROXY_VARIABLES, NetworkList
from ...network.secrets.secret import Secret
from ...options import accept
from ...options.option import about, option, same_as, taking
from ...options.words import VARIABLES
from ...results import ExecutorStats, FileInfo
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.provisioner import ImageSpec, signal_name
from ...sandboxes.resource_limits import Limits
from ...system.forks import Owner
from ...text.representation import represent
from ..call_options import CallOptions
from ..calls import CallLock, check_code, check_encodable
from ..file_transfers import MAX_FILE_BYTES, Files, Source
from ..jupyter.error_text import CodeFailedError
from ..weak_methods import weakly
from .arguments import DockerArguments
from .executor import DockerExecutor
from .options import EngineOption

__all__ = ["AgentSandbox"]

# Characters of the output that an error's message has.
_SHOWN_CHARACTERS = 4_000
# Time for the kernel to kill the processes of a program; see the supervisor.
_KILL_SECONDS = 10.0
# Bytes of a call's frame beside its value.
_FRAME_BYTES = 1 << 20
# Exit codes of processes; those of signals are negative.
_EXIT_CODES = range(-255, 256)
_SIGKILL = int(signal.SIGKILL)
_SUPERVISOR = "smolagents_fork.agent_sandbox.supervisor"
_CHECK = f"import {_SUPERVISOR}"
_RUN = f"{_CHECK} as supervisor\nsupervisor.run(%s)"


def _secrets(name: str, value: Any) -> dict[str, str | Secret]:
    """Refuse what is not a variable; no message has a value."""
    secrets = accept.mapping(name, value)
    for key, secret in secrets.items():
        if not isinstance(key, str) or not key or "=" in key or "\0" in key:
            raise ConfigurationError(f"{name}: {key!r} is not a variable name")
        if not isinstance(secret, Secret) and (not isinstance(secret, str) or "\0" in secret):
            raise ConfigurationError(
                f"{name}[{key!r}]: pass Secret(value, hosts=[...]), or text without NUL bytes"
            )
    return secrets


def _model(name: str, value: Any) -> Any:
    if value is not None and not hasattr(value, "generate"):
        raise ConfigurationError(f"{name}={value!r}: pass a model, which has generate()")
    return value


@dataclass(frozen=True)
class AgentArguments(NetworkList, Limits, ImageSpec, ContainerOptions, EngineOption):
    """Arguments of AgentSandbox's constructor: those of a container, and of the programs in it."""

    _: KW_ONLY
    secrets: Mapping[str, str | Secret] | None = option(
        None,
        "environment variables of the programs. The value of a `Secret` stays outside, and is sent "
        "to its hosts. A text is not part of the container's configuration; a program can read it "
        "and, given a network, send it anywhere",
        _secrets,
        form="names to `Secret` or text",
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
        "of the messages of one such call, together with those of streams that are open",
        accept.count,
        form="bytes",
    )
    timeout_seconds: float | None = same_as(
        CallOptions,
        "timeout_seconds",
        default=600.0,
        says="time limit for a program, the model's time included; past it the program is killed",
    )
    environment: Mapping[str, str | float] | None = same_as(
        ContainerOptions, "environment", elsewhere=""
    )
    startup_timeout_seconds: float = same_as(CallOptions, "startup_timeout_seconds")
    max_print_outputs_length: int | None = same_as(CallOptions, "max_print_outputs_length")
    on_output: Callable[[str], object] | None = same_as(CallOptions, "on_output")
    files: Files | None = same_as(CallOptions, "files")

    def check_together(self) -> None:
        """Refuse secrets that would replace what the list of hosts sets."""
        super().check_together()
        self.check_names("secrets", self.secrets or (), PROXY_VARIABLES)

    def of_executor(self) -> dict[str, Any]:
        """Return the arguments of the executor in whose container the programs run."""
        shared = about(DockerArguments).keys() & about(AgentArguments).keys()
        return {name: getattr(self, name) for name in shared}


class _AgentProgram:
    """The program that runs, if one does. From any thread."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        # Reentrant: a signal's handler may stop a program while its own thread has the lock.
        self._lock = threading.RLock()
        self._job: dict[str, Any] | None = None
        self._model: ModelService | None = None
        #: Why the program was ended from here; empty while it was not.
        self.stopped = ""

    @contextlib.contextmanager
    def running(
        self, job: dict[str, Any], model: ModelService, seconds: float | None
    ) -> Iterator[None]:
        """Give the sandbox a job and a model for the block, and stop it after so many seconds."""
        with self._lock:
            self._job, self._model, self.stopped = job, model, ""
        reason = f"ran past timeout_seconds={seconds}"
        timer = threading.Timer(seconds or 0, self.stop, (reason, job))
        timer.daemon = True
        if seconds is not None:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
            model.end_streams()
            with self._lock:
                self._job = self._model = None

    def stop(self, reason: str, job: dict[str, Any] | None = None) -> None:
        """End the program.

        Args:
            reason: what it did, or what happened to it; the first one counts.
            job: Job of the program that is meant; ``None``: the one that runs.
        """
        with self._lock:
            if self._job is not None and (job is None or job is self._job):
                self.stopped = self.stopped or reason
                self._interrupt()

    def get_job(self) -> dict[str, Any]:
        """Return the job; the sandbox calls this function."""
        if self._job is None or self.stopped:
            raise ExecutorError(f"the program {self.stopped or 'has ended'}")
        return self._job

    def call_model(self, request: bytes) -> bytes:
        """Answer a call of the host's model; the sandbox calls this function."""
        if self._model is None:
            raise ExecutorError("the program has ended")
        return self._model.call(request)


class AgentSandbox:
    """Container that runs agent programs and saved agents.

    The container is a :class:`DockerExecutor`'s, with smolagents in its image. It has no root user,
    no capabilities, no network and no way to gain privileges unless an argument says otherwise.
    Programs take turns in it: files stay, processes end with their program.

    :class:`AgentArguments` has the arguments, with what each is for.

    Args:
        **keywords: Options, by keyword.

    Raises:
        ConfigurationError: an argument is invalid.
        EngineUnavailableError: the engine does not answer.
        ImageBuildError: the image could not be built.
        ExecutorStartError: the container did not start; nothing is left behind.

    Example:
        >>> with AgentSandbox(memory="512m") as box:
        ...     print(box.run_code("print(6 * 7)"))
        42
    """

    @taking(AgentArguments)
    def __init__(self, **keywords: Any) -> None:
        options = AgentArguments.of("AgentSandbox", (), keywords)
        #: The arguments.
        self.options = options
        secrets = options.secrets or {}
        self._secrets = {n: value for n, value in secrets.items() if isinstance(value, str)}
        self._owner = Owner()
        self._death = ""
        self._turns = CallLock(weakly(self._check_open), weakly(self.interrupt))
        self._program = program = _AgentProgram(weakly(self._interrupt))
        functions: dict[str, Callable[..., Any]] = {"get_job": program.get_job}
        if options.model_on_host is not None:
            functions["call_model"] = program.call_model
        self._code = _RUN % ", ".join(functions)
        self._executor = DockerExecutor(
            **{
                **options.of_executor(),
                "additional_functions": functions,
                "interrupt_grace_seconds": _KILL_SECONDS,
                "max_tool_calls": sys.maxsize,
                "max_value_bytes": max(DEFAULT_MAX_BYTES, options.max_model_bytes) + _FRAME_BYTES,
                "on_death": "fail",
                "secrets": {n: value for n, value in secrets.items() if isinstance(value, Secret)},
                "timeout_seconds": None,
                # A model that does not answer must not keep its program from ending.
                "tools_in_calling_thread": False,
                "with_smolagents": True,
            }
        )
        try:
            self._executor.run(_CHECK)
        except BaseException as error:
            self.cleanup()
            if not isinstance(error, CodeFailedError):
                raise
            raise ExecutorStartError(
                f"image {self._executor.image_name!r} cannot run agent programs, for which its "
                f"kernel needs smolagents with this fork: {error}"
            ) from None

    # -- lifecycle --

    def cleanup(self) -> None:
        """Remove the container; a program that runs ends with it. Safe at any time, repeatedly."""
        self._executor.cleanup()

    def __repr__(self) -> str:
        """Return what the sandbox is, where its programs run, its limits and its state."""
        executor = getattr(self, "_executor", None)
        if executor is None:
            return represent(self, "not started", "")
        state = "running a program" if self._turns.is_locked else "ready"
        state = "closed" if executor.closed else "ended" if self._death else state
        place = executor.place or f"container {getattr(executor.container, 'short_id', '')}"
        return represent(self, state, place, self.options)

    def __enter__(self) -> AgentSandbox:
        self._check_open("with")
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    # -- programs --

    def run_code(self, code: str, *, timeout_seconds: float | None = None) -> str:
        """Run a Python program and return what it printed.

        With ``model_on_host=`` the name ``model`` in it is that model.

        Args:
            code: The program; it may define tools and make agents.
            timeout_seconds: Seconds the agent may run; ``None``: as the constructor says.

        Raises:
            AgentProgramError: the program ended with an error; has exit code and output.
            InterpreterError: its text cannot be encoded.
            SandboxTimeoutError: it ran past the limit and was killed.
            SandboxDiedError: the container ended; names the cause.
        """
        check_code(code)
        check_encodable(code)
        return self._run("run_code", {PROGRAM_FILE: code.encode()}, timeout_seconds)[0]

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
            folder: Folder as ``agent.save()`` has written it, on this machine.
            task: Text of the task.
            timeout_seconds: Seconds the agent may run; ``None``: as the constructor says.
            **arguments: Arguments of ``agent.run``, such as ``max_steps`` and ``additional_args``.

        Raises:
            ConfigurationError: the folder is not a saved agent's.
            AgentProgramError: agent or program ended with an error; has exit code and output.
            SandboxTimeoutError: it ran past the limit and was killed.
            SandboxDiedError: the container ended; names the cause.
        """
        has_model = self.options.model_on_host is not None
        files = job_files(Path(folder), task, arguments, model_on_host=has_model)
        output, answer = self._run("run_agent", files, timeout_seconds)
        if answer is None:
            raise AgentProgramError("the agent's program ended without an answer", 0, output)
        return decode(answer, path="the agent's answer")

    async def arun_code(self, code: str, *, timeout_seconds: float | None = None) -> str:
        """Do as :meth:`run_code` without blocking the event loop.

        Waiting for another program needs no thread. When the task is cancelled, the program ends.
        """
        return await self._turns.run_async(
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
        return await self._turns.run_async(
            lambda: self.run_agent(folder, task, timeout_seconds=timeout_seconds, **arguments)
        )

    def interrupt(self) -> None:
        """End the program that runs, within a second, with an ``AgentProgramError``.

        No-op when idle; from any thread.
        """
        self._program.stop("was interrupted")

    def _run(
        self, action: str, files: dict[str, bytes], seconds: float | None
    ) -> tuple[str, bytes | None]:
        """Run a program; return its output and its answer, which is encoded."""
        seconds = self.options.timeout_seconds if seconds is None else seconds
        accept.seconds_or_none("timeout_seconds", seconds)
        job = {"files": files, "environment": self._secrets}
        model = ModelService(
            self.options.model_on_host,
            functools.partial(self._program.stop, job=job),
            allowed_arguments=self.options.model_arguments,
            max_calls=self.options.max_model_calls,
            max_request_bytes=self.options.max_model_bytes,
        )
        with self._turns.turn(action):
            executor = self._running_executor(action)
            # Of a program whose supervisor was interrupted before it could say how it ended.
            ending: Any = (-_SIGKILL, None)
            with self._program.running(job, model, seconds):
                try:
                    ending = executor.run(self._code).output
                except CodeFailedError as error:
                    if not self._program.stopped:
                        raise ExecutorError(f"the program could not be run: {error}") from None
                except ForkError as error:
                    self._check_open(action)
                    if executor.is_alive():
                        raise
                    raise self._note_death(error) from None
            output, stopped = executor.state["_print_outputs"], self._program.stopped
        code, answer = _check_ending(ending)
        if code or (stopped and code == -_SIGKILL):
            raise _program_error(code, output, stopped, model.last_error)
        return output, answer

    def _note_death(self, error: ForkError) -> SandboxDiedError:
        """Return the error of a program whose sandbox was lost; later calls quote it."""
        event = error.event if isinstance(error, ExecutorError) else ""
        died = SandboxDiedError(
            f"the sandbox was lost while a program ran in it: {event or error}",
            cause=error.cause if isinstance(error, SandboxDiedError) else "",
        )
        died.name_place(error.place)
        self._death = f"{died}; make a new AgentSandbox"
        return died

    def _interrupt(self) -> None:
        self._executor.interrupt()

    # -- files and figures --

    def put_file(self, source: Source, target: str) -> None:
        """Write a file or a folder for the programs; see :meth:`DockerExecutor.put_file`."""
        self._running_executor("put_file").put_file(source, target)

    def get_file(self, source: str, *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        """Return the content of a file; see :meth:`DockerExecutor.get_file`."""
        return self._running_executor("get_file").get_file(source, max_bytes=max_bytes)

    def list_files(self, path: str = ".") -> list[FileInfo]:
        """Return the files of the programs; see :meth:`DockerExecutor.list_files`."""
        return self._running_executor("list_files").list_files(path)

    def stats(self) -> ExecutorStats:
        """Return memory, processor time and processes of the sandbox now."""
        return self._running_executor("stats").stats()

    @property
    def container(self) -> Any:
        """docker-py's object for the container, ``None`` when there is none."""
        return self._executor.container

    def _running_executor(self, action: str) -> DockerExecutor:
        self._check_open(action)
        if self._death:
            raise SandboxDiedError(self._death)
        return self._executor

    def _check_open(self, action: str) -> None:
        if self._executor.closed:
            raise ExecutorClosedError(f"AgentSandbox: {action} after cleanup()")
        self._owner.check("AgentSandbox", action)


def _check_ending(value: Any) -> tuple[int, bytes | None]:
    """Return exit code and answer of a program.

    Raises:
        ProtocolError: the sandbox sent something else.
    """
    match value:
        case (int(code), bytes() | None as answer) if code in _EXIT_CODES:
            return code, answer
    raise ProtocolError("the sandbox sent something other than the end of a program")


def _program_error(
    code: int, output: str, stopped: str, model_error: BaseException | None
) -> ExecutorError:
    """Return the error of a program.

    Args:
        stopped: why it was ended from here; empty: it was not.
    """
    shown = output[-_SHOWN_CHARACTERS:]
    if stopped and code == -_SIGKILL:
        text = (
            f"the program {stopped}; its processes were killed, and the sandbox's files stay. Its "
            f"output ended with:\n{shown}"
        )
        if stopped.startswith("ran past"):
            return SandboxTimeoutError(text)
        return AgentProgramError(text, code, output)
    name = signal_name(128 - code)
    text = f"the program ended with exit code {code}" + (f" ({name})" if name else "")
    if code == -_SIGKILL:
        text += "; if it was short of memory, raise memory="
    if model_error is not None:
        text += f"; the model on the host raised {type(model_error).__name__}: {model_error}"
    text += f"; its output ended with:\n{shown}" if shown else "; it printed nothing"
    error = AgentProgramError(text, code, output)
    error.__cause__ = model_error
    return error
