"""The installed fork as a wheel, for images: the same code as here, with no index asked for it.

It is made from the two packages where this process imports them from, and from the installed
metadata, so that an editable installation gives one as well (PEP 427, PEP 376).
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ....errors import ExecutorStartError

__all__ = ["installed_wheel"]

DISTRIBUTION = "smolagents"
_PACKAGES = ("smolagents", "smolagents_fork")
_METADATA = ("METADATA", "entry_points.txt")
_WHEEL = (
    b"Wheel-Version: 1.0\nGenerator: smolagents-fork\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
)
# The same bytes from the same files: a zip archive cannot have an earlier time.
_TIME = (1980, 1, 1, 0, 0, 0)


def installed_wheel() -> tuple[str, bytes]:
    """Return the file name and the content of a wheel of the installed distribution.

    Raises:
        ExecutorStartError: a package or the metadata is not where it can be read.
    """
    try:
        installed = importlib.metadata.distribution(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        raise ExecutorStartError(
            f"the distribution {DISTRIBUTION!r} is not installed, so no wheel of it can be made "
            "for the image: install the fork with pip"
        ) from None
    version = installed.version
    folder = f"{DISTRIBUTION}-{version}.dist-info"
    entries = dict(entry for package in _PACKAGES for entry in _files_of(package))
    for name in _METADATA:
        text = installed.read_text(name)
        if text is not None:
            entries[f"{folder}/{name}"] = text.encode()
    entries[f"{folder}/WHEEL"] = _WHEEL
    record = "".join(f"{name},sha256={_hash(data)},{len(data)}\n" for name, data in entries.items())
    entries[f"{folder}/RECORD"] = (record + f"{folder}/RECORD,,\n").encode()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(zipfile.ZipInfo(name, _TIME), data, zipfile.ZIP_DEFLATED)
    return f"{DISTRIBUTION}-{version}-py3-none-any.whl", target.getvalue()


def _files_of(package: str) -> Iterator[tuple[str, bytes]]:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ExecutorStartError(f"the package {package!r} cannot be found for the image")
    root = Path(next(iter(found.submodule_search_locations)))
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"{package}/{path.relative_to(root).as_posix()}", path.read_bytes()


def _hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
