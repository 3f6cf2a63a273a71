"""Certificates for TLS between both ends of a test."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def made_in(folder: Path, *addresses: str) -> Path:
    """Create a key and a certificate; skip the test if that is not possible.

    Args:
        folder: for the file with both.
        addresses: IP addresses that it is for, besides 127.0.0.1 and localhost.
    """
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate, and is not here")
    path = folder / "both.pem"
    names = ",".join(f"IP:{address}" for address in ("127.0.0.1", *addresses))
    names += ",DNS:localhost"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=engine"
    command = ["openssl", *words.split(), "-addext", f"subjectAltName={names}"]
    # Python 3.13 and later check what RFC 5280 asks of an authority, which this one is, too.
    command += ["-addext", "keyUsage=critical,digitalSignature,keyCertSign"]
    subprocess.run(
        [*command, "-keyout", path, "-out", f"{path}.crt"], check=True, capture_output=True
    )
    path.write_text(path.read_text() + path.with_name("both.pem.crt").read_text())
    return path
