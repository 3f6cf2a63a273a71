"""Packages whose code runs while they are built reach no other build, and no image has a password.

The index is a folder that this test serves on the engine's bridge.
"""

from __future__ import annotations

import io
import ipaddress
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import private_index
import pytest

from smolagents_fork.errors import ImageBuildError
from smolagents_fork.executors.docker import DockerExecutor

pytestmark = pytest.mark.images

#: A build backend that writes a wheel of one module. Before that, it tries to leave a wheel of
#: another package wherever other builds might look, and notes what it sees.
BACKEND = """
import json, os, zipfile
NAME, OTHER = {name!r}, {other!r}

def wheel(folder, name, text):
    path = os.path.join(folder, name + "-1.0-py3-none-any.whl")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name + ".py", text)
        info = name + "-1.0.dist-info/"
        metadata = "Metadata-Version: 2.1\\nName: " + name + "\\nVersion: 1.0\\n"
        archive.writestr(info + "METADATA", metadata)
        tags = "Wheel-Version: 1.0\\nTag: py3-none-any\\nRoot-Is-Purelib: true\\n"
        archive.writestr(info + "WHEEL", tags)
        archive.writestr(info + "RECORD", "")
    return os.path.basename(path)

def build_wheel(directory, settings=None, metadata=None):
    seen = {{"environment": dict(os.environ), "left": []}}
    if OTHER:
        for top in ("/mnt", "/var/cache", "/root/.cache", os.environ.get("PIP_CACHE_DIR", "/mnt")):
            for folder, names, files in os.walk(top):
                try:
                    seen["left"].append(folder + "/" + wheel(folder, OTHER, "WHOSE = 'hostile'"))
                except OSError:
                    pass
    return wheel(directory, NAME, "WHOSE = " + repr(NAME) + "\\nSEEN = " + repr(json.dumps(seen)))
"""


def write_sdist(folder: Path, name: str, other: str = "") -> None:
    (folder / name).mkdir(parents=True)
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\n'
        'backend-path = ["."]\n',
        "backend.py": BACKEND.format(name=name.replace("-", "_"), other=other),
    }
    with tarfile.open(folder / name / f"{name}-1.0.tar.gz", "w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}-1.0/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


@pytest.fixture
def index(engine, tmp_path, monkeypatch) -> Iterator[Path]:
    """Serve a package index to the engine's containers, with a password in its address."""
    network = engine.networks.get("bridge").attrs
    described = network["IPAM"]["Config"][0]
    # Some engines leave out the address that the bridge has without being told: the first.
    first = next(ipaddress.ip_network(described["Subnet"]).hosts())
    host = described.get("Gateway", str(first))
    (tmp_path / "simple").mkdir()
    with private_index.serving(tmp_path) as port:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://user:hunter2@{host}:{port}/simple")
        monkeypatch.setenv("PIP_TRUSTED_HOST", host)
        yield tmp_path / "simple"


def test_code_of_a_package_reaches_no_other_build(throw_away, make, index, engine):
    write_sdist(index, "first-hostile", other="second_victim")
    write_sdist(index, "second-victim")
    images = [DockerExecutor.setup([one]) for one in ("first-hostile", "second-victim")]
    for image in images:
        throw_away(image)
    first = make(["first-hostile"])
    seen = json.loads(first("import first_hostile\nfirst_hostile.SEEN").output)
    second = make(["second-victim"])
    assert second("import second_victim\nsecond_victim.WHOSE").output == "second_victim"
    # The code of the first ran, as root, and has not found a folder that is shared.
    assert seen["environment"]["PIP_NO_CACHE_DIR"] == "1"
    for executor, image in zip((first, second), images, strict=True):
        config = engine.api.inspect_image(image)["Config"]
        assert "hunter2" not in str([engine.api.history(image), config])
        assert executor("import os\n'hunter2' in str(dict(os.environ))").output is False


def test_errors_of_a_build_show_no_password(make, index):
    with pytest.raises(ImageBuildError) as caught:
        make(["a-package-that-is-not-there"])
    assert "a-package-that-is-not-there" in str(caught.value)
    assert "hunter2" not in str(caught.value)
