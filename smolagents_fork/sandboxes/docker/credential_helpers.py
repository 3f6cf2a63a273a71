"""Credential helpers that the user's Docker configuration names and this machine does not have.

docker-py asks them before each build, although a local image needs no credentials. So those that
are missing are left out, and only an error of a registry mentions them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...folders.user_folder import temporary_file
from ...system.host_pipe import find_program

if TYPE_CHECKING:
    from docker.api.client import APIClient

__all__ = ["MissingHelpers", "configuration_path", "find_missing_helpers", "leave_out"]

_PROGRAM = "docker-credential-"
_STORE, _HELPERS, _AUTHS = "credsStore", "credHelpers", "auths"
# docker-py reads the file again if it finds nothing; an entry without content is found.
_NO_CREDENTIALS: Mapping[str, Any] = {"https://index.docker.io/v1/": {}}


@dataclass(frozen=True)
class MissingHelpers:
    """Helpers that are not installed.

    Attributes:
        path: of the configuration that names them.
        names: of the helpers, such as ``desktop``.
        config: what the configuration says without them.
    """

    path: str
    names: tuple[str, ...]
    config: Mapping[str, Any] = field(repr=False)  # has passwords

    def __str__(self) -> str:
        programs = ", ".join(f"{_PROGRAM}{name}" for name in self.names)
        return (
            f"no credentials were sent: {self.path} names {programs}, which is not installed: "
            "install it in a folder that PATH names by its absolute path, or take it out of the "
            "file"
        )


def configuration_path() -> str:
    """Return the path of the Docker configuration that counts here; empty without one."""
    from docker.utils import config

    return str(config.find_config_file() or "")


def find_missing_helpers() -> MissingHelpers | None:
    """Return the helpers that the configuration names and that are not installed, if any."""
    path = configuration_path()
    try:
        config = json.loads(Path(path).read_bytes()) if path else {}
    except (OSError, ValueError):
        return None  # docker-py goes on without such a file, too
    if not isinstance(config, dict):
        return None
    store, helpers = config.get(_STORE), config.get(_HELPERS)
    by_registry = helpers if isinstance(helpers, dict) else {}
    names = {name for name in (store, *by_registry.values()) if isinstance(name, str) and name}
    missing = {name for name in names if not _is_installed(_PROGRAM + name)}
    if not missing:
        return None
    remaining: dict[str, Any] = {_AUTHS: config.get(_AUTHS) or dict(_NO_CREDENTIALS)}
    if store not in missing:
        remaining[_STORE] = store
    remaining[_HELPERS] = {key: name for key, name in by_registry.items() if name not in missing}
    return MissingHelpers(path, tuple(sorted(missing)), remaining)


def _is_installed(program: str) -> bool:
    # docker-py takes a name with a separator as a path, and folders of PATH that are not absolute:
    # what it starts has to be what is found without them.
    path = None if os.path.basename(program) != program else find_program(program)
    return path is not None and path == shutil.which(program)


def leave_out(api: APIClient, missing: MissingHelpers) -> None:
    """Have a client send the other credentials only."""
    number, path = temporary_file("docker-")
    try:
        with open(number, "w", encoding="utf-8") as file:
            json.dump(missing.config, file)
        api.reload_config(path)
    finally:
        os.unlink(path)
