"""Certificates for TLS between both ends of a test."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def made_in(folder: Path) -> Path:
    """Create a key and a certificate for 127.0.0.1; skip the test if that is not possible."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate, and is not here")
    path = folder / "both.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=engine"
    command = ["openssl", *words.split(), "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*command, "-keyout", path, "-out", f"{path}.crt"], check=True, capture_output=True
    )
    path.write_text(path.read_text() + path.with_name("both.pem.crt").read_text())
    return path
