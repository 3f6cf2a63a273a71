"""Sizes of memory and its folders that are not set follow those that are."""

from __future__ import annotations

import pytest

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.sandboxes.resource_limits import Limits, fitting_sizes, parse_size

MIB = 1 << 20


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("512 MiB", 512 * MIB),
        ("512M", 512 * MIB),
        ("2 GB", 2048 * MIB),
        ("2GB", 2048 * MIB),
        ("1.5g", 1536 * MIB),
        ("1T", 1 << 40),
        ("2k", 2048),
        ("7b", 7),
        ("5", 5),
        (1_500_000_000, 1_500_000_000),
        ("x", None),
        (0, None),
    ],
)
def test_sizes_in_the_forms_people_write(size, expected):
    assert parse_size(size) == expected


@pytest.mark.parametrize(
    ("given", "memory", "workdir_size", "tmp_size"),
    [
        ({}, "2g", "512m", "128m"),
        ({"memory": "8g"}, "8g", "512m", "128m"),
        ({"memory": None}, None, "512m", "128m"),
        ({"memory": "256m"}, "256m", 64 * MIB, 16 * MIB),
        ({"memory": "8m"}, "8m", 2 * MIB, MIB),
        ({"memory": "256m", "workdir_size": "100m"}, "256m", "100m", 16 * MIB),
        ({"workdir_size": "1g", "tmp_size": "1m"}, 2049 * MIB, "1g", "1m"),
        ({"workdir_size": "800m"}, "2g", "800m", "128m"),
        ({"workdir_size": "4g"}, (4096 + 128 + 1024) * MIB, "4g", "128m"),
    ],
)
def test_defaults_fit_what_is_given(given, memory, workdir_size, tmp_size):
    expected = {"memory": memory, "workdir_size": workdir_size, "tmp_size": tmp_size}
    assert fitting_sizes(given) == expected
    assert Limits.of("Executor", (), given) == Limits(**expected)


def test_defaults_are_those_of_the_limits():
    assert Limits.of("Executor", (), {}) == Limits()


def test_given_sizes_that_do_not_fit_are_refused():
    given = {"memory": "256m", "workdir_size": "250m"}
    assert fitting_sizes(given).items() >= given.items()
    with pytest.raises(ConfigurationError, match="leave nothing of memory='256m'"):
        Limits(**fitting_sizes(given))


@pytest.mark.parametrize("size", [(1 << 60) + 1, "1048577t", "9" * 400 + "g"])
def test_sizes_that_no_engine_can_count_are_refused(size):
    with pytest.raises(ConfigurationError) as caught:
        Limits.of("Executor", (), {"memory": size})
    assert str(caught.value) == (f"memory={size!r}: pass at most '1048576t', or None for no limit")
