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


def test_index_without_a_proxy(monkeypatch):
    with served(None) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        assert index_check().run().state == "ok"


def test_certificate_that_nobody_knows(monkeypatch, tmp_path):
    with served(certificates.made_in(tmp_path)) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        found = index_check().run()
    assert found.state == "warning"
    assert found.text.startswith("pip does not trust its index: ")
    assert "set PIP_CERT to the PEM file with its certificate" in found.todo


def test_certificate_that_the_environment_names(monkeypatch, tmp_path):
    pem = certificates.made_in(tmp_path)
    with served(pem) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        monkeypatch.setenv("PIP_CERT", str(pem))
        assert index_check().run().state == "ok"
