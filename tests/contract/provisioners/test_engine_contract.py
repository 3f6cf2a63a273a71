"""Rules of the engine protocol."""

from __future__ import annotations

import copy
from typing import Any

from background import at_once

from smolagents_fork.executors.docker.engine_choice import engine_for
from smolagents_fork.executors.docker.options import DockerOptions
from smolagents_fork.options.option import about
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.engine_protocol import check_engine


def test_engine_is_data(place):
    engine = place.engine
    assert check_engine(engine) is engine
    same = copy.deepcopy(engine)
    assert (same, hash(same), repr(same)) == (engine, hash(engine), repr(engine))
    assert engine != object()
    assert engine.name == engine.name.lower()
    assert engine_for(engine, DockerOptions()) is engine


def test_refused_options_are_options_with_a_reason(place):
    refused = place.engine.refused_options
    assert set(refused) <= set(about(DockerOptions))
    assert all(len(reason) > 10 for reason in refused.values())


def test_missing_network_has_a_remedy(place):
    remedy = place.engine.network_remedy(ContainerOptions(), "pool")
    assert isinstance(remedy, str)
    assert remedy == "" or remedy.startswith("give ")
    assert place.engine.network_remedy(ContainerOptions(network="bridge"), "pool") in ("", remedy)


def test_connections_are_made_at_once_and_independent(place):
    made: list[Any] = []
    at_once(*[lambda: made.append(place.engine.connect(ContainerOptions()))] * 6)
    assert len({id(one) for one in made}) == 6
    for one in made[1:]:
        one.close()
    assert made[0].prepare_image(place.image, report=lambda _line: None) == place.spec.image
    made[0].close()
