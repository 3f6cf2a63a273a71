"""Base of the executors with a guest: runs, tools and variables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ... import codec
from ...bridge import Dispatcher
from ...call_output import CallOutput
from ...errors import ExecutorStartError
from ...figures import FigureFolder
from ...hints import network_hint
from ...options import accept
from ...results import Display, Execution
from ...upstream import CodeOutput
from ..base import Executor
from ..file_transfers import FileStore
from ..validation import check_code
from ..weak_methods import weakly
from .guest_answers import display_bundle, variable
from .guest_options import GuestOptions
from .guest_session import GuestSession, Launcher

__all__ = ["GuestExecutor"]


class GuestExecutor(Executor):
    """An executor whose programs run under a worker in a process of its own.

    Args:
        additional_authorized_imports: as in :class:`Executor`.
        logger: as in :class:`Executor`.
        options: limits, callbacks, functions of the host.
    """

    supports_managed_agents: ClassVar[bool] = True
    #: The executor's name in messages.
    label: ClassVar[str]

    def __init__(
        self,
        additional_authorized_imports: Sequence[str],
        logger: Any,
        options: GuestOptions,
    ) -> None:
        super().__init__(additional_authorized_imports, logger)
        options.note_limits_without_effect()
        #: What upstream's agent shows of a failed step.
        self.state: dict[str, Any] = {"_print_outputs": ""}
        self._guest_options = options
        self._functions = dict(options.additional_functions or {})
        #: Figures and rich displays of the last call.
        self.displays: tuple[Display, ...] = ()
        self._folder = FigureFolder(options.figures_dir)
        self._output = self._new_output()
        self._session: GuestSession | None = None
        self._dispatcher = Dispatcher(
            max_request_bytes=options.max_value_bytes,
            max_reply_bytes=options.max_value_bytes,
            max_calls=options.max_tool_calls,
            tool_timeout_seconds=options.tool_timeout_seconds,
            calling_thread=options.tools_in_calling_thread,
            on_call=weakly(self._log_call),
            binary=True,
        )

    # -- lifecycle --

    def _launch(self, launcher: Launcher) -> None:
        """Start the first guest; called by ``_start()``."""
        self._session = GuestSession(
            self._guest_options,
            launcher,
            self._dispatcher,
            weakly(self._print),
            weakly(self._show),
            weakly(self._send_files),
        )
        self._session.open()
        if self._functions:
            self.send_tools({})

    def _cleanup(self) -> None:
        session = getattr(self, "_session", None)
        if session is None:
            return  # the constructor has failed
        session.close(from_inside=self._inside_own_call())
        self._dispatcher.close()

    def _send_files(self, ask: Callable[[bytes], bytes]) -> None:
        """Give a new guest the files of ``files=``."""
        if self._guest_options.given_files.entries:
            self._guest_options.given_files.send(self._files_of_guest(ask))

    @abstractmethod
    def _files_of_guest(self, ask: Callable[[bytes], bytes]) -> FileStore:
        """Return the files of a guest.

        Args:
            ask: see :meth:`GuestSession.ask_file`.
        """

    @property
    def pid(self) -> int | None:
        """The guest's process number."""
        return self._open_session().pid

    def _sandbox_name(self) -> str:
        pid = None if self._session is None else self._session.pid
        return self.place or (f"{self.label} {pid}" if pid is not None else "")

    def _option(self, name: str) -> Any:
        return getattr(self._guest_options, name)

    def is_alive(self) -> bool:
        """Tell whether a guest is there and the executor is open."""
        return super().is_alive() and self._session is not None and self._session.alive

    def restart(self) -> None:
        """Throw the guest and its state away; tools and sent variables are given to the new one."""
        with self._turn("restart"):
            self._open_session().restart()

    def _interrupt(self) -> None:
        if self._session is not None:
            self._session.interrupt()

    # -- code --

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        """Run ``code`` and return its output, as upstream's type; raises as :meth:`run` does."""
        execution = self.run(code)
        return CodeOutput(execution.output, execution.logs, execution.is_final_answer)

    def run(self, code: str) -> Execution:
        """Run ``code`` and return everything it gave.

        Raises:
            InterpreterError: the program failed, is not Python, or imports what is not listed.
            SandboxTimeoutError: it ran past ``timeout_seconds``; says whether its state survived.
            SandboxDiedError: the guest ended; says how. The next call has a new one.
            ProtocolError: the guest sent what it may not, and was killed.
            ExecutorClosedError: after ``cleanup()``.
        """
        check_code(code)
        with self._call_turn():
            session = self._open_session()
            options = self._guest_options
            self._output, self.displays = self._new_output(), ()
            try:
                outcome = session.run(code)
                if not outcome.is_final_answer:
                    self._output.shown.add_value(outcome.output)
            finally:
                self.state["_print_outputs"] = logs = self._output.logs()
                self.displays = self._output.displays
            return Execution(
                outcome.output,
                # Code that catches the error and prints it has not ended with it.
                logs + network_hint(logs, options.network_remedy) + self._refusals(),
                outcome.is_final_answer,
                self.displays,
                seconds=outcome.seconds,
            )

    def _show(self, body: bytes | bytearray) -> None:
        shown = self._output.shown
        if shown.has_room():
            shown.add(display_bundle(body, self._guest_options.max_value_bytes))

    def _print(self, text: str) -> None:
        self._output.write(text)

    def _new_output(self) -> CallOutput:
        options = self._guest_options
        return CallOutput(
            options.print_length, options.max_value_bytes, options.on_output, self._folder.save
        )

    # -- tools and variables --

    def send_tools(self, tools: Mapping[str, Any]) -> None:
        """Make tools and managed agents callable from the code; they stay on the host."""
        tools = accept.mapping("tools", tools)
        with self._turn("send_tools"):
            self._dispatcher.register({**tools, **self._functions})
            specs = [spec.as_data() for spec in self._dispatcher.specs]
            self._open_session().send_tools(specs)

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Set variables in the code's namespace.

        Raises:
            EncodeError: a value cannot be encoded; names the path to it.
        """
        if not variables:
            return
        variables = accept.mapping("variables", variables)
        limit = self._guest_options.max_value_bytes
        encoded = {name: variable(name, value, limit) for name, value in variables.items()}
        with self._turn("send_variables"):
            self._open_session().send_variables(encoded)

    def variables(self) -> codec.Variables:
        """Return copies of the program's public variables; ``left_out`` names the others."""
        with self._turn("variables"):
            return self._open_session().variables()

    def _open_session(self) -> GuestSession:
        if self._session is None:
            raise ExecutorStartError(f"the {self.label} executor has not been started")
        return self._session
