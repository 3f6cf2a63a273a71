"""Pages of programs load nothing in a browser, and run nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from web_servers import Handler, serving

from smolagents_fork.text.pages import LONGEST_PAGE, harmless_markdown, isolated_page
from tests.browser import opened_browser

#: Elements that load from an address by themselves; ``{at}`` is one that notes what comes.
LOADING = (
    "<img src={at}/img>",
    "<img srcset='{at}/srcset 1x'>",
    "<picture><source srcset={at}/source><img></picture>",
    "<script src={at}/script></script>",
    "<script>new Image().src = '{at}/made'; fetch('{at}/fetch')</script>",
    "<svg onload=\"fetch('{at}/onload')\"><image href={at}/svg /><use href={at}/use#x /></svg>",
    "<link rel=stylesheet href={at}/css><link rel=icon href={at}/icon>",
    "<link rel=prefetch href={at}/prefetch><LINK rel=preload as=image href={at}/preload>",
    "<style>@import '{at}/import'; body {{ background: url({at}/url) }}</style>",
    "<style>@font-face {{ font-family: f; src: url({at}/font) }} p {{ font-family: f }}</style>",
    "<p style='background-image: image-set(\"{at}/set\" 1x)'>p</p>",
    "<table background={at}/background><tr><td>x</table><body background={at}/body>",
    "<video src={at}/video poster={at}/poster autoplay></video><audio src={at}/audio autoplay>",
    "</audio><iframe src={at}/iframe></iframe><iframe srcdoc='<img src={at}/inner>'></iframe>",
    "<object data={at}/object></object><embed src={at}/embed>",
    "<input type=image src={at}/input><base href={at}/base/><img src=relative>",
    "<meta http-equiv=refresh content='0;url={at}/refresh'>",
    "\"><img src={at}/quote>'><img src={at}/apostrophe>",
)


@pytest.fixture
def noted() -> Iterator[tuple[str, list[str]]]:
    """Give the address of a server, and the paths that were asked for."""
    paths: list[str] = []

    class Noting(Handler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.answer(page_of.get(self.path, b""), "text/html")

    with serving(handler=Noting) as server:
        at = f"http://127.0.0.1:{server.port}"
        page = "".join(LOADING).format(at=at)
        page_of = {
            "/framed": f"<title>framed</title>{isolated_page(page)}".encode(),
            "/open": f"<title>open</title>{page}".encode(),
        }
        yield at, paths


@pytest.mark.slow
@pytest.mark.limit(180)
def test_page_of_a_program_loads_nothing(noted, tmp_path):
    at, paths = noted
    with opened_browser(tmp_path) as browser:
        browser.get(f"{at}/framed")
        browser.implicitly_wait(2)
        browser.find_elements("id", "absent")  # the time in which a page would refresh
        loaded = [path for path in paths if path not in ("/framed", "/favicon.ico")]
        assert browser.title == "framed"
        assert loaded == []
        browser.get(f"{at}/open")
        browser.find_elements("id", "absent")
    assert {"/img", "/svg", "/url", "/made"} <= set(paths)  # the same page without the frame


def test_lookups_of_names_are_not_asked_for():
    element = isolated_page("<LINK rel=dns-prefetch href=//secret.invalid><meta a><base b>")
    assert element is not None
    # Escaped twice: text of the frame's page.
    assert "&amp;lt;LINK rel=dns-prefetch" in element
    assert "&amp;lt;meta a" in element
    assert "&amp;lt;base b" in element
    assert "x-dns-prefetch-control" in element


def test_large_page_is_not_shown():
    assert isolated_page("x" * LONGEST_PAGE) is not None
    assert isolated_page("x" * (LONGEST_PAGE + 1)) is None


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("![a](http://127.0.0.1/x)", "! [a](http://127.0.0.1/x)"),
        ("![a][r]\n\n[r]: http://127.0.0.1/x", "! [a][r]\n\n[r]: http://127.0.0.1/x"),
        ("```\n```\n![a](x)", "```\n```\n! [a](x)"),
        ("<IMG src=x>", "< IMG src=x>"),
        ("</details><!-- --><?x?>", "< /details>< !-- -->< ?x?>"),
        ("<svg/onload=x>", "< svg/onload=x>"),
        ("1 < 2 <= 3", "1 < 2 <= 3"),
        ("```mermaid\nA@{ img: x }", "```text mermaid\nA@{ img: x }"),
        ("~~~ Mermaid", "~~~ text Mermaid"),
        ("<<b>!![a](x)", "<< b>!! [a](x)"),
    ],
)  # fmt: skip
def test_markdown_has_no_images_and_no_html(text, harmless):
    assert harmless_markdown(text) == harmless


@pytest.mark.limit(60)
@pytest.mark.parametrize("text", ["`" * 300_000, "```" + " " * 300_000], ids=["marks", "spaces"])
def test_markdown_takes_linear_time(text):
    """A search that began anew at each mark would take half an hour."""
    assert harmless_markdown(text) == text
