"""The Deno program: where it is, and the rights it is started with."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable

from ..errors import ExecutorStartError
from ..system.host_pipe import find_program, run_program
from ..text.redaction import without_passwords

__all__ = [
    "BARE_ENVIRONMENT",
    "GUEST_SCRIPT",
    "INSTALL",
    "confined_command",
    "find_deno",
    "own_client",
]

#: What brings everything the executor needs.
INSTALL = "pip install 'smolagents[wasm]'"
#: Program of every guest.
GUEST_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guest.mjs")
#: The whole environment of a confined Deno. Its data folder is below a file, where there can be
#: none: what it would keep there, such as localStorage, is a place to write and outlives it.
BARE_ENVIRONMENT = {
    "DENO_DIR": os.path.join(GUEST_SCRIPT, "none"),
    "DENO_NO_UPDATE_CHECK": "1",
    "NO_COLOR": "1",
}
# Modules from elsewhere would be fetched without asking for the permission to use the network.
_CONFINED = (
    "--no-prompt", "--no-config", "--no-lock", "--no-remote", "--no-npm", "--no-code-cache",
    "--deny-net", "--deny-env", "--deny-write", "--deny-run", "--deny-ffi", "--deny-sys",
    "--deny-import",
)  # fmt: skip


def find_deno(path: str | None = None) -> str:
    """Absolute path of Deno: ``path``, the one that pip installed here, or the first on PATH.

    Raises:
        ExecutorStartError: there is none; says what installs it.
    """
    if path is not None:
        program = find_program(path)
        if program is None:
            raise ExecutorStartError(f"deno={path!r}: there is no such program")
        return program
    try:
        from deno import find_deno_bin

        return os.path.abspath(os.fsdecode(find_deno_bin()))
    except (ImportError, FileNotFoundError):
        program = find_program("deno")
    if program is None:
        raise ExecutorStartError(f"WasmExecutor needs Deno, which is not installed: {INSTALL}")
    return program


def confined_command(
    deno: str, readable: Iterable[str], v8_flags: Iterable[str], arguments: Iterable[str]
) -> list[str]:
    """Return the command of a Deno that may read ``readable`` and has no other permission.

    Args:
        deno: the program.
        readable: files and folders.
        v8_flags: flags of its JavaScript engine.
        arguments: Arguments of ``guest.mjs``.
    """
    # Deno's own notation for a comma in a path is two of them.
    paths = ",".join(path.replace(",", ",,") for path in readable)
    flags = [f"--v8-flags={','.join(v8_flags)}"] if v8_flags else []
    return [
        deno,
        "run",
        "--quiet",
        *_CONFINED,
        f"--allow-read={paths}",
        *flags,
        GUEST_SCRIPT,
        *arguments,
    ]


def own_client(deno: str, package: str, folder: str, seconds: float) -> None:
    """Have Deno's npm client put ``package`` below ``folder``, with the user's own settings.

    Args:
        deno: the program.
        package: such as ``"npm:name@1.2.3"``.
        folder: Deno's data folder.
        seconds: how long it may take.

    Raises:
        ExecutorStartError: it could not; with Deno's own words.
    """
    command = [deno, "cache", "--quiet", "--no-config", "--no-lock", package]
    environment = {**os.environ, "DENO_DIR": folder, "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"}
    try:
        result = run_program(command, seconds=seconds, environment=environment, folder=folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExecutorStartError(f"{package} could not be fetched: {error}") from None
    if result.returncode:
        text = without_passwords(result.stdout).strip()[-2000:]
        raise ExecutorStartError(f"{package} could not be fetched: {text}")
