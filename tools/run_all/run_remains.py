"""Images, containers, processes and files that the tests of a run leave behind.

Every process of a run has the run's identifier in its environment. The fork labels its containers
and images with the process that made them, so the watch finds those of this run while that process
lives, and never takes those of anyone else for them. The containers of the engine's own builder
have no labels; they are found by the images of the run that they are steps of.

Content-addressed images stay: they are the package's own cache, and take minutes to build. Those
that a later run neither builds nor uses, because the sources have changed, are removed at its end.
All other images of a run are removed at its end, and containers, processes and new files of the
checkout that git does not ignore are reported.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

import docker
import requests
from docker import DockerClient

from smolagents_fork.errors import EngineUnavailableError, ExecutorStartError
from smolagents_fork.sandboxes.docker.engine import connect, inspect_image
from smolagents_fork.sandboxes.docker.lifetime.labels import LABEL, own_labels
from smolagents_fork.sandboxes.process_owner import process_is_gone
from tools.errors import CommandError
from tools.git import Git
from tools.paths import BUILD, ROOT

__all__ = ["RUN_VARIABLE", "RunWatch", "processes_of"]

#: Environment variable that names the run of a process.
RUN_VARIABLE = "SMOLAGENTS_FORK_TEST_RUN"
#: Images that the runs of this checkout keep for the next one.
CACHED_IMAGES = BUILD / "test-images.json"
_CACHE_NAME = re.compile(r"(?:.*/)?smolagents-fork-(?:jupyter|agent):[0-9a-f]{20}")
_POLL_SECONDS = 2.0
_ENGINE_SECONDS = 60
#: Seconds that processes and containers of the last tests have to end.
GRACE_SECONDS = 60.0


def processes_of(run: str) -> dict[int, str]:
    """Return the processes of a run by id, with their command lines."""
    wanted = f"{RUN_VARIABLE}={run}".encode()
    return {
        int(entry.name): command
        for entry in Path("/proc").glob("[0-9]*")
        if wanted in _read(entry / "environ").split(b"\0")
        and (command := _read(entry / "cmdline").replace(b"\0", b" ").decode("utf-8", "replace"))
    }


def _untracked_files(root: Path) -> set[str]:
    """Return the files that git neither has nor ignores; none outside of a repository."""
    try:
        return set(Git(root).lines("ls-files", "--others", "--exclude-standard"))
    except CommandError:
        return set()


def _container_labels(summary: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Return a container's own labels; None where it has only those of its image."""
    try:
        return own_labels(summary)
    except ValueError:
        return None


def _builder_containers(client: DockerClient, image: str) -> set[str]:
    """Return the containers that the engine's builder made an image and its parents in.

    Engines of API 1.45 and later no longer name them.
    """
    containers: set[str] = set()
    while image:
        details = inspect_image(client, image) or {}
        containers.add(details.get("Container", ""))
        image = details.get("Parent", "")
    return containers - {""}


def _image_names(summary: Mapping[str, Any]) -> list[str]:
    """Return the names of an image, of which the engine says ``<none>:<none>`` for none."""
    return [name for name in summary.get("RepoTags") or () if not name.startswith("<none>")]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended meanwhile, or belongs to another user
        return b""


