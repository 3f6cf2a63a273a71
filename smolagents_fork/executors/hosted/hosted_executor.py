"""Repairs that upstream's executors on hosted services share."""

from __future__ import annotations

import contextlib
import copy
import inspect
import os
import shlex
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, NoReturn, SupportsIndex

from ...call_output import CallOutput
from ...codec import Variables
from ...deadline import Deadline, check_seconds
from ...distributions.requirements import missing_requirements, requirements_for
from ...errors import ExecutorClosedError, ExecutorError
from ...figures import FigureFolder
from ...forks import Owner
from ...options import accept
from ...options.option import words_of
from ...options.unknown_names import check_known
from ...output import DEFAULT_PRINT_LENGTH
from ...representation import represent
from ...results import Display
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.resource_limits import Limits
from ...upstream import (
    AgentError,
    CodeOutput,
    RemotePythonExecutor,
    Tool,
    get_tools_definition_code,
)
from ..call_options import CallOptions
from ..file_transfers import FileMethods, Files, FileStore, GivenFiles
from ..guests.guest_files import GuestFiles
from ..validation import copy_refused, parameters_of
from .cells import MAX_VALUE_BYTES, Cell
from .kernel_code import file_code, result_of, variables_code, variables_of

__all__ = ["HostedExecutor"]

# Bytes of a file in one cell. Servers limit the size of a request, often to 1 MiB.
_FILE_PIECE = 1 << 18
# Upstream's parameters that every hosted executor has.
_BY_KEYWORD = ("additional_imports", "logger", "allow_pickle")


