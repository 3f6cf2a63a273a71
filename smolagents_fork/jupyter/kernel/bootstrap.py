"""Source text sent to a new kernel: the codec and the kernel side of the protocol."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from importlib import resources

from ... import codec

__all__ = ["install_request", "packages_request"]

# Runs in the kernel. The sources are buffers of the request, so nothing has to be quoted.
_LOADER = """
def _load():
    import sys, types
    parts = [bytes(b) for b in get_ipython().kernel.get_parent("shell")["buffers"]]
    modules = []
    names = "codec texts output value awaiting files process loop stdin traceback kernel".split()
    for name, source in zip(names, parts):
        module = types.ModuleType("smolagents_fork_" + name)
        sys.modules[module.__name__] = module
        exec(compile(source, "<smolagents_fork " + name + ">", "exec"), module.__dict__)
        modules.append(module)
    modules[-1].install(get_ipython(), *modules[:-1], parts[-1])
_load()
del _load
"""


@functools.lru_cache(maxsize=1)
def _sources() -> list[bytes]:
    here = resources.files(__package__)
    package = resources.files("smolagents_fork")
    files = ("text/texts", "output", "interpreter/last_value", "interpreter/program_loop")
    shared = [package.joinpath(f"{name}.py").read_bytes() for name in files]
    # In the kernel, the codec is a module of its own.
    worker_files = package.joinpath("guest/worker_files.py").read_bytes()
    shared.append(worker_files.replace(b"from ..codec ", b"from smolagents_fork_codec "))
    names = ("kernel_process", "kernel_loop", "kernel_stdin", "kernel_traceback", "agent")
    own = [here.joinpath(f"{name}.py").read_bytes() for name in names]
    return [codec.sandbox_source().encode(), *shared, *own]


def install_request(
    *,
    comm_id: str,
    max_print_outputs_length: int,
    streamed_length: int,
    max_value_bytes: int,
    max_error_chars: int,
    allow_pickle: bool,
    allow_root: bool = False,
) -> tuple[str, list[bytes]]:
    """Return code and buffers of the request that prepares a kernel.

    Args:
        comm_id: id of the comm on which the kernel side sends data; new for every start.
        max_print_outputs_length: limit of a value's text, in characters.
        streamed_length: characters of a call's output that are sent as they are printed. Of later
            ones, the last half as many are sent at the end.
        max_value_bytes: largest encoded value in either direction, in bytes.
        max_error_chars: longest traceback, in characters.
        allow_pickle: whether the kernel may pickle an answer that the codec refuses.
        allow_root: whether the kernel may run as root.
    """
    settings = {
        "comm_id": comm_id,
        "max_print_outputs_length": max_print_outputs_length,
        "streamed_length": streamed_length,
        "max_value_bytes": max_value_bytes,
        "max_error_chars": max_error_chars,
        "allow_pickle": allow_pickle,
        "allow_root": allow_root,
    }
    return _LOADER, [*_sources(), json.dumps(settings).encode()]


# The source is the last buffer.
_PACKAGES = """
def _add():
    kernel = get_ipython().kernel
    names = {"__name__": "smolagents_fork_packages"}
    source = bytes(kernel.get_parent("shell")["buffers"][2])
    exec(compile(source, "<smolagents_fork packages>", "exec"), names)
    names["add_packages"](kernel)
try:
    _add()
finally:
    del _add
"""


def packages_request(
    *,
    requirements: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    ca_bundle: bytes,
    seconds: float,
) -> tuple[str, list[bytes]]:
    """Return code and buffers of the request that installs packages for a running kernel.

    Later calls of pip in the kernel use the same settings.

    Args:
        requirements: requirements in pip's syntax; none: only pip's settings are made.
        folder: target folder, writable by the kernel.
        environment: pip's settings.
        ca_bundle: certificates that pip trusts; empty for pip's default.
        seconds: time limit for pip.
    """
    settings = {
        "requirements": list(requirements),
        "folder": folder,
        "environment": dict(environment),
        "seconds": seconds,
    }
    source = resources.files(__package__).joinpath("kernel_packages.py").read_bytes()
    return _PACKAGES, [json.dumps(settings).encode(), ca_bundle, source]
