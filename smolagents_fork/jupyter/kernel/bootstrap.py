"""Source text sent to a new kernel: the codec and the kernel side of the protocol."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from dataclasses import dataclass
from importlib import resources

from ... import codec
from ...output import DEFAULT_PRINT_LENGTH

__all__ = ["KernelSettings", "install_request"]


@dataclass(frozen=True)
class KernelSettings:
    """Settings that prepare a kernel.

    Attributes:
        max_print_outputs_length: characters kept of a call's output, and of a value's text.
        max_value_bytes: largest encoded value, either way.
        allow_pickle: whether the kernel may pickle an answer that the codec refuses.
        allow_root: whether the kernel may run as root.
        start_advice: advice for the end of a failed start's message; may be empty.
    """

    max_print_outputs_length: int = DEFAULT_PRINT_LENGTH
    max_value_bytes: int = 256 * 1024 * 1024
    allow_pickle: bool = False
    allow_root: bool = False
    start_advice: str = ""

    @property
    def streamed_length(self) -> int:
        """Characters of a call's output that the kernel sends as they are printed.

        ``on_output`` gets them, and they are there after a kernel's sudden end. Of later ones, the
        last half as many are sent at the end of the call.
        """
        return max(1_000_000, self.max_print_outputs_length)


_MAX_ERROR_CHARS = 100_000
#: Short names of the modules in the kernel, and their files in the package. The last one installs
#: the others; the codec, which is made of many files, comes before them.
_MODULES = {
    "texts": "text/texts",
    "output": "output",
    "value": "interpreter/last_value",
    "awaiting": "interpreter/program_loop",
    "builtins": "interpreter/program_builtins",
    "files": "guest/worker_files",
    "process": "jupyter/kernel/kernel_process",
    "loop": "jupyter/kernel/kernel_loop",
    "stdin": "jupyter/kernel/kernel_stdin",
    "traceback": "jupyter/kernel/kernel_traceback",
    "packages": "jupyter/kernel/kernel_packages",
    "agent": "jupyter/kernel/agent",
}
#: The same for modules that are compiled at the first error; the last one is that of the hints.
_LATE_MODULES = {
    "standard_library": "standard_library",
    "short_texts": "text/short_texts",
    "hints": "text/hints",
}
_IMPORT = re.compile(rb"^from \.+(\w+) import", re.MULTILINE)
# Runs in the kernel. The sources are buffers of the request, so nothing has to be quoted.
_LOADER = f"""
def _load():
    import functools, sys, types
    parts = [bytes(b) for b in get_ipython().kernel.get_parent("shell")["buffers"]]
    modules = types.SimpleNamespace()
    def load(name, source):
        module = types.ModuleType("smolagents_fork_" + name)
        sys.modules[module.__name__] = module
        exec(compile(source, "<smolagents_fork " + name + ">", "exec"), module.__dict__)
        setattr(modules, name, module)
    late = [*zip({[*_LATE_MODULES]}, parts)]
    for name, source in zip({["codec", *_MODULES]}, parts[len(late):]):
        load(name, source)
    @functools.lru_cache(maxsize=1)
    def load_hints():
        for name, source in late:
            load(name, source)
        return modules.hints
    modules.load_hints = load_hints
    modules.agent.install(get_ipython(), modules, parts[-1])
_load()
del _load
"""


@functools.lru_cache(maxsize=1)
def _sources() -> list[bytes]:
    package = resources.files("smolagents_fork")
    files = (*_LATE_MODULES.values(), *_MODULES.values())
    parts = [package.joinpath(f"{name}.py").read_bytes() for name in files]
    # In the kernel, each is a module of its own.
    own = [_IMPORT.sub(rb"from smolagents_fork_\1 import", part) for part in parts]
    late = len(_LATE_MODULES)
    return [*own[:late], codec.sandbox_source().encode(), *own[late:]]


def install_request(comm_id: str, settings: KernelSettings) -> tuple[str, list[bytes]]:
    """Return code and buffers of the request that prepares a kernel.

    Args:
        comm_id: id of the comm on which the kernel side sends data; new for every start.
    """
    sent = {
        **dataclasses.asdict(settings),
        "streamed_length": settings.streamed_length,
        "comm_id": comm_id,
        "max_error_chars": _MAX_ERROR_CHARS,
    }
    return _LOADER, [*_sources(), json.dumps(sent).encode()]