class HostedExecutor(FileMethods, RemotePythonExecutor):  # type: ignore[misc]  # upstream ships no types
    """Mixin before one of upstream's executors in a class's bases.

    Args:
        additional_imports: import names or requirements; ``pip`` installs what provides them.
        logger: upstream's ``AgentLogger``.
        allow_pickle: as upstream; unsafe with code that is not trusted.
        timeout_seconds: longest run of one call, in seconds.
        max_print_outputs_length: characters kept of a call's output, first and last half; ``None``:
            50,000.
        on_output: called with printed text while the code runs.
        figures_dir: folder on the host that figures are saved in; ``None``: none is saved.
        files: files for the code by their paths in its work folder, each a path of this machine or
            its content as bytes.
        **options: of upstream's class.
    """

    #: Longest ``pip install``, in seconds.
    INSTALL_SECONDS = 600.0

    def __init__(
        self,
        additional_imports: Sequence[str],
        logger: Any,
        allow_pickle: bool = False,
        *,
        timeout_seconds: float = 300.0,
        max_print_outputs_length: int | None = None,
        on_output: Callable[[str], None] | None = None,
        figures_dir: str | os.PathLike[str] | None = None,
        files: Files | None = None,
        **options: Any,
    ) -> None:
        self._owner = Owner()
        self._closed = False
        options = self._check_options(options)
        if max_print_outputs_length is None:
            max_print_outputs_length = DEFAULT_PRINT_LENGTH
        accept.count("max_print_outputs_length", max_print_outputs_length)
        self._print_length = max_print_outputs_length
        #: Figures and rich displays of the last call.
        self.displays: tuple[Display, ...] = ()
        self._on_output = on_output
        self._folder = FigureFolder(figures_dir)
        given = GivenFiles.of(files)
        accept.logger("logger", logger)
        self.timeout_seconds = check_seconds("timeout_seconds", timeout_seconds, optional=False)
        try:
            self._begin(list(additional_imports), logger, allow_pickle, **options)
            if given.wanted:
                with self._file_store("files") as store:
                    given.send(store)
        except BaseException:
            # A sandbox that runs on costs money.
            self.cleanup()
            raise

    def _check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options; refuse those that neither class has."""
        parameters = inspect.signature(self._begin).parameters.values()
        known = [
            *parameters_of(HostedExecutor),
            *(
                parameter.name
                for parameter in parameters
                if parameter.kind is parameter.KEYWORD_ONLY
            ),
        ]
        owner = type(self).__name__
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            kinds = (CallOptions, ContainerOptions, Limits)
            check_known(owner, options, known, lambda: words_of(*kinds))
        return dict(options)

    def _begin(self, *arguments: Any, **options: Any) -> None:
        """Start the sandbox and install the packages, which upstream's constructor does."""
        # By keyword: releases differ in what is taken by place.
        super().__init__(**dict(zip(_BY_KEYWORD, arguments, strict=True)), **options)

    def _end(self) -> None:
        """End the sandbox, however far the start has come, which upstream's does."""
        super().cleanup()

    @abstractmethod
    def _run_cell(self, code: str, deadline: Deadline, cell: Cell) -> None:
        """Run ``code`` in the sandbox and fill ``cell`` as its messages arrive.

        Raises:
            SandboxTimeoutError: the deadline expired.
            SandboxDiedError: the sandbox has ended.
            ExecutorError: the service did not run the code.
        """

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        """Run ``code``; an exception in it is raised as upstream's ``AgentError``.

        Raises:
            AgentError: the code raised; the message has what was printed before.
            ExecutorClosedError: after ``cleanup()``.
            SandboxTimeoutError: the code ran past ``timeout_seconds``.
            SandboxDiedError: the kernel or the sandbox has ended.
            ExecutorError: the service did not run the code.
        """
        self.displays = ()
        call = self._new_output()
        try:
            cell = self._finished_cell(code, Deadline(self.timeout_seconds), call)
            output = cell.output()
            if cell.error is None:
                call.shown.add_value(output)
        finally:
            self.displays = call.displays
        if cell.error is None:
            return CodeOutput(output=output, logs=cell.logs, is_final_answer=False)
        if cell.error.name == self.FINAL_ANSWER_EXCEPTION:
            answer = self._deserialize_final_answer(cell.error.value, self.allow_pickle)
            return CodeOutput(output=answer, logs=cell.logs, is_final_answer=True)
        raise AgentError(cell.failure_text(), self.logger)

    def _new_output(self, save: bool = True) -> CallOutput:
        """Make what takes the output of a cell; internal ones save no figures."""
        length, on_output = self._print_length, self._on_output
        if not save:
            return CallOutput(length, MAX_VALUE_BYTES, on_output)
        return CallOutput(length, MAX_VALUE_BYTES, on_output, self._folder.save)

    def _finished_cell(self, code: str, deadline: Deadline, call: CallOutput | None = None) -> Cell:
        if self._closed:
            raise ExecutorClosedError(
                f"{type(self).__name__}: call after cleanup(); make a new executor"
            )
        self._owner.check(type(self).__name__, "call")
        cell = Cell(call or self._new_output(save=False))
        try:
            self._run_cell(code, deadline, cell)
        except ExecutorError as error:
            raise error.reworded(cell.quoted(str(error))) from error.__cause__
        return cell

    def send_tools(self, tools: dict[str, Tool]) -> None:
        """Define the tools in the sandbox, after an installation of what they import.

        The tools are not changed. Upstream changes the tool ``final_answer`` and its class: the
        second ``run()`` of an agent then fails with ``NameError``, and so does the loading of any
        agent that is saved in that process.

        Raises:
            ExecutorError: ``pip`` failed; the message has its output.
        """
        imports = {name for tool in tools.values() for name in tool.to_dict()["requirements"]}
        present = self.installed_packages
        needed = sorted(name for name in imports if missing_requirements([name], present))
        self.installed_packages += self.install_packages(needed)
        if "final_answer" in tools:
            answer = _separate_copy(tools["final_answer"])
            self._patch_final_answer_with_exception(answer)
            tools = {**tools, "final_answer": answer}
        code = get_tools_definition_code(tools)
        if code:
            self.logger.log(self.run_code_raise_errors(code).logs)

    def variables(self) -> Variables:
        """Return copies of the code's public variables; ``left_out`` names the others.

        Raises:
            ExecutorError: the kernel could not read them.
            DecodeError: the sandbox sent something else.
        """
        cell = self._finished_cell(variables_code(), Deadline(self.timeout_seconds))
        if cell.error is not None:
            raise ExecutorError(f"{type(self).__name__}: variables: {cell.failure_text()}")
        return variables_of(cell)

    @contextlib.contextmanager
    def _file_store(self, _action: str) -> Iterator[FileStore]:
        def ask(request: bytes) -> bytes:
            cell = self._finished_cell(file_code(request), Deadline(self.timeout_seconds))
            if cell.error is not None:
                raise ExecutorError(f"{cell.error.name}: {cell.error.value}")
            return result_of(cell)

        yield GuestFiles(ask, memory=None, place="hosted sandbox", most=_FILE_PIECE)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse ``copy`` and ``pickle``.

        Raises:
            ConfigurationTypeError: always; says how to give the state to another executor.
        """
        raise copy_refused(self)

    def install_packages(self, additional_imports: Sequence[str]) -> list[str]:
        """Install what provides the import names, or the requirements, ``additional_imports``.

        Raises:
            ConfigurationError: a name that is neither a module's nor a requirement.
            ExecutorError: ``pip`` failed; the message has its output.
        """
        requirements = requirements_for(additional_imports)
        if requirements:
            # Quoted: a shell takes the ">" of a version for a redirection.
            command = f"pip install -- {shlex.join(requirements)}"
            # IPython keeps the exit code of a shell command in a variable.
            code = f"!{command}\nif _exit_code: raise RuntimeError(_exit_code)"
            cell = self._finished_cell(code, Deadline(self.INSTALL_SECONDS))
            if cell.error is not None:
                raise ExecutorError(f"{type(self).__name__}: {command} failed:\n{cell.logs}")
            self.logger.log(cell.logs)
        return list(additional_imports)

    def cleanup(self) -> None:
        """End the sandbox, if it is this process's own. Safe at any time, any number of times."""
        self._closed = True
        if hasattr(self, "logger") and not self._owner.inherited:
            self._end()

    def __repr__(self) -> str:
        """Return what the executor is, its limits and its state."""
        if not hasattr(self, "_closed"):  # the constructor has failed
            return represent(self, "not started", "")
        state = "closed" if self._closed else "ready"
        return represent(self, state, "a hosted sandbox", lambda name: getattr(self, name))

    def delete(self) -> None:
        """Upstream's other name for :meth:`cleanup`."""
        self.cleanup()


def _separate_copy(tool: Tool) -> Tool:
    """Return a copy of ``tool`` with a class and a ``forward`` of its own."""
    made, cls, forward = copy.copy(tool), type(tool), tool.forward.__func__
    function = FunctionType(
        forward.__code__,
        forward.__globals__,
        forward.__name__,
        forward.__defaults__,
        forward.__closure__,
    )
    function.__kwdefaults__ = forward.__kwdefaults__
    made.__class__ = type(cls.__name__, (cls,), {"forward": function, "__module__": cls.__module__})
    return made
