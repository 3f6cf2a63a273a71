"""Package index of static pages (PEP 503), which any web server or folder can offer.

``python -m tools.release.static_index FOLDER ARCHIVE...`` writes one for archives of any number of
releases.
"""

from __future__ import annotations

import hashlib
import html
import shutil
import sys
import zipfile
from collections.abc import Iterable, Sequence
from email.parser import HeaderParser
from pathlib import Path
from urllib.parse import quote

from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

__all__ = ["main", "write_index"]

_PAGE = """\
<!DOCTYPE html>
<html>
  <head>
    <meta name="pypi:repository-version" content="1.0">
    <title>{title}</title>
  </head>
  <body>
{links}
  </body>
</html>
"""


def write_index(folder: Path, archives: Iterable[Path]) -> None:
    """Write ``simple/`` and ``files/`` for archives; links are relative and have the sha256.

    Args:
        folder: an empty folder to write to; made if need be.
        archives: wheels and source distributions of one or more projects.
    """
    files = folder / "files"
    files.mkdir(parents=True)
    links: dict[str, list[str]] = {}
    for archive in sorted(archives, key=lambda path: path.name):
        shutil.copyfile(archive, files / archive.name)
        links.setdefault(_project(archive), []).append(_link(archive))
    _write_page(folder / "simple", "Projects", [f'<a href="{name}/">{name}</a>' for name in links])
    for name, found in links.items():
        _write_page(folder / "simple" / name, f"Files of {name}", found)


def _project(archive: Path) -> str:
    parse = parse_wheel_filename if archive.suffix == ".whl" else parse_sdist_filename
    return canonicalize_name(parse(archive.name)[0])


def _link(archive: Path) -> str:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    requires = _requires_python(archive)
    attribute = f' data-requires-python="{html.escape(requires)}"' if requires else ""
    address = f"../../files/{quote(archive.name)}#sha256={digest}"
    return f'<a href="{address}"{attribute}>{html.escape(archive.name)}</a>'


def _requires_python(archive: Path) -> str:
    """Read a wheel's ``Requires-Python``; installers find that of a source distribution inside."""
    if archive.suffix != ".whl":
        return ""
    with zipfile.ZipFile(archive) as wheel:
        (name,) = (one for one in wheel.namelist() if one.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(wheel.read(name).decode("utf-8"))["Requires-Python"] or ""


def _write_page(folder: Path, title: str, links: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = "\n".join(f"    {link}<br>" for link in sorted(links))
    (folder / "index.html").write_text(_PAGE.format(title=title, links=lines), "utf-8")


def main(arguments: Sequence[str]) -> int:
    """Write the index of archives to a folder; return the exit status.

    Args:
        arguments: the folder, and then the archives.
    """
    folder, *archives = map(Path, arguments)
    write_index(folder, archives)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
