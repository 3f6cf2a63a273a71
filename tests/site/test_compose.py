"""docs/recipes/compose.md: the file starts what the folder has, with the variables of the page."""

from __future__ import annotations

import re

import yaml

from tools.paths import ROOT

FOLDER = ROOT / "examples" / "service"


def test_service_of_the_compose_file_is_the_example():
    (service,) = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"].values()
    dockerfile = (FOLDER / service["build"]["context"] / "Dockerfile").read_text()
    arguments = set(re.findall(r"^ARG (\w+)", dockerfile, re.MULTILINE))
    assert set(service["build"]["args"]) <= arguments
    assert (FOLDER / "app.py").is_file()
    assert "COPY app.py" in dockerfile
    (published,) = service["ports"]
    assert published.endswith(re.search(r'"--port", "(\d+)"', dockerfile)[1])
    assert published.startswith("127.0.0.1:"), "the service asks nobody who they are"


def test_sandboxes_are_reached_over_the_engines_socket():
    (service,) = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"].values()
    assert service["volumes"] == ["/var/run/docker.sock:/var/run/docker.sock"]
    assert "privileged" not in service
    assert "network_mode" not in service
