"""Executor whose code runs in a sandbox: lifecycle, runs, tools, variables, control.

Who calls what::

    agent, or user code                 SandboxExecutor                  a subclass
    -------------------                 ---------------                  ----------
    SomeExecutor(imports, logger, ...)  __init__; the subclass's own
                                        ends with start()             -> _start(), once
    executor(code)                      run(), checks "open"
    agent.run()                         send_variables(), send_tools()
    agent.cleanup(), with, exit         cleanup(), any number of times-> _cleanup(), once

A failed ``_start()`` is followed by ``_cleanup()`` before the constructor raises. So ``_cleanup()``
must work after a ``_start()`` that failed anywhere, or was never called.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, SupportsIndex, TypeVar

from rich.text import Text

from ... import telemetry
from ...bridge import CallRecord
from ...call_output import CallOutput
from ...codec import Variables
from ...control.control import Control
from ...errors import (
    ConfigurationError,
    ConfigurationTypeError,
    EncodeError,
    ExecutorClosedError,
    ExecutorError,
    ExecutorStartError,
    ForkError,
    InterpreterError,
)
from ...guest import worker_files
from ...network.access_record import AccessRecord
from ...options import accept
from ...results import Display, Execution
from ...system.forks import Owner
from ...system.proxy_environment import TRUST_VARIABLES
from ...system.shortages import naming_shortages
from ...terminal import harmless
from ...text.representation import LIMITS, represent
from ...text.short_texts import limited_text
from ...upstream import CodeOutput, LogLevel, PythonExecutor
from ..call_options import CallOptions
from ..calls import CallLock, check_code, check_encodable
from ..figures import FigureFolder
from ..file_transfers import FileMethods
from ..weak_methods import weakly
from .bindings import Bindings
from .guest import Ask, Failure, GuestSource
from .session import Session

if TYPE_CHECKING:
    from ...network.host_proxy import SandboxProxy
    from ...network.network_list import NetworkAccess
    from ...network.secrets.secret_access import SecretAccess

__all__ = ["SandboxExecutor"]

# typing.Self is there from 3.11 on; the fork runs on 3.10 too.
_Self = TypeVar("_Self", bound="SandboxExecutor")
# Takes what would go to an agent's logger where there is none.
_logger = logging.getLogger("smolagents_fork")
# Upstream's agent adds the arguments of a run to its state first, and sends all of it in each run.
_KEPT_BY_AGENT = (
    "\nAn agent keeps additional_args for its later runs: `del agent.state[NAME]` removes a value"
)
_LEVELS = {LogLevel.ERROR: logging.ERROR, LogLevel.DEBUG: logging.DEBUG}
# Ids of executors whose calls surround this code: tools run in other threads, with this context.
_inside: contextvars.ContextVar[frozenset[int]] = contextvars.ContextVar(
    "smolagents_fork_inside", default=frozenset()
)


class SandboxExecutor(FileMethods, PythonExecutor):  # type: ignore[misc]  # upstream ships no types
    """An executor whose code runs in a guest of its own, one after the other.

    Args:
        additional_authorized_imports: modules the code may import besides the built-in list. Each
            executor provides them in its own form (an image, an allow-list).
        logger: upstream's ``AgentLogger``, or anything with ``log`` and ``log_error``;
            ``None``: Python's logger ``smolagents_fork``.
        options: limits, callbacks, functions of the host.

    The constructor contract is upstream's for its coming entry points (issue 2722):
    ``cls(additional_authorized_imports, logger, **executor_kwargs)``.
    """

    #: Whether code in this executor can call the agent's managed agents. Read by the agent before
    #: an executor is made, so it is a class attribute.
    supports_managed_agents: ClassVar[bool] = True
    #: Proxy of the sandbox, what it refused and moved, and its secrets; ``None``: it has none.
    _proxy: SandboxProxy | None = None
    _access: AccessRecord | None = None
    _secrets: SecretAccess | None = None

    def __init__(
        self,
        additional_authorized_imports: Sequence[str],
        logger: Any,
        options: CallOptions,
    ) -> None:
        # First, so that cleanup() and __del__ work wherever __init__ fails.
        self._owner = Owner()
        self._lifecycle_lock = threading.RLock()
        self._calls = CallLock(weakly(self._check_open), weakly(self.interrupt))
        self._started = False
        self._closed = False
        self._operation = telemetry.Operation()
        self.additional_imports: list[str] = list(additional_authorized_imports)
        self.logger = logger
        #: Options of the executor, checked.
        self.options = options
        #: Read by upstream's agent when a step has failed.
        self.state: dict[str, Any] = {"_print_outputs": ""}
        # Value of the last call, and its text from the sandbox.
        self._value_text: tuple[Any, str | None] = (None, None)
        #: Figures and rich displays of the last call.
        self.displays: tuple[Display, ...] = ()
        self._folder = FigureFolder(options.figures_dir)
        self._control = Control(
            type(self).__name__,
            options.before_run,
            options.before_tool,
            options.audit,
            audit_required=options.audit_required,
        )
        self._bindings = Bindings(options, weakly(self._after_call), self._control.before_call)
        self._session: Session | None = None

    # -- lifecycle: called by constructors, agents and users --

    def start(self) -> None:
        """Start the sandbox; a subclass's constructor calls it last. Idempotent.

        Raises:
            ExecutorClosedError: after ``cleanup()``.
            ExecutorStartError: it did not start; everything made so far has been removed.
        """
        self._owner.check(type(self).__name__, "start")
        with self._lifecycle_lock:
            if self._closed:
                raise ExecutorClosedError(self._closed_message("start"))
            if self._started:
                return
            try:
                name = type(self).__name__
                with (
                    self._placed(),
                    telemetry.operation("start", name),
                    naming_shortages(f"{name} cannot be started"),
                ):
                    self._start()
            except BaseException:
                # KeyboardInterrupt and SystemExit included: no resource may stay.
                self.cleanup()
                raise
            self._started = True

    def cleanup(self) -> None:
        """Release all resources. Idempotent, at any time and from any thread.

        Waits for a start in another thread, but not for a running call, which raises. In a forked
        copy of the process that made the executor, the sandbox stays: it is not the copy's.
        """
        if self._is_inherited():
            self._closed = True  # without the lock, which a thread of the parent may have had
            return
        lock = getattr(self, "_lifecycle_lock", None)
        if lock is None:
            return  # a subclass's constructor has failed before this class's
        with lock:
            if self._closed:
                return
            self._closed = True
            with telemetry.operation("end", type(self).__name__):
                self._cleanup()

    def delete(self) -> None:
        """Call :meth:`cleanup`; upstream's other name for it."""
        self.cleanup()

    @property
    def closed(self) -> bool:
        """Tell whether ``cleanup()`` has been called."""
        return self._closed

    @abstractmethod
    def _start(self) -> None:
        """Start the sandbox; called once, by :meth:`start`, under the lifecycle lock."""

    def _open(self, source: GuestSource) -> None:
        """Start the first guest; called by ``_start()``."""
        self._session = Session(
            self.options, source, self._bindings, weakly(self._prepare_recorded)
        )
        self._session.open()

    def _open_proxy(self, hosts: NetworkAccess) -> SandboxProxy | None:
        """Open the proxy for a list of hosts, with recorded connections; ``None`` without one."""
        recorded = weakly(self._control.log.write) if self._control.log else None
        self._proxy = proxy = hosts.network_proxy(type(self).__name__, recorded)
        if proxy is not None:
            self._access, self._secrets = proxy.record, proxy.secrets
        return proxy

    def _prepare_recorded(self, ask: Ask) -> None:
        paths = [target for target, _ in self.options.given_files.entries]
        self._control.begin_sandbox(self._sandbox_name(), self._measures(), paths)
        self._prepare(ask)
        if self._secrets is not None:
            self._send_placeholders(ask, self._secrets)

    def _send_placeholders(self, ask: Ask, secrets: SecretAccess) -> None:
        """Give a new guest the secrets' placeholders and the authority of their hosts."""
        body = worker_files.request(
            "trust",
            secrets.certificate.encode("ascii"),
            variables=secrets.table.variables,
            paths=list(TRUST_VARIABLES),
        )
        present, _ = worker_files.split_body(self._ask_new_guest(ask, body))
        if present in list(secrets.table.variables):
            raise ConfigurationError(
                f"secrets[{present!r}]: the sandbox sets this variable itself; pass another name"
            )

    @abstractmethod
    def _ask_new_guest(self, ask: Ask, body: bytes) -> bytes:
        """Have a new guest carry out a request for a file; return the body of its answer.

        Args:
            body: see :mod:`smolagents_fork.guest.worker_files`.
        """

    def _measures(self) -> dict[str, Any]:
        """Return the limits of the sandbox, and what confines it, for the record."""
        return {name: getattr(self.options, name) for name in LIMITS if hasattr(self.options, name)}

    def _prepare(self, ask: Ask) -> None:
        """Give a new guest what it gets besides tools and variables."""

    def _cleanup(self) -> None:
        """Release all resources; called once, perhaps after ``_start()`` failed or without it."""
        if self._proxy is not None:
            self._proxy.close()
        session = getattr(self, "_session", None)
        if session is None:
            return  # the constructor has failed
        self._control.close()
        session.close(from_inside=self._inside_own_call())
        self._bindings.calls.close()
        self._control.end_sandbox("closed")

    def __repr__(self) -> str:
        """Return what the executor is, where its code runs, its limits and its state."""
        try:
            return represent(self, self._state(), self._sandbox_name(), self.options)
        except AttributeError:  # the constructor has failed
            return represent(self, "not started", "")

    def _state(self) -> str:
        if self._closed:
            return "closed"
        if not self._started:
            return "not started"
        return "running code" if self._calls.is_locked else "ready"

    def _sandbox_name(self) -> str:
        """Return the name of the sandbox, for the text form; empty without one."""
        return self.place

    def __enter__(self: _Self) -> _Self:
        self._check_open("enter")
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    def __del__(self) -> None:
        # The interpreter may be shutting down, names of modules included, and nobody would catch.
        try:  # noqa: SIM105 - the module that suppresses may be gone
            self.cleanup()
        except Exception:
            pass

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse ``copy`` and ``pickle``: both executors would be one sandbox.

        Raises:
            ConfigurationTypeError: always; says how to give the state to another executor.
        """
        raise ConfigurationTypeError(
            f"cannot copy or pickle {type(self).__name__}: its state is in its own sandbox; "
            "create another executor, and send it the variables with "
            "other.send_variables(executor.variables())"
        )

    def restart(self) -> None:
        """Replace the guest; what the code made is lost, tools and sent variables are not."""
        with self._turn("restart"):
            self._open_session().open()

    def interrupt(self) -> None:
        """Interrupt the running code and keep its state if possible; no-op when idle.

        May be called from another thread.
        """
        if not self._closed and not self._is_inherited():
            # Under the call that it interrupts.
            context = self._operation.context
            with telemetry.operation("interrupt", type(self).__name__, context):
                self._control.interrupt()
                if self._session is not None:
                    self._session.interrupt()

    def is_alive(self) -> bool:
        """Tell whether the next call works without starting a new guest."""
        session = self._session
        if session is None or not self._started or self._closed or self._is_inherited():
            return False
        with self._calls.try_lock() as is_owner:
            return session.is_alive() if is_owner else True  # another thread runs code

    # -- running code: called by agents and users --

    def __call__(self, code_action: str) -> CodeOutput:
        """Run ``code_action``; the result tells whether it gave the final answer (upstream)."""
        self._check_open("call")
        return self.run_code_raise_errors(code_action)

    async def acall(self, code_action: str) -> CodeOutput:
        """Run ``code_action`` without blocking the event loop.

        Calls run one by one. A waiting call needs no thread, and never runs if its task is
        cancelled. A cancelled task interrupts its code in the sandbox.
        """
        self._check_open("acall")
        self._check_outside("acall")
        return await self._calls.run_async(lambda: self(code_action))

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        """Run ``code`` and return its output, as upstream's type; raises as :meth:`run` does."""
        execution = self.run(code)
        return CodeOutput(execution.output, execution.logs, execution.is_final_answer)

    def run(self, code: str) -> Execution:
        """Run ``code`` and return everything it gave. Calls from several threads run one by one.

        Raises:
            InterpreterError: the program failed, is not Python, or imports what is not listed;
                ``DockerExecutor`` raises upstream's ``AgentError``, with the traceback. What was
                printed before is ``state["_print_outputs"]``, which an agent's model is sent, too.
            SandboxTimeoutError: it ran past ``timeout_seconds``; says whether its state survived.
            SandboxDiedError: the guest ended; says how. The next call has a new one.
            ProtocolError: the guest sent what it may not, and was killed.
            ExecutorClosedError: after ``cleanup()``.
        """
        check_code(code)
        with self._call_turn():
            session, options = self._open_session(), self.options
            output = CallOutput(
                options.print_length, options.max_value_bytes, options.on_output, self._folder.save
            )
            self.displays, self.state["_print_outputs"] = (), ""
            self._value_text = (None, None)
            try:
                with self._control.run(code) as allowed:
                    check_encodable(allowed)
                    outcome = session.run(allowed, output)
                    if outcome.failure is not None:
                        raise self._explain(outcome.failure)
                if not outcome.is_final_answer:
                    output.shown.add_value(outcome.output)
                    self._value_text = (outcome.output, output.value_text)
            except InterpreterError as error:
                raise self._as_program_error(error) from None
            finally:
                self.state["_print_outputs"] = logs = output.logs()
                self.displays = output.displays
            # Code that catches the error and prints it has not ended with it.
            notes = self._network_hint(logs) + self._refusals()
            return Execution(
                outcome.output,
                logs.removesuffix("\n") + notes + "\n" if notes else logs,
                outcome.is_final_answer,
                self.displays,
                output.cut_length,
                outcome.seconds,
            )

    def text_of_output(self, output: Any) -> str:
        """Return the text of an output for the agent.

        Args:
            output: Value that a call returned.

        Returns:
            ``str()`` of the last value as the sandbox made it, else of the copy on the host.
        """
        value, text = self._value_text
        return text if text is not None and output is value else limited_text(output)

    def _after_call(self, record: CallRecord) -> None:
        # At INFO a loop of calls would hide the steps.
        if _shows(self.logger, LogLevel.DEBUG):
            self._log(str(record), LogLevel.DEBUG)
        self._control.after_call(record)

    def _as_program_error(self, error: InterpreterError) -> Exception:
        """Return what the executor raises for a program that failed or was stopped."""
        return error

    @abstractmethod
    def _explain(self, failure: Failure) -> Exception:
        """Return the error for a program's exception, with advice."""

    @abstractmethod
    def _advice(self, message: str) -> str:
        """Return lines for an error that the sandbox explains, or the empty string."""

    @abstractmethod
    def _network_hint(self, logs: str) -> str:
        """Return a hint for text of a program that lacks a network; empty if it has none."""

    # -- tools and variables --

    def send_tools(self, tools: Mapping[str, Any]) -> None:
        """Make tools and managed agents callable from the code.

        They run on the host, unless their ``tool_placement`` is ``sandbox``: then their source is
        sent and their requirements installed, as upstream does.
        """
        tools = accept.mapping("tools", tools)
        with self._turn("send_tools"):
            session = self._open_session()
            self._install(self._bindings.register(tools))
            self._bindings.define(session.request, tools)

    def _install(self, requirements: list[str]) -> None:
        """Install what the sources of tools need."""

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Set variables in the code's namespace.

        Raises:
            EncodeError: a value cannot be encoded; names the path to it.
            ExecutorError: the sandbox cannot read a value, such as a table without pandas.
        """
        if not variables:
            return
        variables = accept.mapping("variables", variables)
        with self._turn("send_variables"):
            try:
                self._bindings.set_variables(self._open_session().request, variables)
            except EncodeError as error:
                raise EncodeError(f"{error}{_KEPT_BY_AGENT}") from None
            except ExecutorError as error:
                if type(error) is not ExecutorError:  # the sandbox did not answer
                    raise
                advice = self._advice(str(error))
                raise ExecutorError(f"{error}{advice}{_KEPT_BY_AGENT}") from None

    def remove_variables(self, names: Sequence[str]) -> None:
        """Remove variables of the code, also from what the next sandbox gets; tools stay.

        Args:
            names: Names of variables; those that are not there are ignored.
        """
        names = accept.names("names", names)
        with self._turn("remove_variables"):
            self._bindings.remove_variables(self._open_session().request, names)

    def variables(self) -> Variables:
        """Return copies of the code's public variables; ``left_out`` names the others."""
        with self._turn("variables"):
            return self._bindings.variables(self._open_session().request)

    # -- turns and checks --

    @contextlib.contextmanager
    def _turn(self, action: str) -> Iterator[None]:
        """Let one caller at a time enter; raise where a call would wait for itself.

        Raises:
            ExecutorClosedError: after ``cleanup()``.
            ExecutorError: the caller is a tool that this executor's code has called.
        """
        self._check_open(action)
        self._check_outside(action)
        with self._placed(), self._calls.turn(action):
            token = _inside.set(_inside.get() | {id(self)})
            try:
                yield
            finally:
                _inside.reset(token)

    @property
    def place(self) -> str:
        """Sandbox, node and tenant of an executor on a cluster; empty on this machine."""
        return ""

    @contextlib.contextmanager
    def _placed(self) -> Iterator[None]:
        """Name the sandbox in all errors of the block."""
        place = self.place
        try:
            yield
        except ForkError as error:
            # Before: an error may be about a sandbox that is given up. After: a start has none.
            error.name_place(place or self.place)
            raise

    @contextlib.contextmanager
    def _call_turn(self) -> Iterator[None]:
        """Do as :meth:`_turn` for a call of code, and record it."""
        with self._turn("call"), telemetry.operation("call", type(self).__name__) as call:
            self._operation = call
            try:
                with self._naming_refusals():
                    yield
            finally:
                self._operation = telemetry.Operation()

    @contextlib.contextmanager
    def _naming_refusals(self) -> Iterator[None]:
        """Add what the sandbox's proxy refuses meanwhile to the message of an error."""
        if self._access is not None:
            self._access.begin_call()
        try:
            yield
        except ForkError as error:
            error.append(self._refusals())
            raise

    def _refusals(self) -> str:
        """Return lines about what the sandbox's proxy has refused in this call."""
        return "" if self._access is None else self._access.text

    def _check_outside(self, action: str) -> None:
        if self._inside_own_call():
            raise ExecutorError(
                f"{type(self).__name__}: {action} from a tool, while the code that called it "
                "waits; a tool or managed agent that runs code needs an "
                "executor of its own"
            )

    def _inside_own_call(self) -> bool:
        """Tell whether the caller is a tool or callback called by this executor's own code."""
        return id(self) in _inside.get()

    def _check_open(self, action: str) -> None:
        """Raise when the executor is closed or inherited; ``action`` names the method."""
        if self._closed:
            raise ExecutorClosedError(self._closed_message(action))
        self._owner.check(type(self).__name__, action)

    def _is_inherited(self) -> bool:
        """Tell whether a forked copy of the owner asks; the constructor may have failed."""
        owner: Owner | None = getattr(self, "_owner", None)
        return owner is not None and owner.inherited

    def _closed_message(self, action: str) -> str:
        return (
            f"{type(self).__name__}: {action} after cleanup(); make a new executor "
            "(an agent's cleanup(), or leaving its with block, closes its executor)"
        )

    def _log(self, message: str, level: Any = None) -> None:
        """Log through the agent's logger, or Python's own where there is none."""
        # Upstream's logger parses square brackets as markup and raises if that fails: text of a
        # program or of a tool's arguments must not be parsed.
        place = self.place
        line = f"{place}: {message}" if place and place not in message else message
        text = Text(harmless(line))
        if self.logger is None:
            _logger.log(_LEVELS.get(level, logging.INFO), "%s", text.plain)
        elif level is None:
            self.logger.log(text)
        else:
            self.logger.log(text, level=level)

    def _open_session(self) -> Session:
        if self._session is None:
            raise ExecutorStartError(f"{type(self).__name__} has not been started")
        return self._session


def _shows(logger: Any, level: Any) -> bool:
    """Tell whether a logger shows messages of a level, as far as it has one itself."""
    if logger is None:
        return _logger.isEnabledFor(_LEVELS[level])
    own = getattr(logger, "level", None)
    return not (isinstance(own, LogLevel) and level > own)
