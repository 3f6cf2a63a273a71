"""Base of the executors whose guest speaks in frames."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from ... import errors
from ...errors import InterpreterError
from ...folders.file_store import FileStore
from ...text.hints import advice, network_hint
from ..session.guest import Ask, Failure, Request, Task
from ..session.sandbox_executor import SandboxExecutor
from .frame_guest import FrameGuest
from .guest_options import GuestOptions

__all__ = ["GuestExecutor"]


class GuestExecutor(SandboxExecutor):
    """An executor whose programs run under a worker in a process of its own."""

    #: The executor's name in messages.
    label: ClassVar[str]
    options: GuestOptions

    def _prepare(self, ask: Ask) -> None:
        """Give a new guest the files of ``files=``."""
        if self.options.given_files.entries:
            store = self._files_of_guest(lambda body: self._ask_new_guest(ask, body))
            self.options.given_files.send(store)

    def _ask_new_guest(self, ask: Ask, body: bytes) -> bytes:
        return bytes(ask(_file_request(body), "files"))

    @abstractmethod
    def _files_of_guest(self, ask: Callable[[bytes], bytes]) -> FileStore:
        """Return the files of a guest.

        Args:
            ask: sends the body of a request for a file, and returns that of its answer.
        """

    def _ask_file(self, body: bytes) -> bytes:
        """Have the worker carry out a request for a file; between runs only.

        Raises:
            ExecutorError: the guest refused, or ended.
        """
        return bytes(self._open_session().request(_file_request(body), "files"))

    @property
    def pid(self) -> int | None:
        """The guest's process number; ``None`` without a guest."""
        guest = self._open_session().guest
        return guest.process.pid if isinstance(guest, FrameGuest) else None

    def _sandbox_name(self) -> str:
        pid = None if self._session is None else self.pid
        return self.place or (f"{self.label} {pid}" if pid is not None else "")

    def _explain(self, failure: Failure) -> Exception:
        return _program_error(failure.name)(failure.value + self._advice(failure.value))

    def _advice(self, message: str) -> str:
        return advice(
            message,
            self.options.network_remedy,
            of_module=self.options.module_advice,
            proxied=self._proxy is not None,
            confined=True,
        )

    def _network_hint(self, logs: str) -> str:
        return network_hint(logs, self.options.network_remedy, proxied=self._proxy is not None)


def _file_request(body: bytes) -> Request:
    return Request(Task.FILE, [body])


def _program_error(name: str) -> type[InterpreterError]:
    """Return the error class that a guest names."""
    # Compared with the classes there are; nothing is looked up that the guest could choose.
    known = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, InterpreterError)
    }
    return known.get(name, InterpreterError)
