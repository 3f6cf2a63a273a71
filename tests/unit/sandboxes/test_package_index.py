"""pip's index behind a certificate that only this machine knows, as a re-signing proxy shows it."""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Iterator
from pathlib import Path

import certificates
import pytest
from web_servers import Handler, serving

from smolagents_fork.sandboxes.package_index import index_check
from smolagents_fork.sandboxes.pip_settings import CA_VARIABLES

PAGE = b'<a href="pip-1.0-py3-none-any.whl">pip-1.0-py3-none-any.whl</a>'


class Index(Handler):
    """An index with one package."""

    def do_GET(self) -> None:
        self.answer(PAGE, "text/html")


@contextlib.contextmanager
def served(pem: Path | None) -> Iterator[str]:
    context = None
    if pem is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
    with serving(context, Index) as server:
        # By name: the pip of Python 3.13.0 cannot check an address.
        yield f"http{'s' if pem else ''}://localhost:{server.port}/simple"


@pytest.fixture(autouse=True)
def own_settings(monkeypatch):
    """pip without the settings of the machine that runs the test."""
    for name in [*CA_VARIABLES, "CURL_CA_BUNDLE", "SSL_CERT_DIR", *os.environ]:
        if name.startswith("PIP_") or name.endswith(("_BUNDLE", "_CERT_FILE", "_CERT_DIR")):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def test_index_that_does_not_answer(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    found = index_check().run()
    assert found.state == "warning"
    assert found.text == (
        "pip cannot reach its index: http://127.0.0.1:9/simple/pip/: [Errno 111] Connection refused"
    )


@pytest.mark.parametrize(
    ("has_certificate", "is_named", "text", "todo"),
    [
        (False, False, "", ""),
        (True, True, "", ""),
        (
            True,
            False,
            "pip does not trust its index: ",
            "set PIP_CERT to the PEM file with its certificate",
        ),
    ],
    ids=["without TLS", "certificate in the environment", "certificate that nobody knows"],
)
def test_index_is_trusted_or_not(monkeypatch, tmp_path, has_certificate, is_named, text, todo):
    pem = certificates.made_in(tmp_path) if has_certificate else None
    if is_named:
        monkeypatch.setenv("PIP_CERT", str(pem))
    with served(pem) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        found = index_check().run()
    assert found.state == ("warning" if text else "ok")
    assert found.text.startswith(text)
    assert todo in found.todo
