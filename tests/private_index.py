"""An index of a test's own: small wheels in a folder, served over HTTP."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import http.server
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import web_servers

__all__ = ["serving", "write_wheel", "write_wheel_of"]


def write_wheel(index: Path, name: str, version: str = "1.0", origin: str = "") -> Path:
    """Add a package of one module, which has a variable ``ORIGIN``, to an index."""
    project = index / "simple" / name.replace("_", "-")
    project.mkdir(parents=True, exist_ok=True)
    wheel = write_wheel_of(project, name, version, {f"{name}.py": f"ORIGIN = {origin!r}\n"})
    links = [f'<a href="{path.name}">{path.name}</a>' for path in sorted(project.glob("*.whl"))]
    (project / "index.html").write_text("\n".join(links))
    return wheel


def write_wheel_of(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str | bytes],
    needs: Sequence[str] = (),
    tag: str = "py3-none-any",
) -> Path:
    """Write a wheel.

    Args:
        folder: for the wheel.
        name: of the distribution.
        version: of the distribution.
        files: contents by path, which may be those of the metadata.
        needs: requirements.
        tag: of the wheel.
    """
    metadata = f"{name}-{version}.dist-info"
    described = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    written: dict[str, str | bytes] = {
        f"{metadata}/METADATA": described + "".join(f"Requires-Dist: {one}\n" for one in needs),
        f"{metadata}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
        **files,
    }
    rows = [f"{metadata}/RECORD,,"]
    for path, text in written.items():
        data = text if isinstance(text, bytes) else text.encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        rows.append(f"{path},sha256={digest},{len(data)}")
    wheel = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**written, f"{metadata}/RECORD": "\n".join(rows)}.items():
            archive.writestr(path, text)
    return wheel


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Handler without a log."""

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving(index: Path) -> Iterator[int]:
    """Serve an index on every address of this machine; gives the port."""
    handler = functools.partial(_Handler, directory=str(index))
    with web_servers.serving(handler=handler, address="0.0.0.0") as server:
        yield server.port
