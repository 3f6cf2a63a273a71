"""The Wasm executor: code in Pyodide, in a Deno process without permissions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ... import codec
from ...distributions.requirements import requirements_for
from ...errors import ConfigurationError, ExecutorStartError
from ...wasm.wheels import wheels_for
from ..guests.guest_executor import GuestExecutor, interpreter_limits
from ..validation import check_known, parameters_of
from .wasm_launcher import WasmLauncher, installation
from .wasm_options import WasmOptions

__all__ = ["WasmExecutor"]

# Modules that lead to JavaScript. Programs get Python.
_JAVASCRIPT = frozenset({"_pyodide", "js", "pyodide", "pyodide_js"})


class WasmExecutor(GuestExecutor):
    """Run code in Python in WebAssembly, in a Deno process that may read its own files only.

    No guarantee rests on the interpreter in the guest: it gives meaning and messages.

    Args:
        additional_authorized_imports: modules the code may import besides the built-in list. What
            provides them is fetched by pip on the host, once an executor.
        logger: upstream's ``AgentLogger``.
        timeout_seconds: wall clock of one call, without the time the host works for it in tools;
            ``None`` for no limit. At the limit the program is stopped with its state kept; one that
            does not stop is killed.
        interrupt_grace_seconds: how long a program may take to stop before it is killed.
        startup_timeout_seconds: for a guest's start.
        setup_timeout_seconds: for what is fetched and made once.
        memory: what the code may add to Python's own memory, in bytes or as ``"512m"``.
        deno: another Deno program than the package's.
        pyodide_dir: folder with the files of the pinned release of Pyodide, in the place of the
            ones from npm.
        packages_dir: folder with wheels of Pyodide's own packages.
        cache_dir: another folder than the user's cache for what is kept from start to start.
        max_print_outputs_length: characters kept of what a call prints, first and last half.
        max_value_bytes: largest encoded value in either direction.
        max_tool_calls: calls of tools in one run.
        tool_timeout_seconds: how long one tool may work on the host.
        tools_in_calling_thread: call tools in the thread that runs the code and not in one of their
            own, for those bound to it; interruption then waits for a tool that blocks.
        on_output: gets printed text while the code runs.
        tool_placement: tool name -> ``"host"``; there is no other place here.
        additional_functions: functions of the host the code may call, as it calls tools.
        max_operations, max_while_iterations, max_recursion_depth: the interpreter's own limits.

    Raises:
        ConfigurationError: an argument that cannot work.
        ExecutorStartError: Deno, Pyodide or a package cannot be had, or the guest did not start.
    """

    label: ClassVar[str] = "wasm"

    def __init__(
        self,
        additional_authorized_imports: Sequence[str] = (),
        logger: Any = None,
        *,
        timeout_seconds: float | None = 30.0,
        interrupt_grace_seconds: float = 0.5,
        startup_timeout_seconds: float = 60.0,
        setup_timeout_seconds: float = 600.0,
        memory: int | str | None = "512m",
        deno: str | None = None,
        pyodide_dir: str | os.PathLike[str] | None = None,
        packages_dir: str | os.PathLike[str] | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        max_print_outputs_length: int | None = None,
        max_value_bytes: int = codec.DEFAULT_MAX_BYTES,
        max_tool_calls: int = 100_000,
        tool_timeout_seconds: float | None = None,
        tools_in_calling_thread: bool = False,
        on_output: Callable[[str], None] | None = None,
        tool_placement: Mapping[str, str] | None = None,
        additional_functions: Mapping[str, Callable[..., Any]] | None = None,
        max_operations: int | None = None,
        max_while_iterations: int | None = None,
        max_recursion_depth: int | None = None,
        **unknown: Any,
    ) -> None:
        check_known(type(self).__name__, unknown, parameters_of(WasmExecutor))
        self.options = WasmOptions(
            timeout_seconds=timeout_seconds,
            interrupt_grace_seconds=interrupt_grace_seconds,
            startup_timeout_seconds=startup_timeout_seconds,
            setup_timeout_seconds=setup_timeout_seconds,
            memory=memory,
            deno=deno,
            pyodide_dir=pyodide_dir,
            packages_dir=packages_dir,
            cache_dir=cache_dir,
            max_output_bytes=50_000
            if max_print_outputs_length is None
            else max_print_outputs_length,
            max_value_bytes=max_value_bytes,
            max_tool_calls=max_tool_calls,
            tool_timeout_seconds=tool_timeout_seconds,
            on_output=on_output,
            limits=interpreter_limits(
                max_operations,
                max_while_iterations,
                max_recursion_depth,
                max_print_outputs_length,
            ),
        )
        super().__init__(
            additional_authorized_imports,
            logger,
            self.options,
            tools_in_calling_thread=tools_in_calling_thread,
            additional_functions=additional_functions,
            tool_placement=tool_placement,
        )
        self.start()

    def _start(self) -> None:
        if sys.platform == "win32":
            raise ExecutorStartError(
                "WasmExecutor waits for Deno by means that Windows does not have: use "
                "executor_type='docker'"
            )
        if refused := sorted(
            _JAVASCRIPT & {name.split(".")[0] for name in self.additional_imports}
        ):
            raise ConfigurationError(
                f"additional_authorized_imports: {', '.join(refused)}: JavaScript is not for "
                "programs; give the code a tool"
            )
        requirements = requirements_for(self.additional_imports)
        base = installation(self.options)
        folder = self.options.packages_dir
        wheels = wheels_for(
            requirements,
            base.cache,
            base.pyodide / "pyodide-lock.json",
            None if folder is None else Path(folder).resolve(),
            self.options.setup_timeout_seconds,
        )
        self._launch(WasmLauncher(self.options, base, list(self.additional_imports), wheels))

    @classmethod
    def setup(cls, **options: Any) -> None:
        """Fetch and make what starts need, at an application's start or in an image's build.

        Args:
            options: ``deno``, ``pyodide_dir``, ``cache_dir`` and ``setup_timeout_seconds`` as the
                constructor takes them.
        """
        installation(WasmOptions(**options))
