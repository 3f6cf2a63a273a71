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

from smolagents_fork.sandboxes.package_index import index_checks
from smolagents_fork.sandboxes.pip_settings import CA_VARIABLES
from smolagents_fork.system.checks import Finding

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


def findings() -> dict[str, Finding]:
    return {check.name: check.run() for check in index_checks()}


def test_index_that_does_not_answer(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    found = findings()
    assert found["index"].state == "warning"
    assert found["index"].text == (
        "pip cannot reach its index: http://127.0.0.1:9/simple/pip/: [Errno 111] Connection refused"
    )
    assert found["certificates"].text == "the index does not answer"


def test_index_without_a_proxy(monkeypatch):
    with served(None) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        found = findings()
    assert {finding.state for finding in found.values()} == {"ok"}


def test_certificate_that_nobody_knows(monkeypatch, tmp_path):
    with served(certificates.made_in(tmp_path)) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        found = findings()
    assert found["index"].text.startswith("pip does not trust its index: ")
    assert found["certificates"].text == "a fresh image does not trust the index"
    for finding in found.values():
        assert finding.state == "warning"
        assert "set PIP_CERT to the PEM file with its certificate" in finding.todo


def test_certificate_that_the_environment_names(monkeypatch, tmp_path):
    pem = certificates.made_in(tmp_path)
    with served(pem) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        monkeypatch.setenv("PIP_CERT", str(pem))
        found = findings()
    assert found["index"].state == "ok"
    assert found["certificates"].text == f"builds trust {pem} (PIP_CERT)"


def test_certificates_that_cannot_be_read(monkeypatch, tmp_path):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "none.pem"))
    (found,) = [check.run() for check in index_checks() if check.name == "certificates"]
    assert found.state == "warning"
    assert found.text.startswith(f"REQUESTS_CA_BUNDLE names {tmp_path}/none.pem, which cannot be")
