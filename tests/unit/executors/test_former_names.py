"""Options by the names that earlier releases had for them."""

from __future__ import annotations

import pytest

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors.docker.options import DockerOptions
from smolagents_fork.options.option import about
from smolagents_fork.options.unknown_names import FORMER_NAMES, current_names, former_names_of

NAMES = sorted(FORMER_NAMES.items())


@pytest.mark.parametrize(("former", "present"), NAMES)
def test_former_name_is_taken_for_the_present_one_and_noted_once(former, present, caplog):
    for _ in range(2):
        found = current_names(f"Executor of {former}", {former: 5, "cpus": 1}, [present, "cpus"])
        assert found == {present: 5, "cpus": 1}
    assert caplog.messages == [f"Executor of {former}: {former}= is now called {present}="]
    assert former in former_names_of(present)


@pytest.mark.parametrize(("former", "present"), NAMES)
def test_both_names_are_refused(former, present):
    message = f"E: {former}= is the former name of {present}=; give the latter alone"
    with pytest.raises(ConfigurationError, match=message):
        current_names("E", {former: 5, present: 5}, [present])


def test_name_that_the_callee_has_itself_stays(caplog):
    given = {"max_output_bytes": 5}
    assert current_names("Other", given, ["max_output_bytes"]) == given
    assert current_names("Other", given, ["nothing_of_the_kind"]) == given
    assert not caplog.messages


def test_option_of_docker_by_its_former_name():
    options = DockerOptions.of("DockerExecutor", (), {"max_output_bytes": 1234})
    assert options.print_length == 1234
    assert "max_output_bytes" not in about(DockerOptions)
    assert DockerOptions().print_length == 50_000
