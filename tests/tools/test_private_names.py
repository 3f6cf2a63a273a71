"""Uses of private names are found, by whatever syntax; each rule can fail."""

from __future__ import annotations

import pytest

from tools import private_names
from tools.layers import PACKAGE
from tools.paths import ROOT
from tools.private_names import private_name_violations


@pytest.fixture
def package(tmp_path):
    """Write a module of an example package and return its violations."""

    def check(text: str) -> list[str]:
        (tmp_path / "made.py").write_text(text)
        return private_name_violations(tmp_path)

    return check


def test_package_uses_no_private_names_but_those_of_the_table():
    assert private_name_violations(ROOT / PACKAGE) == []


@pytest.mark.parametrize("folder", ["sandboxes/", "executors/docker/"])
def test_engines_are_not_in_the_table(folder):
    assert not any(path.startswith(folder) for path in private_names.ALLOWED)


@pytest.mark.parametrize(
    "use",
    [
        "response.raw._fp",
        "self.shell._tee",
        "getattr(attached, '_sock', None)",
        "vars(client.api)['_version']",
        "library._function()",
    ],
)
def test_private_name_is_found(package, use):
    (found,) = package(f"value = 1\nvalue = {use}\n")
    assert ":2: " in found
    assert "is private" in found


@pytest.mark.parametrize(
    "use",
    [
        "self._sock",
        "cls._made",
        "super()._close",
        "Own._made",
        "getattr(self, '_session', None)",
        "other._codes",
        "os._exit",
        "value.__dict__",
    ],
)
def test_own_and_documented_names_are_allowed(package, use):
    assert package(f"class Own:\n    pass\nvalue = {use}\n") == []


def test_row_of_the_table_that_is_not_needed_is_found(package, monkeypatch):
    monkeypatch.setattr(private_names, "ALLOWED", {"made.py": "a reason"})
    assert package("value = library._name\n") == []
    (found,) = package("value = 1\n")
    assert "made.py uses no private name" in found
