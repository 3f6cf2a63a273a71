"""Pages and Markdown of programs and models, for a browser that shows them on the host.

Nothing in them loads from an address or runs a script. No rule here depends on a parser that could
read a text otherwise than the browser does, and all of them take linear time.
"""

from __future__ import annotations

import html
import re

from .texts import encodable

__all__ = ["harmless_markdown", "isolated_page"]

#: Longest page that is shown, in characters.
LONGEST_PAGE = 2_000_000

# A browser's policy does not count lookups of names as loads, so the page must not cause them:
# neither by an element that asks for one, nor by the names of links.
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
    "style-src 'unsafe-inline'; font-src data:; form-action 'none'; base-uri 'none'\">"
    '<meta http-equiv="x-dns-prefetch-control" content="off"><meta charset="utf-8">'
)
_LOOKUPS = re.compile(r"<(?=(?:link|meta|base)\b)", re.IGNORECASE)
# The start of anything in HTML that is not text, but for the tags around a model's code.
_MARKUP = re.compile(r"<(?!/?code>)(?=[A-Za-z/!?])")
# A diagram can name images.
_DIAGRAM = re.compile(r"((?<![`~])[`~]{3,}[^\S\n]*)(?=(?:\{[^\S\n]*)?\.?mermaid)", re.IGNORECASE)


def isolated_page(page: str) -> str | None:
    """Return an element that shows a page apart from the notebook's own; ``None`` if it is large.

    The page has no scripts, forms or origin, and loads nothing but ``data:`` images and fonts.

    Example:
        >>> from smolagents_fork.text.pages import isolated_page
        >>> isolated_page("<b>bold</b>")[:16]
        '<iframe sandbox '
    """
    if len(page) > LONGEST_PAGE:
        return None
    document = _POLICY + _LOOKUPS.sub("&lt;", encodable(page))
    return (
        f'<iframe sandbox srcdoc="{html.escape(document)}" style="width: 100%; height: 24em; '
        'border: 0; resize: vertical; overflow: auto"></iframe>'
    )


def harmless_markdown(text: str) -> str:
    """Return Markdown without images and HTML, however a browser reads it.

    A space follows ``<`` before a name and ``!`` before a bracket, in code, too; ``<code>`` stays.
    The text of a diagram is shown as text.

    Args:
        text: Text of a program or a model, limited by its caller.

    Example:
        >>> from smolagents_fork.text.pages import harmless_markdown
        >>> harmless_markdown("**no** ![load](http://127.0.0.1:9/x) <img src=y>")
        '**no** ! [load](http://127.0.0.1:9/x) < img src=y>'
    """
    return _DIAGRAM.sub(r"\1text ", _MARKUP.sub("< ", text).replace("![", "! ["))
