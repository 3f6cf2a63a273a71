"""Helpers shared by the process executor's tests."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from background import eventually

import smolagents_fork
from smolagents_fork import ProcessExecutor

# Modules that are useful to a hostile program; authorising them tests the kernel's confinement
# without the interpreter's guards.
SHARP = ["os", "socket", "ctypes", "signal", "threading", "pathlib", "subprocess", "resource"]


@contextlib.contextmanager
def executor(imports: list[str] | None = None, **options: Any) -> Iterator[ProcessExecutor]:
    """Give an executor with two limits relaxed, since most tests are about others."""
    # On a busy machine a program needs time to notice an interruption.
    options.setdefault("interrupt_grace_seconds", 30.0)
    with ProcessExecutor(imports or [], None, **options) as made:
        yield made


def opened_for_anybody(folder: Path, user: int = 65534) -> str:
    """Return a script for a separate mount namespace that makes this Python readable for anyone.

    Folders that only root may read, such as /root, are mounted again below an open folder.
    """
    needed = {Path(one).resolve() for one in (sys.base_prefix, sys.prefix, *sys.path) if one}
    closed: dict[Path, list[Path]] = {}
    for path in sorted(p for p in needed if p.is_dir()):
        above = [p for p in path.parents if not p.stat().st_mode & 0o001]
        if above and not any(path.is_relative_to(p) for p in closed.get(above[-1], ())):
            closed.setdefault(above[-1], []).append(path)
    paths = [path for below in closed.values() for path in below]
    holds = {path: folder / str(n) for n, path in enumerate(paths)}
    lines = ["set -e"]
    for path, hold in holds.items():
        hold.mkdir()
        lines.append(shlex.join(["mount", "--bind", str(path), str(hold)]))
    for parent in closed:
        lines.append(shlex.join(["mount", "-t", "tmpfs", "-o", "mode=755", "none", str(parent)]))
    for path, hold in holds.items():
        lines.append(shlex.join(["mkdir", "-p", str(path)]))
        lines.append(shlex.join(["mount", "--bind", str(hold), str(path)]))
    return "\n".join([*lines, f'exec setpriv --reuid {user} --regid {user} --clear-groups "$@"'])


def by_ordinary_user(
    arguments: list[str], folder: Path, user: int = 65534
) -> subprocess.CompletedProcess[str]:
    """Run this Python with ``arguments`` as a user other than root, or skip the test.

    Args:
        arguments: of Python.
        folder: of the test.
        user: its number; one that nobody else has, if the test uses up what the user may have.
    """
    lacking = [tool for tool in ("unshare", "setpriv") if shutil.which(tool) is None]
    if lacking or subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip(f"needs mount namespaces, with util-linux{': no ' if lacking else ''}{lacking}")
    return subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c",
         opened_for_anybody(folder, user), "sh", sys.executable, *arguments],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
        cwd="/", capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


class NewResources:
    """File descriptors and threads of this process that are newer than this object.

    They are compared by what they name, since those of an earlier test may disappear meanwhile.
    A thread that keeps leases opens its selector again and again, under any number.
    """

    def __init__(self) -> None:
        gc.collect()
        self._before = self._all()

    def _all(self) -> Counter[object]:
        found: Counter[object] = Counter(threading.enumerate())
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # the descriptor of the folder being read
                found[os.readlink(f"/proc/self/fd/{number}")] += 1
        return found

    def new(self) -> set[object]:
        """Return new ones, after a wait for those that end by themselves."""
        eventually(lambda: not self._all() - self._before, 20.0)
        return set(self._all() - self._before)


@functools.cache
def has_program(engine: Any, image: str, name: str) -> bool:
    """Return whether an image has a program."""
    command = ["sh", "-c", f"command -v {name} || true"]
    return bool(engine.containers.run(image, command, remove=True).strip())


def in_container(
    engine: Any, arguments: list[str], **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run this Python with ``arguments`` in a container that has the tests.

    Args:
        engine: of Docker.
        arguments: of Python; a path of the tests is that of the container.
        **options: of the container.
    """
    tests = str(Path(__file__).parents[2])
    package = str(Path(smolagents_fork.__file__).parent)
    installed = str(Path(pytest.__file__).parent.parent)
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folders = {package: "/fork/smolagents_fork", installed: "/installed", tests: "/tests"}
    image = os.environ.get("SMOLAGENTS_FORK_BASE_IMAGE", "python:3.12-slim")
    if not has_program(engine, image, python):
        pytest.skip(f"{image} has no {python}, for which what is installed here is")
    command = [python, *(one.replace(tests, "/tests") for one in arguments)]
    container = engine.containers.run(
        image, command, detach=True, network_mode="none",
        volumes={path: {"bind": there, "mode": "ro"} for path, there in folders.items()},
        environment={"PYTHONPATH": "/fork:/installed:/tests:/tests/hostile"}, **options,
    )  # fmt: skip
    try:
        status = container.wait(timeout=300)["StatusCode"]
        printed, errors = container.logs(stderr=False), container.logs(stdout=False)
    finally:
        container.remove(force=True)
    return subprocess.CompletedProcess(command, status, printed.decode(), errors.decode())
