"""Arguments of DockerExecutor that cannot be meant, refused with what to give instead."""

from __future__ import annotations

import ipaddress
import os
import posixpath

from ...errors import ConfigurationError, ExecutorError

__all__ = [
    "address_of",
    "check_host",
    "check_network",
    "check_one_of",
    "check_pool",
    "check_user",
    "check_variable",
    "check_workdir",
    "inherited",
    "is_shared",
]


def address_of(host: str) -> str:
    # The engine does not look names up, this one neither.
    return "127.0.0.1" if host == "localhost" else host


def check_pool(pool: object) -> None:
    """Refuse what hands out no containers."""
    if isinstance(pool, type) or not hasattr(pool, "options_for"):
        raise ConfigurationError(f"pool={pool!r}: give a DockerPool, or None")


def inherited(action: str, owner: int) -> ExecutorError:
    """The error for a forked child that uses the executor of its parent.

    Both would read from one connection, each the other's answers.

    Args:
        action: what was asked.
        owner: process that made the executor.
    """
    return ExecutorError(
        f"DockerExecutor: {action} in process {os.getpid()}, forked from the one that made the "
        f"executor ({owner}) and has its container; make an executor of its own"
    )


def check_host(host: object) -> None:
    """The engine takes what is no address for all addresses, and opens the port to everybody."""
    try:
        ipaddress.ip_address(host if isinstance(host, str) else "")
    except ValueError:
        if host != "localhost":
            raise ConfigurationError(
                f"host={host!r}: give an address of the engine's machine, such as '127.0.0.1', or "
                "'0.0.0.0' for all of them"
            ) from None


def check_variable(name: object, value: object) -> None:
    if not isinstance(name, str) or not name or "=" in name or "\0" in name:
        raise ConfigurationError(f"environment: {name!r} is no name of a variable")
    if not isinstance(value, (str, int, float)):
        raise ConfigurationError(f"environment[{name!r}]={value!r}: give text or a number")
    if "\0" in str(value):
        raise ConfigurationError(f"environment[{name!r}]={value!r}: a value cannot have a NUL byte")


def is_shared(network: object) -> bool:
    return str(network).partition(":")[0] in ("host", "container")


def check_network(name: str, network: object) -> None:
    if not is_shared(network):
        return
    whose = "the host's" if str(network) == "host" else "another container's"
    raise ConfigurationError(
        f"{name}={network!r}: the container would share {whose} network interfaces, so its code "
        f"could reach every service on {whose} loopback, and the gateway's port would be open to "
        "everybody there and taken for a second executor; give 'none', 'bridge' or a network of "
        "your own (docker network create), or allow_shared_network=True if that is wanted"
    )


def check_user(name: str, user: object) -> None:
    if user is None:
        return
    who = str(user).partition(":")[0].strip()
    if who in ("", "root") or (who.isdigit() and int(who) == 0):
        raise ConfigurationError(
            f"{name}={user!r} is root, or whatever the image says: code does not run as root "
            "unless allow_root=True says so; give numbers such as '1000:1000'"
        )


def check_workdir(workdir: object) -> None:
    """Refuse what is no folder of its own."""
    if not isinstance(workdir, str) or not workdir.startswith("/"):
        raise ConfigurationError(f"workdir={workdir!r}: give an absolute path")
    if posixpath.normpath(workdir) in ("/", "//", "/tmp"):
        raise ConfigurationError(
            f"workdir={workdir!r} is there already, for other things and with a size of its own: "
            "give a folder such as '/workspace'; it need not be in the image"
        )


def check_one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigurationError(f"{name}={value!r}: give one of {', '.join(map(repr, allowed))}")
