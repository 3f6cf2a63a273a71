"""Labels that are inherited, or that others wrote, decide nothing."""

from __future__ import annotations

import io
import logging
import secrets

import docker
import pytest

from smolagents_fork.command_line.main import main
from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.sandboxes.docker.images.image_plans import plan
from smolagents_fork.sandboxes.docker.images.installation import (
    CORE_LABEL,
    PACKAGES_LABEL,
    largest_part,
)
from smolagents_fork.sandboxes.docker.lifetime import orphans
from smolagents_fork.sandboxes.docker.lifetime.labels import (
    LABEL,
    NAME_LABEL,
)

pytestmark = pytest.mark.images

MORE = ["iniconfig", "six"]


@pytest.fixture
def built(engine, throw_away):
    """Builds images of Dockerfiles, under names that are removed after the test."""

    def build(dockerfile: str, tag: str = "") -> str:
        name = tag or f"somebodys:{secrets.token_hex(8)}"
        throw_away(name)
        engine.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=name, rm=True)
        return name

    return build


def test_image_from_one_of_ours_is_not_built_on(image, engine, built):
    ours = DockerExecutor.setup(requirements=["six"], progress=lambda _line: None)
    wanted = plan(requirements=MORE)
    # The engine may have another one of as many packages.
    own = largest_part(engine, wanted, image)
    assert own != engine.api.inspect_image(image)["Id"]
    # It inherits the labels, and has more packages.
    built(f'FROM {ours}\nCOPY Dockerfile /secret\nLABEL {PACKAGES_LABEL}="six iniconfig"\n')
    built(f"FROM {ours}\nCOPY Dockerfile /secret\n")
    assert largest_part(engine, wanted, image) == own


def first_layer(engine, image):
    return engine.api.inspect_image(image)["RootFS"]["Layers"][0]


def test_image_of_others_with_our_labels_does_not_replace_the_base(image, engine, built):
    wanted = plan(requirements=MORE)
    core = engine.api.inspect_image(image)["Id"]
    labelled = f'LABEL {CORE_LABEL}="{core}" {PACKAGES_LABEL}="{{}}"\n'
    foreign = f"FROM scratch\nCOPY Dockerfile /{secrets.token_hex(8)}\n"
    for packages in ("six", "iniconfig six", "", "six " * 10_000, "\x1b]0;title\x07"):
        built(foreign + labelled.format(packages))
    layers = engine.api.inspect_image(image)["RootFS"]["Layers"]
    assert first_layer(engine, largest_part(engine, wanted, image)) in layers
    # Even the right name is not enough for other layers.
    mark = f"six>=1.0,!=0.{secrets.randbelow(10**9)}"
    named = plan(requirements=[mark]).tag
    built(foreign + labelled.format(mark), named)
    other = plan(requirements=["iniconfig", mark])
    assert first_layer(engine, largest_part(engine, other, image)) in layers


def test_image_name_cannot_be_the_address_of_other_content(image):
    for name in (image, f"docker.io/library/{image}", "smolagents-fork-agent:" + "0" * 20):
        with pytest.raises(ConfigurationError, match="which other executors rely on; pass another"):
            DockerExecutor(dockerfile_content=f"FROM {image}\nUSER root\n", image_name=name)


def test_container_of_a_committed_sandbox_is_not_ours(
    make, engine, capsys, ended, throw_away, create
):
    executor = make()
    committed = f"somebodys:{secrets.token_hex(8)}"
    throw_away(committed)
    executor.container.commit(*committed.split(":"), changes=f"LABEL {LABEL}={ended}")
    container = create(committed, ["sleep", "60"], entrypoint="")
    assert container.attrs["Config"]["Labels"][NAME_LABEL] == executor.container.name
    assert container.name not in orphans.reap(engine)
    main(["ps", "--json"])
    main(["gc", "--dry-run", "--json"])
    listed = capsys.readouterr().out
    assert container.name not in listed
    assert container.short_id not in listed
    assert executor.container.name in listed
    engine.containers.get(container.id)


STRANGE = [
    "²",
    "²:²:²",
    "machine:-1:1",
    "machine:0:1",
    "machine:1",
    "machine:99999999999999999999:1",
    "a\nb:1:1",
    "\x1b[2J\x1b]52;c;AAAA\x07:1:1",
    "x" * 1_000_000,
    ":::",
]


def test_strange_owners_are_skipped_and_named_and_cost_nobody_anything(
    image, engine, ended, caplog, capsys, create
):
    names = [f"strange-{secrets.token_hex(8)}" for _ in STRANGE]
    dead = f"dead-{secrets.token_hex(8)}"
    made = [
        create(image, ["true"], labels={LABEL: owner, NAME_LABEL: name}, name=name)
        for name, owner in zip([*names, dead], [*STRANGE, ended], strict=True)
    ]
    with caplog.at_level(logging.WARNING, "smolagents_fork"):
        assert main(["ps", "--json"]) == 0
        assert main(["gc", "--dry-run", "--match", dead, "--json"]) == 0
        orphans.reap(engine)  # other tests leave orphans, too, and have reapers
    with pytest.raises(docker.errors.NotFound):
        engine.containers.get(dead)
    for container in made[:-1]:
        engine.containers.get(container.id)
        assert f"the container {container.id} cannot be read, and is left out: " in caplog.text
    for record in caplog.records:
        assert record.getMessage().isprintable()
        assert len(record.getMessage()) < 500
    assert not any(name in capsys.readouterr().out for name in names)
