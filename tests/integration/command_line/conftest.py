"""The command as a user starts it, in a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import docker
import pytest

from smolagents_fork.command_line.main import main
from smolagents_fork.sandboxes import process_owner
from smolagents_fork.sandboxes.docker.lifetime import labels

Command = Callable[..., "Ended"]


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON it has written."""
        return json.loads(self.out)

    def checks(self, executor: str) -> dict[str, Any]:
        """The checks of one executor, of ``doctor --json``."""
        (found,) = [one for one in self.data["executors"] if one["executor"] == executor]
        return {check["check"]: check for check in found["checks"]}


@pytest.fixture
def command(monkeypatch, capsys) -> Command:
    """Run the command with these arguments, in this process.

    ``environment`` adds variables, and ``without`` removes some. ``before`` is Python that runs
    first and ``within`` a command that starts Python: both need a process of their own.
    """

    def run(
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        without: tuple[str, ...] = (),
        before: str = "",
        within: tuple[str, ...] = (),
    ) -> Ended:
        with monkeypatch.context() as patch:
            for name in without:
                patch.delenv(name, raising=False)
            for name, value in (environment or {}).items():
                patch.setenv(name, value)
            if before or within:
                return _in_a_process(arguments, before, within)
            capsys.readouterr()
            try:
                code = main(arguments)
            except SystemExit as ended:  # argparse
                code = int(str(ended.code))
            shown = capsys.readouterr()
            return Ended(code, shown.out, shown.err)

    return run


@pytest.fixture
def doctor(command: Command) -> Callable[..., dict[str, Any]]:
    """Run ``doctor`` for one executor, which ends with ``code``; return its checks by name."""

    def run(executor: str, code: int, **options: Any) -> dict[str, Any]:
        ended = command("doctor", executor, "--json", **options)
        assert ended.code == code, ended.out
        return ended.checks(executor)

    return run


def _in_a_process(arguments: Sequence[str], before: str, within: Sequence[str]) -> Ended:
    start = ["-m", "smolagents_fork"]
    if before:
        last = "from smolagents_fork.command_line.main import main; sys.exit(main())"
        start = ["-c", f"import sys\n{before}\n{last}"]
    done = subprocess.run(
        [*within, sys.executable, *start, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def build(engine: Any) -> Iterator[Any]:
    """Build images from nothing, by tag or without one; they are removed after the test."""
    made: list[str] = []

    def one(tag: str | None = None, labelled: dict[str, str] | None = None) -> str:
        dockerfile = f"FROM scratch\nCOPY Dockerfile /{secrets.token_hex(8)}\n"
        context = io.BytesIO(dockerfile.encode())
        image, _ = engine.images.build(fileobj=context, tag=tag, labels=labelled or {}, rm=True)
        made.append(image.id)
        return str(image.short_id.removeprefix("sha256:"))

    yield one
    for image in made:
        with contextlib.suppress(docker.errors.APIError):
            engine.images.remove(image, force=True)


@pytest.fixture
def create(engine: Any) -> Iterator[Callable[..., Any]]:
    """Create containers, which are removed after the test."""
    with contextlib.ExitStack() as stack:

        def one(image: str, **options: Any) -> Any:
            container = engine.containers.create(image, ["none"], **options)
            stack.callback(remove, container)
            return container

        def remove(container: Any) -> None:
            with contextlib.suppress(docker.errors.APIError):
                container.remove(force=True)

        yield one


@pytest.fixture
def name() -> str:
    """A name as the fork gives it to an image, which no other image has."""
    return f"smolagents-fork-jupyter:{secrets.token_hex(10)}"


@pytest.fixture
def orphan(create: Any, build: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A container whose owner has ended, on a machine that only this process believes to be on."""
    machine = f"machine-of-{os.getpid()}-{secrets.token_hex(4)}"
    monkeypatch.setattr(process_owner, "this_machine", lambda: machine)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    name = f"orphan-{secrets.token_hex(8)}"
    owner = {labels.LABEL: f"{machine}:{ended.pid}:1", labels.NAME_LABEL: name}
    return create(build(), labels=owner, name=name)
