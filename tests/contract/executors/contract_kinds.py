"""The executors of the suite, made alike."""

from __future__ import annotations

import contextlib
import inspect
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from background import acting
from contract_declarations import difference
from smolagents import LocalPythonExecutor

from smolagents_fork import DockerExecutor, ProcessExecutor, WasmExecutor
from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.executors.docker.options import option_names

#: What programs of the suite import, in every executor.
PLAIN = ("threading", "time")
#: The same list as the container executor's own tests: one image serves both.
SCIENCE = ("numpy", "pandas", "matplotlib", "PIL")


@dataclass(frozen=True)
class Kind:
    """One executor: its class, and how the suite's words for options are said to it."""

    name: str
    cls: type[Any]
    output_limit: str

    def options(self, **options: Any) -> dict[str, Any]:
        """``options`` as the class calls them; ``output_limit`` counts characters."""
        if "output_limit" in options:
            options[self.output_limit] = options.pop("output_limit")
        return options


KINDS = {
    "local": Kind("local", LocalPythonExecutor, "max_print_outputs_length"),
    "process": Kind("process", ProcessExecutor, "max_print_outputs_length"),
    "docker": Kind("docker", DockerExecutor, "max_output_bytes"),
    "wasm": Kind("wasm", WasmExecutor, "max_print_outputs_length"),
}


#: How long interrupted code may take to end where nothing else is the subject. Milliseconds are
#: usual, and a busy machine needs what it needs.
GRACE = 20.0
#: Limits of the executor that tests of limits share; a start costs seconds.
TIMEOUT, TOOL_TIMEOUT, OUTPUT_LIMIT = 2.0, 4.0, 1000


#: Seconds from a call of the code's to what is to happen behind it; nothing depends on them.
SOON = 0.3


class Shared:
    """Executors that live as long as the session: a start costs seconds."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], Any] = {}
        self._stack = contextlib.ExitStack()
        #: What ``on_output`` of the executors got.
        self.streamed: list[str] = []

    def get(self, kind: Kind, which: str) -> Any:
        """The executor ``which``: "plain", "science" or "limited"."""
        key = (kind.name, which)
        if key not in self._made:
            options: dict[str, Any] = {"timeout_seconds": 60}
            if kind.name != "local":
                options["on_output"] = self.streamed.append
                options["interrupt_grace_seconds"] = GRACE
            if which == "limited":
                options.update(timeout_seconds=TIMEOUT, output_limit=OUTPUT_LIMIT)
                if kind.name != "docker":
                    # The clock is the subject, and not the interpreter's budget.
                    options.update(max_operations=10**12, max_while_iterations=10**12)
                if kind.name != "local":
                    options["tool_timeout_seconds"] = TOOL_TIMEOUT
                    # Here, code that catches everything is to be ended by force.
                    options["interrupt_grace_seconds"] = 3.0
            # Wheels for Pyodide cannot be had on every machine; without, it is one more executor.
            science = which == "science" and kind.name != "wasm"
            imports = list(SCIENCE if science else PLAIN)
            self._made[key] = made = kind.cls(imports, **kind.options(**options))
            self._stack.callback(made.cleanup)
        return self._made[key]

    def close(self) -> None:
        """Clean all of them up."""
        self._stack.close()


class Contract:
    """What a test of the suite works with: one kind of executor."""

    def __init__(self, kind: Kind, test: str, shared: Shared) -> None:
        self.kind = kind
        self.asked = False
        self.declared = difference(kind.name, test)
        self._shared = shared
        self._stack = contextlib.ExitStack()

    @property
    def differs(self) -> bool:
        """Whether a difference is declared for this test and executor."""
        self.asked = True
        return self.declared is not None

    def without_threads(self, executor: Any) -> bool:
        """Hold the difference that code starts no threads, where it is declared."""
        if self.differs:
            with pytest.raises(Exception, match="can't start new thread"):
                executor("import threading\nthreading.Thread(target=print).start()")
        return self.differs

    def without_wheels(self, name: str) -> bool:
        """Hold the difference that a package cannot be had here, where it is declared."""
        if self.differs:
            with pytest.raises(ExecutorStartError, match=name):
                self.kind.cls([name])
        return self.differs

    @property
    def shared(self) -> Any:
        """An executor that other tests use, too."""
        return self._shared.get(self.kind, "plain")

    @property
    def limited(self) -> Any:
        """One with the limits above."""
        return self._shared.get(self.kind, "limited")

    @property
    def streamed(self) -> list[str]:
        """What ``on_output`` of the shared executors has got."""
        return self._shared.streamed

    def takes(self, option: str) -> bool:
        """Whether the executor has an option of that name."""
        parameters = inspect.signature(self.kind.cls).parameters
        if self.kind.name == "docker":
            return option in option_names()
        return option in parameters

    @property
    def science(self) -> Any:
        """The same, with numpy, pandas and Pillow."""
        return self._shared.get(self.kind, "science")

    def make(self, imports: Sequence[str] = PLAIN, **options: Any) -> Any:
        """An executor for one test, cleaned up after it."""
        made = self.kind.cls(list(imports), **self.kind.options(**options))
        self._stack.callback(made.cleanup)
        return made

    def agent_options(self, **options: Any) -> dict[str, Any]:
        """Arguments that give an agent an executor of this kind of its own."""
        return {
            "executor_class": self.kind.cls,
            "executor_kwargs": self.kind.options(**options),
            "additional_authorized_imports": list(PLAIN),
        }

    def keep(self, agent: Any) -> Any:
        """``agent``, which is cleaned up after the test."""
        self._stack.callback(agent.cleanup)
        return agent

    @contextlib.contextmanager
    def once_begun(self, executor: Any, action: Callable[[], Any]) -> Iterator[None]:
        """Carry ``action`` out from another thread when code of the block has called ``begin()``.

        So the code runs then, however long a busy machine takes until it does.
        """
        begun = threading.Event()
        executor.send_tools({"begin": begun.set})
        with acting(begun.is_set, lambda: (time.sleep(SOON), action())):
            yield

    def close(self) -> None:
        """Clean up what the test made."""
        self._stack.close()


def printed(executor: Any) -> str:
    """What the last call printed, as upstream's agent reads it after an error."""
    return str(executor.state["_print_outputs"])


def process_gone(pid: int) -> bool:
    """Whether a process has ended; a zombie that nobody has waited for has."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return not os.path.exists(f"/proc/{pid}")
