"""Executors of the suite, made with the same options."""

from __future__ import annotations

import contextlib
import inspect
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest
from background import acting
from contract_declarations import difference
from contract_engines import HostedExecutor, KubernetesExecutor
from smolagents import LocalPythonExecutor

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine, WasmExecutor
from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.executors.docker.options import DockerOptions
from smolagents_fork.executors.process.process_options import ProcessOptions
from smolagents_fork.executors.wasm.wasm_options import WasmOptions
from smolagents_fork.options.option import about
from smolagents_fork.wasm import wheels

#: Imports of the suite's programs, in every executor.
PLAIN = ("asyncio", "contextvars", "threading", "time")
#: Modules by which code could reach its host.
WIDE = (
    *("dataclasses", "enum", "inspect", "json", "os", "pathlib", "socket", "subprocess"),
    "urllib.request",
)
#: Of the same packages as the container executor's own tests: one image serves both.
SCIENCE = ("numpy", "pandas", "matplotlib", "matplotlib.pyplot", "PIL", "PIL.Image")
#: What defines classes and compiles functions.
PACKAGES = ("attrs", "numba", "pydantic")
#: Packages of compiled code: wheels for Pyodide cannot be had on every machine.
COMPILED = (*SCIENCE, "numba", "pydantic")
#: What ordinary programs import; their executor is sent no tools.
ORDINARY = (
    *("argparse", "collections", "contextlib", "ctypes", "dataclasses", "gc", "inspect"),
    *("io", "json", "linecache", "os", "pickle", "sys", "traceback", "types", "typing", "urllib"),
    *("xml", "zoneinfo"),
)
#: Imports of shared executors, where they are others than :data:`PLAIN`.
IMPORTS = {
    "files": ("os", *SCIENCE),
    "ordinary": ORDINARY,
    "packaged": PACKAGES,
    "science": SCIENCE,
    "wide": WIDE,
}
#: Files of the executor that tests of files share.
FILES = {"data.csv": b"a,b\n1,2\n", "in put/ä b.bin": bytes(range(256))}


#: Of supervisors on a cluster, in seconds: a busy machine delays heartbeats.
_LEASE = 60.0


@dataclass(frozen=True)
class Kind:
    """One executor: its class, and its names in the suite."""

    name: str
    cls: type[Any]
    #: Its name in the ids of tests; the others are those of the executor that it behaves as.
    column: str = ""

    @property
    def timeout(self) -> float:
        """Seconds that code may run in the executor with limits."""
        return CLUSTER_TIMEOUT if self.column else TIMEOUT


class RayProcess(ProcessExecutor):
    """A process executor on the test's Ray cluster, which the environment names."""

    def __init__(
        self, additional_authorized_imports: Sequence[str] = (), logger: Any = None, **options: Any
    ) -> None:
        engine = RayEngine(sandbox="process", slots_per_node=12, lease_seconds=_LEASE)
        options = {"startup_timeout_seconds": 120.0, "engine": engine, **options}
        super().__init__(additional_authorized_imports, logger, **options)


class RayDocker(DockerExecutor):
    """A container executor on the test's Ray cluster, which the environment names."""

    def __init__(
        self, additional_authorized_imports: Sequence[str] = (), logger: Any = None, **options: Any
    ) -> None:
        # What Ray sets aside, not what a container may use: the nodes share this machine.
        engine = RayEngine(
            slots_per_node=12, cpus_per_slot=0.25, memory_per_slot="32m", lease_seconds=_LEASE
        )
        options = {"startup_timeout_seconds": 240.0, "engine": engine, **options}
        super().__init__(additional_authorized_imports, logger, **options)


KINDS = {
    "local": Kind("local", LocalPythonExecutor),
    "process": Kind("process", ProcessExecutor),
    "docker": Kind("docker", DockerExecutor),
    "wasm": Kind("wasm", WasmExecutor),
    "kubernetes": Kind("docker", KubernetesExecutor, "kubernetes"),
    "hosted": Kind("docker", HostedExecutor, "hosted"),
    "ray-process": Kind("process", RayProcess, "ray-process"),
    "ray-docker": Kind("docker", RayDocker, "ray-docker"),
}


#: Time interrupted code may take to end, where it is not the subject. Milliseconds are usual, but a
#: busy machine may need much more.
GRACE = 20.0
#: Limits of the executor that tests of limits share; a start costs seconds.
TIMEOUT, OUTPUT_LIMIT = 2.0, 1000
#: The same on clusters, where each call takes more processes.
CLUSTER_TIMEOUT = 10.0


#: Seconds from a call of the code to the action of another thread; no result depends on them.
SOON = 0.3


class Listener:
    """``on_output`` of the shared executors."""

    def __init__(self) -> None:
        #: Text that it received.
        self.pieces: list[str] = []
        #: The thread in which it was called last.
        self.thread = 0
        self._error: BaseException | None = None

    def __call__(self, text: str) -> None:
        self.pieces.append(text)
        self.thread = threading.get_ident()
        if self._error is not None:
            raise self._error

    @contextlib.contextmanager
    def failing(self, error: BaseException) -> Iterator[None]:
        """Raise ``error`` once it has received text."""
        self._error = error
        try:
            yield
        finally:
            self._error = None


