"""Pyodide's files: one pinned release, every file checked, kept in the user's cache."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..errors import ExecutorStartError
from ..folders.user_folder import check_private
from .deno_binary import own_client

__all__ = ["FILES", "VERSION", "cache_folder", "check_files", "pyodide_files", "write_cached"]

#: The release of Pyodide, which has CPython 3.14.
VERSION = "314.0.7"
#: What is used of it, with the sha256 of each file.
FILES = {
    "pyodide.mjs": "6f1d60f7bf529beb300f0f47983c921d3982363640ba20af0e38efdddbc66109",
    "pyodide.asm.mjs": "f7cdc8ece80678ceb712f8e65ebe6d3a83203a180c399865f49612a051693635",
    "pyodide.asm.wasm": "cc36e3cab04fdfc9a63ff13eb52eae2b911bf46c025cc7b281f394bd3de1d5e6",
    "python_stdlib.zip": "fa1957e5777068fc4f7437f96d860ae2fbe9c19732ba06c84e004ec16dd7dd7a",
    "pyodide-lock.json": "5dc2fc119108bc148c7457dc86e7675b5c87e1cafd420b9c34c1eaef7b36c010",
}
# Size of these files.
_MEGABYTES = 13


def cache_folder(path: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of what is kept from start to start; it is made if it is missing.

    Args:
        path: another than the user's own cache folder.

    Raises:
        ExecutorStartError: it cannot be made, or other users may change it.
    """
    if path is not None:
        folder = Path(path).absolute()
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Caches" / "smolagents-fork" / "wasm"
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        parent = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
        folder = parent / "smolagents-fork" / "wasm"
    # Who may write here decides what runs in later guests.
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ExecutorStartError(f"the cache folder {folder} cannot be created: {error}") from None
    check_private(os.path.realpath(folder), readable=True, option="cache_dir=")
    return folder


def write_cached(path: Path, data: bytes) -> None:
    """Write a file of the cache; others find it when it is complete.

    Args:
        path: its folder is there.
        data: its content.
    """
    number, name = tempfile.mkstemp(dir=path.parent)
    try:
        with open(number, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def pyodide_files(cache: Path, deno: str, seconds: float, note: Callable[[str], None]) -> Path:
    """Return the folder of Pyodide's files in the cache, fetched from npm if missing.

    Args:
        cache: Cache from :func:`cache_folder`.
        deno: the program whose npm client is used.
        seconds: how long that may take.
        note: takes a line for the user's log before they are fetched.

    Raises:
        ExecutorStartError: they cannot be fetched, or are not the pinned release's.
    """
    folder = cache / f"pyodide-{VERSION}"
    if not folder.is_dir():
        size = f"about {_MEGABYTES} MB"
        note(f"fetching Pyodide {VERSION} from npm, {size}, once; it is kept in {cache}")
        _fetch(folder, deno, seconds)
    check_files(str(folder))
    return folder


def _fetch(folder: Path, deno: str, seconds: float) -> None:
    package = f"npm:pyodide@{VERSION}"
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetch-") as scratch:
        try:
            own_client(deno, package, scratch, seconds)
        except ExecutorStartError as error:
            raise ExecutorStartError(
                f"{error}\nPyodide is fetched from npm once; without a network, pass a folder "
                f"with the files of pyodide {VERSION} as pyodide_dir="
            ) from None
        wasm_path = next(Path(scratch, "npm").glob("*/pyodide/*/pyodide.asm.wasm"), None)
        if wasm_path is None:
            raise ExecutorStartError(f"Deno fetched {package}, but it is not in Deno's cache")
        ready = Path(scratch, "ready")
        ready.mkdir()
        for name in FILES:
            shutil.copyfile(wasm_path.with_name(name), ready / name)
        check_files(str(ready))
        try:
            ready.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was faster
                raise


@functools.lru_cache(maxsize=16)
def check_files(folder: str) -> None:
    """Check every file of ``folder`` that is used against its sha256, once a process.

    Raises:
        ExecutorStartError: one is missing, or is not the pinned release's.
    """
    for name, expected in FILES.items():
        path = Path(folder, name)
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise ExecutorStartError(
                f"{path} cannot be read: {error}; it is a file of pyodide {VERSION} from npm"
            ) from None
        if digest != expected:
            raise ExecutorStartError(
                f"{path} is not the file of pyodide {VERSION}: its sha256 is {digest}, and not "
                f"{expected}; remove the folder to have it fetched again"
            )
