"""The standard library of each version, as the running Python and requirements have it."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from smolagents_fork.distributions.import_names import missing_packages
from smolagents_fork.distributions.requirements import missing_requirements, requirements_for
from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors.docker.options import DockerOptions
from smolagents_fork.executors.wasm.guest_source import check_imports
from smolagents_fork.standard_library import STANDARD_MODULES, absence, is_standard

MINOR = sys.version_info.minor
ABSENT = sorted(STANDARD_MODULES - sys.stdlib_module_names - {"test"})


def test_table_agrees_with_the_running_python():
    assert [name for name in sys.stdlib_module_names if absence(name, MINOR)] == []
    assert [name for name in ABSENT if not absence(name, MINOR)] == []


def test_pip_is_not_asked_for_a_module_of_any_version():
    names = sorted(STANDARD_MODULES)
    assert all(map(is_standard, names))
    names += [f"{name}.part" for name in names] + [f"{name}.*" for name in names]
    assert requirements_for(names) == ()
    assert DockerOptions().image_spec(names).requirements == ()
    assert missing_requirements(names, []) == []


def test_distribution_that_brings_a_module_back_can_be_named():
    assert requirements_for(["legacy-cgi", "standard-imghdr>=3"]) == (
        "legacy-cgi",
        "standard-imghdr>=3",
    )


def test_module_of_another_version_is_missing_here():
    # Distributions have brought some back, such as audioop-lts and setuptools.
    names = [name for name in ABSENT if importlib.util.find_spec(name) is None]
    reasons = [f"This Python has no module {name}: {absence(name, MINOR)}." for name in names]
    assert missing_packages(ABSENT).endswith(" ".join(["imports list.", *reasons]))


@pytest.mark.parametrize("entry", ["annotationlib>=1", "cgi==2", "tomllib>1"])
def test_module_of_another_version_has_no_version_either(entry: str):
    with pytest.raises(ConfigurationError, match="is part of Python and has no version"):
        requirements_for([entry])


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("imp", "Python 3.12 removed it"),
        ("distutils.core", "Python 3.12 removed it"),
        ("asynchat", "Python 3.12 removed it"),
        ("cgi", "Python 3.13 removed it"),
        ("lib2to3.*", "Python 3.13 removed it"),
        ("binhex", "Python 3.11 removed it"),
        ("profiling", "it came with Python 3.15"),
    ],
)
def test_module_that_a_guest_does_not_have_is_refused(entry: str, why: str):
    with pytest.raises(ConfigurationError) as caught:
        check_imports(["json", entry])
    assert str(caught.value) == (
        "additional_authorized_imports: the Python 3.14 of WasmExecutor has no module "
        f"{entry.split('.')[0]!r}: {why}; leave it out, or name a distribution that provides it"
    )
