"""Hooks of mkdocs: pages outside ``docs/``, and links as a repository has them.

The pages of ``docs/`` link to files of the repository by their relative paths, so that they can be
read there too. The site adds the pages of the repository's top folder and puts every link right.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools.paths import ROOT

__all__ = ["on_files", "on_page_markdown", "rewritten"]

#: Pages from outside ``docs/``: path in the repository to path in the site.
OUTSIDE = {
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "RELEASING.md": "releasing.md",
}
#: A link or picture to a relative path, with its anchor apart.
_LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside ``docs/``."""
    for source, target in OUTSIDE.items():
        files.append(File.generated(config, target, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Rewrite the links of one page."""
    target = page.file.src_uri
    sources = {site: source for source, site in OUTSIDE.items()}
    return rewritten(markdown, sources.get(target, f"docs/{target}"), target)


def rewritten(markdown: str, source: str, target: str) -> str:
    """Return a page with its links as the site needs them.

    Args:
        markdown: the page.
        source: its path in the repository.
        target: its path in the site.

    A link to a file that the site does not have becomes the file's path in the repository.
    """

    def replace_link(match: re.Match[str]) -> str:
        text, path, anchor = match[1], match[2], match[3] or ""
        named = os.path.normpath(PurePosixPath(source).parent / path)
        if named in OUTSIDE:
            page = OUTSIDE[named]
        elif named.startswith("docs/"):
            page = named.removeprefix("docs/")
        elif (ROOT / named).exists():
            return text if text.strip("`") == named else f"{text} (`{named}`)"
        else:
            return match[0]
        relative = os.path.relpath(page, PurePosixPath(target).parent)
        return f"[{text}]({Path(relative).as_posix()}{anchor})"

    return _LINK.sub(replace_link, markdown)
