"""References to images, cut at the right places."""

from __future__ import annotations

import pytest

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.sandboxes.docker.images.image_reference import parse_reference

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("text", "repository", "tag", "digest", "version"),
    [
        ("python", "python", "", "", "latest"),
        ("python:3.12-slim", "python", "3.12-slim", "", "3.12-slim"),
        ("a/b/c:v", "a/b/c", "v", "", "v"),
        ("localhost:5000/a", "localhost:5000/a", "", "", "latest"),
        ("localhost:5000/a/b:v", "localhost:5000/a/b", "v", "", "v"),
        ("[::1]:5000/a:v", "[::1]:5000/a", "v", "", "v"),
        (f"a@{DIGEST}", "a", "", DIGEST, DIGEST),
        (f"localhost:5000/a:v@{DIGEST}", "localhost:5000/a", "v", DIGEST, DIGEST),
    ],
)
def test_parts_of_a_reference(text, repository, tag, digest, version):
    found = parse_reference("image", text)
    assert (found.repository, found.tag, found.digest) == (repository, tag, digest)
    assert found.version == version


@pytest.mark.parametrize("text", ["", ":v", "a:", "registry/", "localhost:5000/", "a@", "a/:v"])
def test_text_without_a_name_is_refused(text):
    with pytest.raises(ConfigurationError) as caught:
        parse_reference("image_name", text)
    assert str(caught.value) == (
        f"image_name={text!r} is not a reference to an image: give name:tag, after registry/ "
        "where it is not Docker's own"
    )
