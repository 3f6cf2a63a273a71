"""An index of a test's own: small wheels in a folder, served over HTTP."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import http.server
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["serving", "write_wheel"]


def write_wheel(index: Path, name: str, version: str = "1.0", origin: str = "") -> Path:
    """Add a package of one module, which has a variable ``ORIGIN``, to an index."""
    project = index / "simple" / name.replace("_", "-")
    project.mkdir(parents=True, exist_ok=True)
    metadata = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"ORIGIN = {origin!r}\n",
        f"{metadata}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{metadata}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{metadata}/RECORD,,"]
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()
        rows.append(f"{path},sha256={digest.rstrip('=')},{len(text)}")
    wheel = project / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, f"{metadata}/RECORD": "\n".join(rows)}.items():
            archive.writestr(path, text)
    links = [f'<a href="{path.name}">{path.name}</a>' for path in sorted(project.glob("*.whl"))]
    (project / "index.html").write_text("\n".join(links))
    return wheel


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Handler without a log."""

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving(index: Path) -> Iterator[int]:
    """Serve an index on every address of this machine; gives the port."""
    handler = functools.partial(_Handler, directory=str(index))
    with http.server.ThreadingHTTPServer(("0.0.0.0", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()
