"""An agent sandbox on a real engine, shared by the tests that leave it as they found it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from smolagents_fork import AgentSandbox

START = {"startup_timeout_seconds": 180, "timeout_seconds": 120}
#: Figures of upstream's guide.
GUIDE = {"memory": "512m", "cpus": 0.5, "pids_limit": 100}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder."""
    item.add_marker(pytest.mark.docker)
    item.add_marker(pytest.mark.agent_sandbox)


class Output:
    """Takes the output of the shared sandbox, for the test that wants it."""

    def __init__(self) -> None:
        self.current: Callable[[str], None] = lambda text: None

    def __call__(self, text: str) -> None:
        self.current(text)


@pytest.fixture(scope="session")
def box_output() -> Output:
    return Output()


@pytest.fixture(scope="session")
def box(engine: Any, box_output: Output) -> Iterator[AgentSandbox]:
    """A sandbox with the guide's limits, without network, secrets or a model."""
    with AgentSandbox(on_output=box_output, **START, **GUIDE) as made:
        yield made


class Switch:
    """The host's model of the shared sandbox: each test says which one it is."""

    def __init__(self) -> None:
        self.current: Any = None

    def generate(self, messages: Any, **arguments: Any) -> Any:
        return self.current.generate(messages, **arguments)

    def generate_stream(self, messages: Any, **arguments: Any) -> Any:
        return self.current.generate_stream(messages, **arguments)


@pytest.fixture(scope="session")
def box_and_switch(engine: Any) -> Iterator[tuple[AgentSandbox, Switch]]:
    switch = Switch()
    with AgentSandbox(model_on_host=switch, model_arguments=["temperature"], **START) as made:
        yield made, switch


@pytest.fixture
def on_host(
    box_and_switch: tuple[AgentSandbox, Switch],
) -> Iterator[Callable[[Any], AgentSandbox]]:
    """Gives the shared sandbox whose model on the host is the given one."""
    box, switch = box_and_switch

    def with_model(model: Any) -> AgentSandbox:
        switch.current = model
        return box

    yield with_model
    switch.current = None