class RunWatch:
    """Watch the engine during a run, and remove or report what the run leaves.

    Without an engine only processes and files are reported.
    """

    def __init__(
        self,
        cached: Path = CACHED_IMAGES,
        grace_seconds: float = GRACE_SECONDS,
        root: Path = ROOT,
    ) -> None:
        """Prepare the watch.

        Args:
            cached: file with the ids of images that earlier runs have kept.
            grace_seconds: see :data:`GRACE_SECONDS`.
            root: the checkout.
        """
        self.run = uuid4().hex
        self.left: list[str] = []
        self._client: DockerClient | None = None
        self._cached, self._grace, self._root = cached, grace_seconds, root
        self._files = set[str]()
        self._built: set[str] = set()
        self._used: set[str] = set()
        self._containers: set[str] = set()
        self._earlier_containers: set[str] = set()
        self._seen: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="run-watch", daemon=True)

    def __enter__(self) -> RunWatch:
        self._files = _untracked_files(self._root)
        with contextlib.suppress(EngineUnavailableError):
            self._client = connect(timeout=_ENGINE_SECONDS)
            self._seen = {entry["Id"] for entry in self._client.api.images()}
            self._earlier_containers = {e["Id"] for e in self._client.api.containers(all=True)}
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._stop.set()
            self._thread.join(_ENGINE_SECONDS)
        self._await_ends()
        if self._client is not None:
            self._remove_images(self._client)
            self._client.close()

    def _watch(self) -> None:
        assert self._client is not None
        while not self._stop.is_set():
            # The tests freeze and break engines; the next look finds what this one has missed.
            with contextlib.suppress(
                docker.errors.DockerException, requests.RequestException, ExecutorStartError
            ):
                self._look(self._client)
            self._stop.wait(_POLL_SECONDS)

    def _look(self, client: DockerClient) -> None:
        for entry in client.api.images():
            if entry["Id"] not in self._seen:
                self._seen.add(entry["Id"])
                if self._is_own(entry.get("Labels")):
                    self._built.add(entry["Id"])
                    steps = _builder_containers(client, entry["Id"])
                    self._containers |= steps - self._earlier_containers
        for entry in client.api.containers(all=True):
            if entry["Id"] in self._containers or self._is_own(_container_labels(entry)):
                self._used.add(entry["ImageID"])
                self._containers.add(entry["Id"])

    def _is_own(self, labels: Mapping[str, str] | None) -> bool:
        """Return whether a living process of this run owns an image or a container."""
        owner = (labels or {}).get(LABEL, "")
        _, _, process = owner.rpartition(":")[0].partition(":")
        wanted = f"{RUN_VARIABLE}={self.run}".encode()
        return (
            process.isdigit()
            and wanted in _read(Path("/proc", process, "environ")).split(b"\0")
            and not process_is_gone(owner)  # another one may have its number now
        )

    def _await_ends(self) -> None:
        deadline = time.monotonic() + self._grace
        while (remains := self._remains()) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        files = _untracked_files(self._root) - self._files
        self.left = [*remains, *(f"file {name}" for name in sorted(files))]

    def _remains(self) -> list[str]:
        """List the run's processes and containers that are still there, as sentences."""
        processes = processes_of(self.run)
        processes.pop(os.getpid(), None)
        remains = [f"process {number}: {command[:200]}" for number, command in processes.items()]
        if self._client is not None:
            there: list[dict[str, Any]] = self._client.api.containers(all=True)
            remains += [f"container {e['Names'][0]}" for e in there if e["Id"] in self._containers]
        return remains

    def _remove_images(self, client: DockerClient) -> None:
        there = {entry["Id"]: entry for entry in client.api.images()}
        cache = {
            image
            for image in self._built & there.keys()
            if any(_CACHE_NAME.fullmatch(name) for name in _image_names(there[image]))
        }
        earlier = self._read_cached() & there.keys()
        stays = cache | (earlier & self._used)
        for image in sorted((self._built | earlier) & there.keys() - stays):
            self._remove(client, image, _image_names(there[image]))
        self._cached.parent.mkdir(parents=True, exist_ok=True)
        self._cached.write_text(json.dumps(sorted(stays), indent=1) + "\n", "utf-8")

    def _read_cached(self) -> set[str]:
        try:
            return set(json.loads(self._cached.read_text("utf-8")))
        except (FileNotFoundError, ValueError):
            return set()

    def _remove(self, client: DockerClient, image: str, names: Iterable[str]) -> None:
        try:
            for name in [*names] or [image]:
                client.api.remove_image(name)
        except docker.errors.APIError as error:
            self.left.append(f"image {image}: {error.explanation}")
