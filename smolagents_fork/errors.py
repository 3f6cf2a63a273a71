"""The exception tree of the fork.

::

    ForkError
    ├── ConfigurationError (ValueError)      an invalid argument or combination of arguments
    ├── ConfigurationTypeError (TypeError)   an argument of the wrong type
    ├── CodecError (ValueError)              a value and its encoding
    │   ├── EncodeError                      a value that cannot be encoded; names the path to it
    │   └── DecodeError                      bytes that are not a valid encoding
    ├── ExecutorError                        an executor could not perform a request
    │   ├── ExecutorStartError               the executor did not start
    │   │   ├── EngineUnavailableError       the container engine does not respond
    │   │   └── ImageBuildError              an image could not be built; quotes the builder
    │   ├── ExecutorClosedError              used after ``cleanup()``
    │   ├── AuditError                       a line of the record could not be written
    │   ├── SandboxTimeoutError (TimeoutError)  code ran past its limit; says whether state survived
    │   ├── AgentProgramError                a program in an AgentSandbox failed; has its output
    │   ├── FileTooLargeError                a file has more bytes than the caller allowed
    │   ├── SandboxDiedError                 kernel, process or container ended; names the cause
    │   └── ProtocolError                    the other side violated the protocol
    └── InterpreterError (ValueError)        a program was refused, failed or was stopped
        ├── ProgramRefusedError              an import, or in ``local`` what policy forbids
        │   ├── ImportRefusedError (ModuleNotFoundError)
        │   └── AttributeRefusedError (AttributeError)
        ├── ProgramFailedError               the program raised an exception and did not catch it
        ├── ProgramInterruptedError          the host ended it with ``interrupt()``
        └── LimitExceededError               a limit of ``local`` was reached
            └── TimeLimitExceededError (TimeoutError)  the wall-clock limit

Every message says what happened, to which object, the value that was passed, and what the user can
do.
"""

from __future__ import annotations

import copy
from typing import TypeVar

__all__ = [
    "AgentProgramError",
    "AttributeRefusedError",
    "AuditError",
    "CodecError",
    "ConfigurationError",
    "ConfigurationTypeError",
    "DecodeError",
    "EncodeError",
    "EngineUnavailableError",
    "ExecutorClosedError",
    "ExecutorError",
    "ExecutorStartError",
    "FileTooLargeError",
    "ForkError",
    "ImageBuildError",
    "ImportRefusedError",
    "InterpreterError",
    "LimitExceededError",
    "ProgramFailedError",
    "ProgramInterruptedError",
    "ProgramRefusedError",
    "ProtocolError",
    "SandboxDiedError",
    "SandboxTimeoutError",
    "TimeLimitExceededError",
]

# typing.Self is there from 3.11 on; the fork runs on 3.10 too.
_Error = TypeVar("_Error", bound="ForkError")


class ForkError(Exception):
    """Base class of all errors that the fork raises.

    Attributes:
        place: The sandbox that the error is about, with its node and tenant; empty for a sandbox of
            this machine.

    Example:
        >>> try:
        ...     ProcessExecutor(memory=512)
        ... except ForkError as error:
        ...     print(error)
        memory=512: the unit seems to be missing; pass text such as '512m' ...
    """

    place: str = ""

    def name_place(self, place: str) -> None:
        """Name the sandbox that the error is about.

        A failure of a program is for its author, and keeps its words.

        Args:
            place: Sandbox, node and tenant; empty for a sandbox of this machine.
        """
        if not place or self.place:
            return
        self.place = place
        if not isinstance(self, InterpreterError) and self.args and place not in str(self):
            self.args = (f"{place}: {self.args[0]}", *self.args[1:])

    def append(self, text: str) -> None:
        """Add lines to the message.

        Args:
            text: Text that begins with a line end; empty: nothing is added.
        """
        if text and self.args:
            self.args = (f"{self.args[0]}{text}", *self.args[1:])

    def rephrase(self: _Error, message: str) -> _Error:
        """Return a copy with another message, which keeps all else that the error says.

        Args:
            message: New message in place of this one, which it usually quotes.
        """
        error = copy.copy(self)
        error.args = (message, *self.args[1:])
        return error


class ConfigurationError(ForkError, ValueError):
    """An argument, or a combination of arguments, is invalid.

    Example:
        >>> ProcessExecutor(memmory="1g")
        Traceback (most recent call last):
            ...
        smolagents_fork.errors.ConfigurationError: ... 'memmory'; did you mean 'memory'?
    """


