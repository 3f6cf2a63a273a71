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
        ("a_b/c__d/e.f--g:V_1.0-x", "a_b/c__d/e.f--g", "V_1.0-x", "", "V_1.0-x"),
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


WITHOUT_A_NAME = ["", ":v", "a:", "registry/", "localhost:5000/", "a@", "a/:v"]
# docker-py would write each of these registries to a credential helper, as they are.
ODD = [
    "a\nb.x/i", "b.x\n/i", "b.x/i\n", "b.x/i:1\n", f"b.x/i@{DIGEST}\n", "a.b\0c/i", "x.y\u2028z/i",
    "--x.y/i", "-/x", "--help", "$(id).x/i", "../../x.y/i", "/i", ".h/i", "h..x/i",
    "h.x./i", "h.x/../i",
    "https://u:p@h.x/i", "h.x:/i", "h.x:9z/i", "h.x:\u00b2/i", "\u00b2.x/i", "h.x:1/i m",
    "[::1\n]/i",
]  # fmt: skip


@pytest.mark.parametrize("text", [*WITHOUT_A_NAME, *ODD])
def test_text_without_a_name_or_with_another_character_is_refused(text):
    with pytest.raises(ConfigurationError) as caught:
        parse_reference("image_name", text)
    assert str(caught.value) == (
        f"image_name={text!r} is not a reference to an image: pass name:tag, or "
        "registry/name:tag for a registry that is not Docker's own"
    )
