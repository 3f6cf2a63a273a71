"""Requirements of saved agents and tools: the hook of patch ``saved-requirements``.

What is written can be installed from any index: distributions and not import names, nothing of the
standard library, and no module that is only on this machine.

No index has the fork's version, which has a local part (PEP 440). So a saved agent asks for
upstream's release or a newer one: pip keeps an installed fork of such a release, and takes
upstream's otherwise. An agent that needs one of the fork's executors does not start there: upstream
says that it does not know the executor, and runs no code.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from smolagents_fork._version import upstream_version
from smolagents_fork.distributions.import_names import providers
from smolagents_fork.distributions.requirements import requirements_for
from smolagents_fork.errors import ConfigurationError

if TYPE_CHECKING:
    from smolagents_fork.upstream import MultiStepAgent

__all__ = ["FORK_OR_NEWER", "requirements_of_agent", "saved_requirements"]

_DISTRIBUTION = "smolagents"
#: Requirement of an agent that needs the fork.
FORK_OR_NEWER = f"{_DISTRIBUTION}>={upstream_version}"


def saved_requirements(names: Iterable[str]) -> set[str]:
    """Return the requirements that provide import names; warns about those that nothing provides.

    Args:
        names: Names of modules or packages, or requirements of pip.

    Example:
        >>> from smolagents_fork.executors.agents.saved_requirements import saved_requirements
        >>> sorted(saved_requirements(["PIL", "json", "numpy.linalg", "smolagents"]))
        ['numpy', 'pillow', 'smolagents']
    """
    requirements: set[str] = set()
    missing = []
    for name in names:
        if name in (_DISTRIBUTION, FORK_OR_NEWER):
            requirements.add(name)
            continue
        provided = _find_providers(name)
        if provided is None:
            missing.append(name)
        else:
            requirements.update(provided)
    if missing:
        warnings.warn(
            f"{', '.join(sorted(missing))}: no distribution is known to provide it, so it is not "
            "among the saved requirements; add what provides it to requirements.txt, or put the "
            "module's code into the tool",
            stacklevel=2,
        )
    return requirements


def requirements_of_agent(agent: MultiStepAgent, others: Iterable[str]) -> set[str]:
    """Return the requirements of a saved agent.

    Args:
        others: requirements of its tools and managed agents.
    """
    requirements = saved_requirements([*others, *getattr(agent, "authorized_imports", ())])
    if FORK_OR_NEWER in requirements:
        requirements.discard(_DISTRIBUTION)
    return requirements


def _find_providers(name: str) -> tuple[str, ...] | None:
    """Return the requirements for one name; ``None`` if no index can be expected to have one."""
    try:
        requirements = requirements_for([name])
    except ConfigurationError:  # a namespace that many distributions share
        requirements = (name,)
    if requirements == (name,):
        installed = providers(name)
        if len(installed) == 1:
            requirements = (installed[0].metadata["Name"],)
        elif installed or _is_local(name):
            return None
    # Case does not matter to an index, and upstream writes that of the import: IPython.
    return (name,) if [text.lower() for text in requirements] == [name.lower()] else requirements


def _is_local(name: str) -> bool:
    """Tell whether a module that belongs to no distribution can be imported here."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # the second for __main__
        return name == "__main__"