class ConfigurationTypeError(ForkError, TypeError):
    """An argument has the wrong type, such as an instance where a class is expected.

    Example:
        >>> CodeAgent(tools=[], model=model, executor=ProcessExecutor)
        Traceback (most recent call last):
            ...
        smolagents_fork.errors.ConfigurationTypeError: ... write executor_class=ProcessExecutor
    """


class CodecError(ForkError, ValueError):
    """A value could not be encoded or decoded.

    Example:
        >>> with ProcessExecutor() as executor:
        ...     try:
        ...         executor.send_variables({"lock": threading.Lock()})
        ...     except CodecError as error:
        ...         print(type(error).__name__)
        EncodeError
    """


class EncodeError(CodecError):
    """A value cannot be encoded; the message names the path to it, as in ``vars['a'][3].b``.

    Example:
        >>> with ProcessExecutor() as executor:
        ...     executor.send_variables({"locks": [threading.Lock()]})
        Traceback (most recent call last):
            ...
        smolagents_fork.errors.EncodeError: vars['locks'][0]: a value of type _thread.lock ...
    """


class DecodeError(CodecError):
    """Bytes are not a valid encoding, or exceed a size or depth limit.

    Example:
        >>> codec.decode(b"nonsense")
        Traceback (most recent call last):
            ...
        smolagents_fork.errors.DecodeError: value: not an encoding: ...
    """


class ExecutorError(ForkError):
    """An executor could not perform the request.

    Attributes:
        event: What happened, without what the executor says of its next call; empty where it says
            nothing of that.

    Example:
        >>> with ProcessExecutor() as executor:
        ...     executor.get_file("missing.csv")
        Traceback (most recent call last):
            ...
        smolagents_fork.errors.ExecutorError: get_file: missing.csv in ...: No such file ...
    """

    event: str = ""


class ExecutorStartError(ExecutorError):
    """An executor did not start.

    Example:
        >>> engine = DockerEngine(host="unix:///nonexistent.sock")
        >>> try:
        ...     DockerExecutor(engine=engine)
        ... except ExecutorStartError as error:
        ...     print(type(error).__name__)
        EngineUnavailableError
    """


class EngineUnavailableError(ExecutorStartError):
    """The container engine does not respond, or this user may not use it.

    Example:
        >>> DockerExecutor(engine=DockerEngine(host="unix:///nonexistent.sock"))
        Traceback (most recent call last):
            ...
        smolagents_fork.errors.EngineUnavailableError: no container engine answers at ...
    """


class ImageBuildError(ExecutorStartError):
    """An image could not be built; the message quotes the builder's last lines.

    Example:
        >>> text = "FROM scratch\\nRUN false"
        >>> try:
        ...     DockerExecutor.setup(dockerfile_content=text, progress=lambda line: None)
        ... except ImageBuildError as error:
        ...     print(error)
        image ... could not be built: ...
    """


class ExecutorClosedError(ExecutorError):
    """An executor was used after ``cleanup()``.

    Example:
        >>> executor = ProcessExecutor()
        >>> executor.cleanup()
        >>> executor("1 + 1")
        Traceback (most recent call last):
            ...
        smolagents_fork.errors.ExecutorClosedError: ProcessExecutor: call after cleanup(); ...
    """


class AuditError(ExecutorError):
    """A line of the record that ``audit=`` asks for could not be written.

    Example:
        >>> LocalPythonExecutor([], audit="/nonexistent/audit.jsonl")
        Traceback (most recent call last):
            ...
        smolagents_fork.errors.AuditError: audit='/nonexistent/audit.jsonl' cannot be written ...
    """


class SandboxTimeoutError(ExecutorError, TimeoutError):
    """Code ran past its time limit; the message says whether the state survived.

    Example:
        >>> with ProcessExecutor(timeout_seconds=0.5) as executor:
        ...     executor("while True: pass")
        Traceback (most recent call last):
            ...
        smolagents_fork.errors.SandboxTimeoutError: code ran past timeout_seconds=0.5; ...
    """


class SandboxDiedError(ExecutorError):
    """The kernel, process or container that ran the code has ended; the message names the cause.

    Args:
        message: Text that says what happened.
        cause: ``out_of_memory``, ``exit``, ``signal``, ``removed``, ``connection``, ``node`` (of
            a cluster: it is lost) or ``unknown``.

    Example:
        >>> with ProcessExecutor(["os"]) as executor:
        ...     try:
        ...         executor("import os; os._exit(3)")
        ...     except SandboxDiedError as error:
        ...         print(error.cause)
        exit
    """

    def __init__(self, message: str = "", *, cause: str = "unknown") -> None:
        super().__init__(message)
        self.cause = cause