class Shared:
    """Executors that live as long as the session: a start costs seconds."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], Any] = {}
        self._stack = contextlib.ExitStack()
        self.listener = Listener()
        #: Packages that have been shown to be named when they have no wheel; pip takes a second.
        self.named: set[str] = set()

    def get(self, kind: Kind, which: str) -> Any:
        """Return the executor ``which``: "plain", "limited" or one of :data:`IMPORTS`."""
        key = (kind.column or kind.name, which)
        if key not in self._made:
            options: dict[str, Any] = {"timeout_seconds": 60}
            options["on_output"] = self.listener
            if kind.name != "local":
                options["interrupt_grace_seconds"] = GRACE
            if which == "limited":
                options.update(timeout_seconds=kind.timeout, max_print_outputs_length=OUTPUT_LIMIT)
                if kind.name == "local":
                    # The clock is the subject, not the interpreter's limit of operations.
                    options.update(max_operations=10**12, max_while_iterations=10**12)
                if kind.name != "local":
                    options["tool_timeout_seconds"] = 4.0
                    # Here, code that catches everything is to be ended by force.
                    options["interrupt_grace_seconds"] = 30.0 if kind.column else 3.0
            if which == "files":
                options["files"] = FILES
            chosen = IMPORTS.get(which, PLAIN)
            imports = [name for name in chosen if kind.name != "wasm" or name not in COMPILED]
            self._made[key] = made = kind.cls(imports, **options)
            self._stack.callback(made.cleanup)
        return self._made[key]

    def close(self) -> None:
        """Clean all of them up."""
        self._stack.close()


def _shared_executor(which: str) -> Any:
    """Return a property of :class:`Contract`: the executor ``which`` of :class:`Shared`."""
    return property(lambda contract: contract._shared.get(contract.kind, which))


class Contract:
    """One kind of executor, for a test of the suite."""

    def __init__(self, kind: Kind, test: str, shared: Shared) -> None:
        self.kind = kind
        self.asked = False
        self.declared = difference(kind.column, test) or difference(kind.name, test)
        self._shared, self.listener = shared, shared.listener
        self._stack = contextlib.ExitStack()

    @property
    def differs(self) -> bool:
        """Tell whether a difference is declared for this test and executor."""
        self.asked = True
        return self.declared is not None

    def without_threads(self, executor: Any) -> bool:
        """Hold the difference that code starts no threads, where it is declared."""
        if self.differs:
            with pytest.raises(Exception, match="can't start new thread"):
                executor("import threading\nthreading.Thread(target=print).start()")
        return self.differs

    def without_wheels(self, name: str, distribution: str) -> bool:
        """Hold the difference that a package without a wheel is named, where it is declared."""
        if self.differs and name not in self._shared.named:
            # Neither pip nor the cache knows of one, also where the user's index has some.
            nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
            message = f"{distribution} has to be there as a wheel"
            with (
                mock.patch.dict(os.environ, nowhere),
                mock.patch.object(wheels, "_read_remembered", return_value=None),
                pytest.raises(ExecutorStartError, match=message),
            ):
                self.kind.cls([name])
            self._shared.named.add(name)
        return self.differs

    #: An executor that other tests use, too.
    shared = _shared_executor("plain")
    #: One whose code may import :data:`ORDINARY`.
    ordinary = _shared_executor("ordinary")
    #: One whose code may import what could reach its host.
    wide = _shared_executor("wide")
    #: One with :data:`FILES`, whose code may import ``os`` and, not in Wasm, pandas.
    with_files = _shared_executor("files")
    #: One with the limits above.
    limited = _shared_executor("limited")
    #: One with numpy, pandas and Pillow.
    science = _shared_executor("science")
    #: One with :data:`PACKAGES`; in Wasm with those of plain Python.
    packaged = _shared_executor("packaged")

    def takes(self, option: str) -> bool:
        """Tell whether the executor has an option of that name."""
        if self.kind.name == "local":
            return option in inspect.signature(self.kind.cls).parameters
        kinds = {"docker": DockerOptions, "process": ProcessOptions, "wasm": WasmOptions}
        return option in about(kinds[self.kind.name])

    def make(self, imports: Sequence[str] = PLAIN, **options: Any) -> Any:
        """Make an executor for one test, closed after it."""
        made = self.kind.cls(list(imports), **options)
        self._stack.callback(made.cleanup)
        return made

    def agent_options(self, **options: Any) -> dict[str, Any]:
        """Return arguments that give an agent its own executor of this kind."""
        return {
            "executor_class": self.kind.cls,
            "executor_kwargs": options,
            "additional_authorized_imports": list(PLAIN),
        }

    def keep(self, agent: Any) -> Any:
        """Return ``agent`` and clean it up after the test."""
        self._stack.callback(agent.cleanup)
        return agent

    @contextlib.contextmanager
    def once_begun(self, executor: Any, action: Callable[[], Any]) -> Iterator[None]:
        """Run ``action`` in another thread when code of the block has called ``begin()``.

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
    """Return the output of the last call, as upstream's agent reads it after an error."""
    return str(executor.state["_print_outputs"])
