"""Wheels for guests: fetched on the host by pip, kept in the cache by their hashes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ..deadline import Deadline
from ..errors import ExecutorStartError
from ..system.host_pipe import run_program
from ..text.redaction import without_passwords
from .pyodide_files import write_cached
from .wheel_needs import Wheel, resolve

__all__ = ["MINOR", "PLATFORM", "wheels_for"]

#: Platform's tag of the pinned release of Pyodide, and minor version of its Python 3.
PLATFORM, MINOR = "pyemscripten_2026_0_wasm32", 14
_PYTHON = f"3{MINOR}"
_SHOWN_CHARACTERS = 2000
# Values of the markers of requirements in a guest.
_ENVIRONMENT = {
    "implementation_name": "cpython",
    "implementation_version": f"3.{MINOR}.0",
    "os_name": "posix",
    "platform_machine": "wasm32",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "Emscripten",
    "platform_version": "",
    "python_full_version": f"3.{MINOR}.0",
    "python_version": f"3.{MINOR}",
    "sys_platform": "emscripten",
}


def wheels_for(
    requirements: Sequence[str],
    cache: Path,
    lock: Path,
    folder: Path | None,
    seconds: float,
    note: Callable[[str], None],
) -> list[Path]:
    """Return the wheels that provide ``requirements`` and all they depend on, in the cache.

    pip is asked once: what it chose is kept with the requirements, so that later executors need no
    network.

    Args:
        requirements: Requirements as pip takes them.
        cache: the folder of what is kept from start to start.
        lock: Pyodide's own list of its packages.
        folder: wheels of Pyodide's own packages, which pip prefers by version as those of an index.
        seconds: how long pip may take.
        note: takes a line for the user's log before pip is asked.

    Raises:
        ExecutorStartError: no wheel of a package runs here; with pip's reason.
    """
    if not requirements:
        return []
    offered = {} if folder is None else _check(folder, lock)
    key = json.dumps([PLATFORM, _PYTHON, sorted(requirements), sorted(offered.items())])
    chosen = cache / "requirements" / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
    wheels = _read_remembered(chosen, cache)
    if wheels is None:
        note(f"fetching wheels for {', '.join(requirements)} with pip, once")
        wheels = _download(requirements, cache, folder, seconds)
        _remember(chosen, wheels, cache)
    return wheels


def _check(folder: Path, lock: Path) -> dict[str, str]:
    """Names and hashes of the wheels in ``folder``, which are those of Pyodide's lock."""
    packages = json.loads(lock.read_text("utf-8"))["packages"].values()
    known = {package["file_name"]: package["sha256"] for package in packages}
    digests = {}
    for path in sorted(folder.glob("*.whl")):
        digests[path.name] = _digest(path.read_bytes())
        expected = known.get(path.name)
        if expected is not None and expected != digests[path.name]:
            raise ExecutorStartError(
                f"packages_dir: {path} is not the wheel of Pyodide's lock: its sha256 is "
                f"{digests[path.name]}, and not {expected}"
            )
    return digests


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_remembered(chosen: Path, cache: Path) -> list[Path] | None:
    try:
        wheels = [cache / "wheels" / name for name in json.loads(chosen.read_text("utf-8"))]
    except (OSError, ValueError):
        return None
    # A file whose hash is not its folder's name was cut short, or is not what pip chose.
    for path in wheels:
        if not path.is_file() or _digest(path.read_bytes()) != path.parent.name:
            return None
    return wheels


def _remember(chosen: Path, wheels: Sequence[Path], cache: Path) -> None:
    chosen.parent.mkdir(mode=0o700, exist_ok=True)
    names = [path.relative_to(cache / "wheels").as_posix() for path in wheels]
    write_cached(chosen, json.dumps(names).encode())


def _download(
    requirements: Sequence[str], cache: Path, folder: Path | None, seconds: float
) -> list[Path]:
    deadline = Deadline(seconds)
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetch-") as scratch:

        def fetch(named: Sequence[str]) -> list[Wheel]:
            target = tempfile.mkdtemp(dir=scratch)
            _run_pip(named, target, folder, deadline)
            return [Wheel.of(path) for path in sorted(Path(target).glob("*.whl"))]

        wheels = []
        for wheel in resolve(requirements, _ENVIRONMENT, fetch):
            path, data = wheel.path, wheel.path.read_bytes()
            place = cache / "wheels" / _digest(data) / path.name
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_cached(place, data)
            wheels.append(place)
    return wheels


def _run_pip(
    requirements: Sequence[str], target: str, folder: Path | None, deadline: Deadline
) -> None:
    # The user's own settings say which index. Only wheels of these names: what a wheel requires by
    # its address would be built, which runs code here.
    command = [
        # Isolated: modules in the current folder may be anybody's.
        *(sys.executable, "-I", "-m", "pip", "download", "--only-binary=:all:", "--no-deps"),
        *("--dest", target),
        *("--platform", PLATFORM, "--python-version", _PYTHON, "--implementation", "cp"),
        *("--abi", f"cp{_PYTHON}", "--disable-pip-version-check", "--no-input", "--quiet"),
        *(() if folder is None else ("--find-links", str(folder))),
        "--",
        *requirements,
    ]
    names = ", ".join(requirements)
    try:
        result = run_program(
            command, seconds=max(0.001, deadline.at_most(1e6)), environment=os.environ
        )
    except subprocess.TimeoutExpired:
        raise ExecutorStartError(
            f"pip could not fetch {names}: it took more than {deadline.seconds} seconds"
        ) from None
    except OSError as error:
        raise ExecutorStartError(f"pip could not fetch {names}: {error}") from None
    if not result.returncode:
        return
    text = without_passwords(result.stdout)
    errors = "\n".join(line for line in text.splitlines() if line.startswith("ERROR:"))
    hint = ""
    if "No matching distribution found for " in text:
        name = text.rpartition("No matching distribution found for ")[2].splitlines()[0]
        hint = (
            f"\n{name} has to be there as a wheel of pure Python, or as one for {PLATFORM} and "
            f"CPython 3.{MINOR}: in pip's index, or in a folder with the wheels of Pyodide's "
            "own packages (packages_dir=). Other executors take any wheel: executor_type='docker'"
        )
    raise ExecutorStartError(
        f"pip could not fetch {names}: {(errors or text)[-_SHOWN_CHARACTERS:]}{hint}"
    )