class ProtocolError(ExecutorError):
    """The sandbox violated the protocol of its connection.

    Example:
        >>> try:
        ...     raise ProtocolError("a frame of 5 GB was announced")
        ... except ExecutorError as error:
        ...     print(error)
        a frame of 5 GB was announced
    """


class FileTooLargeError(ExecutorError):
    """A file of a sandbox has more bytes than the caller allowed.

    Example:
        >>> with ProcessExecutor(files={"data.csv": b"1,2,3"}) as executor:
        ...     executor.get_file("data.csv", max_bytes=4)
        Traceback (most recent call last):
            ...
        smolagents_fork.errors.FileTooLargeError: ... more than 4 bytes; raise max_bytes
    """


class AgentProgramError(ExecutorError):
    """A program in an ``AgentSandbox`` ended with an error.

    Args:
        message: Text that says what happened, with the end of the output.
        exit_code: Exit code of the program; the negative number of the signal that killed it.
        output: Printed text; a long one without its middle.

    Example:
        >>> with AgentSandbox() as box:
        ...     try:
        ...         box.run_code("raise SystemExit(3)")
        ...     except AgentProgramError as error:
        ...         print(error.exit_code)
        3
    """

    def __init__(self, message: str, exit_code: int, output: str) -> None:
        super().__init__(message, exit_code, output)
        self.exit_code = exit_code
        self.output = output

    def __str__(self) -> str:
        return str(self.args[0])


class InterpreterError(ForkError, ValueError):
    """A program was refused, failed, or was stopped at a limit; also: it is not Python.

    Example:
        >>> try:
        ...     LocalPythonExecutor([])("x =")
        ... except InterpreterError as error:
        ...     print(error)
        Code parsing failed on line 1 due to: SyntaxError: ...
    """


class ProgramRefusedError(InterpreterError):
    """Policy forbids an operation: an import that is not listed, and others in ``local``.

    Example:
        >>> try:
        ...     LocalPythonExecutor([])("print.__self__")
        ... except ProgramRefusedError as error:
        ...     print(error)
        Code execution failed at line 'print.__self__' (line 1) due to: ...
    """


class ImportRefusedError(ProgramRefusedError, ModuleNotFoundError):
    """An import is not authorised; a ``ModuleNotFoundError``, so that programs can fall back.

    Example:
        >>> try:
        ...     LocalPythonExecutor([])("import os")
        ... except ImportRefusedError as error:
        ...     print(error)
        Code execution failed ...: Import of os is not allowed. ...
    """


class AttributeRefusedError(ProgramRefusedError, AttributeError):
    """An attribute is not accessible; an ``AttributeError``, so that programs can fall back.

    Example:
        >>> code = '''
        ... try:
        ...     print.__self__
        ... except AttributeError as error:
        ...     print(type(error).__name__)
        ... '''
        >>> LocalPythonExecutor([])(code).logs
        'AttributeRefusedError\\n'
    """


class ProgramFailedError(InterpreterError):
    """The program raised an exception and did not catch it; ``__cause__`` is that exception.

    Example:
        >>> try:
        ...     LocalPythonExecutor([])("1 / 0")
        ... except ProgramFailedError as error:
        ...     print(repr(error.__cause__))
        ZeroDivisionError('division by zero')
    """


class ProgramInterruptedError(InterpreterError):
    """The host ended the program with ``interrupt()``; its state is kept.

    Example:
        >>> executor = LocalPythonExecutor([], max_while_iterations=10**12)
        >>> threading.Timer(0.2, executor.interrupt).start()
        >>> try:
        ...     executor("while True: pass")
        ... except ProgramInterruptedError as error:
        ...     print(error)
        Code execution failed ...: the code was interrupted by interrupt(); its state is kept
    """


class LimitExceededError(InterpreterError):
    """A limit of ``local`` was reached; the message names the limit and its value.

    Example:
        >>> try:
        ...     LocalPythonExecutor([], max_while_iterations=100)("while True: pass")
        ... except LimitExceededError as error:
        ...     print(error)
        Code execution failed ...: Maximum number of 100 iterations in While loop exceeded ...
    """


class TimeLimitExceededError(LimitExceededError, TimeoutError):
    """The program ran past ``timeout_seconds``.

    Example:
        >>> try:
        ...     LocalPythonExecutor([], timeout_seconds=0.5)("for n in range(10**12): pass")
        ... except TimeLimitExceededError as error:
        ...     print(error)
        Code execution failed ...: Code execution exceeded the maximum execution time of 0.5 seconds
    """
