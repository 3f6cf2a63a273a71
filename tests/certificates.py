"""Certificates for TLS between both ends of a test."""

from __future__ import annotations

from pathlib import Path

import trustme


def made_in(folder: Path, *addresses: str) -> Path:
    """Create a key and a certificate, with the authority's certificate behind it and beside it.

    Args:
        folder: for the file with all, and for the authority's, whose name ends with ``.crt``.
        addresses: IP addresses that it is for, besides 127.0.0.1 and localhost.
    """
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1", "localhost", *addresses)
    path = folder / "both.pem"
    certificate.private_key_and_cert_chain_pem.write_to_path(str(path))
    authority.cert_pem.write_to_path(str(path), append=True)
    authority.cert_pem.write_to_path(f"{path}.crt")
    return path
