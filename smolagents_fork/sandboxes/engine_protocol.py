"""The protocol of engines: descriptions of a place where sandboxes run.

An engine is data. It describes a place and how to connect to it, and has no connection itself.
``DockerExecutor(engine=...)`` and ``DockerPool(engine=...)`` take one, and call
:meth:`Engine.connect` once for each executor or ready sandbox. What runs sandboxes is the
:class:`~smolagents_fork.sandboxes.provisioner.Provisioner` that this returns.

Rules for an implementation, normally a frozen dataclass:

* Its constructor is cheap and opens no connection. It checks its arguments and raises
  ``ConfigurationError`` with the value and what to pass instead. It imports no optional package.
* It is immutable, hashable and comparable by value. Equal engines are the same place.
* Its ``repr`` names the place and contains no password, token or key.
* Omitted arguments come from the environment, which :meth:`Engine.connect` reads.
* One process may use several engines, of the same kind too, at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

from ..errors import ConfigurationError
from .container_options import ContainerOptions
from .provisioner import Provisioner

__all__ = ["Engine", "Note", "check_engine", "no_note"]

#: Takes one line for the user's log.
Note = Callable[[str], None]


def no_note(_line: str) -> None:
    """Drop a line."""


@runtime_checkable
class Engine(Protocol):
    """A place where sandboxes run, and how to connect to it."""

    @property
    def name(self) -> str:
        """Short lower-case name for messages, such as ``docker``."""

    @property
    def refused_options(self) -> Mapping[str, str]:
        """Options of the executor that make no sense here: their names, each with the reason.

        An option is refused when its value differs from the default. The reason completes a
        message that begins with the name and the value, as in "paths of this machine do not exist
        on the nodes of the cluster; pass files= instead".
        """

    def network_remedy(self, options: ContainerOptions, owner: str, /) -> str:
        """Return how code gets a network here, such as "give the pool network='bridge'".

        Args:
            options: Options of the sandbox.
            owner: Owner that has the options: ``"executor"`` or ``"pool"``.

        Returns:
            part of a message; empty if code with these options has a network.
        """

    def connect(self, options: ContainerOptions, *, note: Note = no_note) -> Provisioner:
        """Connect to the engine. From any thread; the caller closes what it gets.

        Args:
            options: Options of all sandboxes that the provisioner starts.
            note: takes a line for the user's log, from any thread.

        Raises:
            EngineUnavailableError: a package is missing, or the engine does not answer; says where
                it was looked for and what to do.
            ConfigurationError: options that cannot be combined here.
        """


def check_engine(engine: object) -> Engine:
    """Return ``engine`` if it is one.

    Args:
        engine: an argument named ``engine``.

    Raises:
        ConfigurationError: it is a name, a class or another object.
    """
    if isinstance(engine, type) or not isinstance(engine, Engine):
        raise ConfigurationError(
            f"engine={engine!r} is not an engine: pass an object such as DockerEngine(), or None "
            "for the container engine of the environment"
        )
    return engine
