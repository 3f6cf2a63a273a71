"""Settings of pip for a command that a test runs."""

from __future__ import annotations

import os

__all__ = ["NO_INDEX", "PIP"]

#: Settings of pip on the machine that runs the tests, of which a test needs its own.
PIP = (
    "PIP_CERT", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_NO_INDEX",
    "PIP_TRUSTED_HOST", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE",
)  # fmt: skip
#: An index that cannot be reached, so that a check ends at once.
NO_INDEX = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
