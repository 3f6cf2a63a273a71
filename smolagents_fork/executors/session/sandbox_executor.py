"""Base of the executors whose code runs in a sandbox: runs, tools, variables, control."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar

from ...bridge import CallRecord
from ...call_output import CallOutput
from ...codec import Variables
from ...control.audit_log import Facts
from ...control.control import Control
from ...errors import ExecutorStartError, InterpreterError
from ...options import accept
from ...results import Display, Execution
from ...text.representation import LIMITS
from ...upstream import CodeOutput
from ..base import Executor
from ..call_options import CallOptions
from ..figures import FigureFolder
from ..validation import check_code
from ..weak_methods import weakly
from .bindings import Bindings
from .guest import Ask, Failure, GuestSource
from .session import Session

if TYPE_CHECKING:
    from ...network.host_proxy import SandboxProxy
    from ...network.network_list import NetworkList

__all__ = ["SandboxExecutor"]


class SandboxExecutor(Executor):
    """An executor whose code runs in a guest of its own, one after the other.

    Args:
        additional_authorized_imports: as in :class:`Executor`.
        logger: as in :class:`Executor`.
        options: limits, callbacks, functions of the host.
        allow_pickle: whether values that the codec refuses are pickled.
    """

    supports_managed_agents: ClassVar[bool] = True

    def __init__(
        self,
        additional_authorized_imports: Sequence[str],
        logger: Any,
        options: CallOptions,
        *,
        allow_pickle: bool = False,
    ) -> None:
        super().__init__(additional_authorized_imports, logger)
        #: Options of the executor, checked.
        self.options = options
        #: Read by upstream's agent when a step has failed.
        self.state: dict[str, Any] = {"_print_outputs": ""}
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
        self._bindings = Bindings(
            options,
            weakly(self._after_call),
            self._control.before_call,
            allow_pickle=allow_pickle,
        )
        self._session: Session | None = None

    # -- lifecycle --

    def _open(self, source: GuestSource) -> None:
        """Start the first guest; called by ``_start()``."""
        self._session = Session(
            self.options.session, source, self._bindings, weakly(self._prepare_recorded)
        )
        self._session.open()

    def _proxy_of(self, hosts: NetworkList) -> SandboxProxy | None:
        """Return the proxy for a list of hosts, with recorded connections; ``None`` without one."""
        recorded = weakly(self._control.connected) if self._control.log else None
        proxy = hosts.network_proxy(type(self).__name__, recorded)
        self._access = None if proxy is None else proxy.record
        return proxy

    def _prepare_recorded(self, ask: Ask) -> None:
        paths = [target for target, _ in self.options.given_files.entries]
        self._control.begin_sandbox(self._sandbox_name(), self._measures(), paths)
        self._prepare(ask)

    def _measures(self) -> dict[str, Any]:
        """Return the limits of the sandbox, and what confines it, for the record."""
        return {name: getattr(self.options, name) for name in LIMITS if hasattr(self.options, name)}

    def _prepare(self, ask: Ask) -> None:
        """Give a new guest what it gets besides tools and variables."""

    def _cleanup(self) -> None:
        session = getattr(self, "_session", None)
        if session is None:
            return  # the constructor has failed
        self._control.close()
        session.close(from_inside=self._inside_own_call())
        self._bindings.calls.close()
        self._control.end_sandbox("closed")

    def _option(self, name: str) -> Any:
        return getattr(self.options, name)

    def is_alive(self) -> bool:
        """Tell whether the next call works without starting a new guest."""
        session = self._session
        if session is None or not super().is_alive():
            return False
        with self._calls.unless_taken() as mine:
            return session.is_alive() if mine else True  # another thread runs code

    def restart(self) -> None:
        """Replace the guest; what the code made is lost, tools and sent variables are not."""
        with self._turn("restart"):
            self._open_session().open()

    def _interrupt(self) -> None:
        self._control.interrupt()
        if self._session is not None:
            self._session.interrupt()

    # -- code --

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
            try:
                with self._control.run(code) as allowed:
                    outcome = session.run(allowed, output)
                    if outcome.failure is not None:
                        raise self._explain(outcome.failure)
                if not outcome.is_final_answer:
                    output.shown.add_value(outcome.output)
            except InterpreterError as error:
                raise self._as_program_error(error) from None
            finally:
                self.state["_print_outputs"] = logs = output.logs()
                self.displays = output.displays
            return Execution(
                outcome.output,
                # Code that catches the error and prints it has not ended with it.
                logs + self._network_hint(logs) + self._refusals(),
                outcome.is_final_answer,
                self.displays,
                output.cut_length,
                outcome.seconds,
            )

    def _after_call(self, record: CallRecord) -> None:
        self._log_call(record)
        self._control.after_call(record)

    def _transfer(self, action: str, path: str) -> AbstractContextManager[Facts]:
        return self._control.transfer(action, path)

    def _as_program_error(self, error: InterpreterError) -> Exception:
        """Return what the executor raises for a program that failed or was stopped."""
        return error

    @abstractmethod
    def _explain(self, failure: Failure) -> Exception:
        """Return the error for a program's exception, with advice."""

    @abstractmethod
    def _network_hint(self, logs: str) -> str:
        """Return a hint for text of a program that lacks a network; empty if it has none."""

    # -- tools and variables --

    def send_tools(self, tools: Mapping[str, Any]) -> None:
        """Make tools and managed agents callable from the code.

        They run on the host, unless their ``tool_placement`` is ``sandbox``: then their source is
        sent and their requirements installed, as upstream does.
        """
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
        """
        if not variables:
            return
        variables = accept.mapping("variables", variables)
        with self._turn("send_variables"):
            self._bindings.set_variables(self._open_session().request, variables)

    def variables(self) -> Variables:
        """Return copies of the code's public variables; ``left_out`` names the others."""
        with self._turn("variables"):
            return self._bindings.variables(self._open_session().request)

    def _open_session(self) -> Session:
        if self._session is None:
            raise ExecutorStartError(f"{type(self).__name__} has not been started")
        return self._session
