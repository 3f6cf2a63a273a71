"""The one exception tree of the fork.

::

    ForkError
    ├── ConfigurationError (ValueError)      an argument, or a combination, that cannot work
    ├── ConfigurationTypeError (TypeError)   an argument of the wrong kind
    ├── CodecError (ValueError)              a value and its encoding
    │   ├── EncodeError                      a value that cannot be encoded; names the path to it
    │   └── DecodeError                      bytes that are no valid encoding
    ├── ExecutorError                        an executor could not do what was asked
    │   ├── ExecutorStartError               it did not come up
    │   │   ├── EngineUnavailableError       no container engine answers
    │   │   └── ImageBuildError              an image could not be built; with the builder's words
    │   ├── ExecutorClosedError              used after ``cleanup()``
    │   ├── SandboxTimeoutError (TimeoutError)  code ran past its limit; says whether state survived
    │   ├── SandboxDiedError                 kernel, process or container ended; names the cause
    │   └── ProtocolError                    the other side sent what the protocol does not allow
    └── InterpreterError (ValueError)        the local interpreter refused or stopped a program
        ├── ProgramRefusedError              policy, before the run or by a guard in it
        │   ├── ImportRefusedError (ModuleNotFoundError)
        │   └── AttributeRefusedError (AttributeError)
        ├── ProgramFailedError               the program raised, and nothing in it caught that
        ├── ProgramInterruptedError          the host ended it with ``interrupt()``
        └── LimitExceededError               a limit of the interpreter was reached
            └── TimeLimitExceededError (TimeoutError)  the wall clock's limit

Every message says what happened, to what, the figure that was passed, and what the user can do.
"""

from __future__ import annotations

__all__ = [
    "AttributeRefusedError",
    "CodecError",
    "ConfigurationError",
    "ConfigurationTypeError",
    "DecodeError",
    "EncodeError",
    "EngineUnavailableError",
    "ExecutorClosedError",
    "ExecutorError",
    "ExecutorStartError",
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


class ForkError(Exception):
    """Root of every error the fork raises on its own account."""


class ConfigurationError(ForkError, ValueError):
    """An argument, or a combination of arguments, that cannot work."""


class ConfigurationTypeError(ForkError, TypeError):
    """An argument of the wrong kind, such as an instance where a class is wanted."""


class CodecError(ForkError, ValueError):
    """A value could not be encoded or decoded."""


class EncodeError(CodecError):
    """A value cannot be encoded; the message names the path to it, as in ``vars['a'][3].b``."""


class DecodeError(CodecError):
    """Bytes are no valid encoding, or are over a size or depth limit."""


class ExecutorError(ForkError):
    """An executor could not do what was asked of it."""


class ExecutorStartError(ExecutorError):
    """An executor did not come up."""


class EngineUnavailableError(ExecutorStartError):
    """No container engine answers, or it may not be used by this user."""


class ImageBuildError(ExecutorStartError):
    """An image could not be built; the message carries the builder's own last words."""


class ExecutorClosedError(ExecutorError):
    """An executor was used after ``cleanup()``."""


class SandboxTimeoutError(ExecutorError, TimeoutError):
    """Code ran past its time limit; the message says whether the state survived."""


class SandboxDiedError(ExecutorError):
    """The kernel, process or container that ran the code has ended; the message names the cause."""


class ProtocolError(ExecutorError):
    """The sandbox's side of a connection sent what the protocol does not allow."""


class InterpreterError(ForkError, ValueError):
    """The local interpreter refused a program, or stopped it at a limit."""


class ProgramRefusedError(InterpreterError):
    """Policy forbids what the program does: found before it ran, or by a guard while it ran."""


class ImportRefusedError(ProgramRefusedError, ModuleNotFoundError):
    """An import that is not authorised; a ``ModuleNotFoundError``: a program may fall back."""


class AttributeRefusedError(ProgramRefusedError, AttributeError):
    """An attribute that is not handed out; an ``AttributeError``: a program may fall back."""


class ProgramFailedError(InterpreterError):
    """The program raised an exception nothing in it caught; ``__cause__`` is that exception."""


class ProgramInterruptedError(InterpreterError):
    """The host ended the program with ``interrupt()``; its state is kept."""


class LimitExceededError(InterpreterError):
    """A limit of the interpreter was reached; the message names it and its figure."""


class TimeLimitExceededError(LimitExceededError, TimeoutError):
    """The program ran past ``timeout_seconds``."""
