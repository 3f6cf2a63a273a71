"""Checks of pip's index as seen from this machine, and of the certificates on the way to it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

from ..system.checks import Check, Finding, ok, skip, warning
from ..system.host_pipe import run_program
from ..text.redaction import without_passwords
from .pip_settings import CA_VARIABLES, ca_bytes

__all__ = ["index_checks", "is_certificate_refused"]

_SECONDS = 25.0
# Any index has it.
_PACKAGE = "pip"
_ALL_CA_VARIABLES = (*CA_VARIABLES, "CURL_CA_BUNDLE", "SSL_CERT_DIR")
_PROXY = (
    "a proxy on the way re-signs TLS: set PIP_CERT to the PEM file with its certificate, or pass "
    "ca_bundle= to the executor"
)
_CUT = 300
_FETCHED = re.compile(r"Could not fetch URL (\S+): (.*?)(?: - skipping)?$", re.MULTILINE)
# Such as "[Errno 111] Connection refused".
_CAUSE = re.compile(r"\[(?:Errno|SSL)[^\]]*\][^'\")(]*")


def index_checks() -> list[Check]:
    """Return the checks of the index and of its certificate; a failure is a warning.

    An index is needed only while something is built or fetched.
    """
    return [
        Check("index", _index, _SECONDS),
        Check("certificates", _certificates, _SECONDS),
    ]


def _index() -> Finding:
    code, text = _ask_pip([], os.environ)
    if not code:
        return ok("pip finds packages with the settings of this user")
    if "No module named pip" in text:
        return skip("this Python has no pip to ask with")
    if is_certificate_refused(text):
        return warning(f"pip does not trust its index: {_cut(text)}", _PROXY)
    return warning(
        f"pip cannot reach its index: {_cut(text)}",
        "check the network, and PIP_INDEX_URL or pip.conf; an image or a package that is there "
        "already needs no index",
    )


def _certificates() -> Finding:
    for variable in CA_VARIABLES:
        path = os.environ.get(variable)
        if path and not os.access(path, os.R_OK):
            return warning(
                f"{variable} names {path}, which cannot be read", f"correct or unset {variable}"
            )
    if ca_bytes(None):
        variable = next(name for name in CA_VARIABLES if os.environ.get(name))
        return ok(f"builds trust {os.environ[variable]} ({variable})")
    environment = {
        name: value for name, value in os.environ.items() if name not in _ALL_CA_VARIABLES
    }
    # Only with the certificates that pip brings, as pip in a fresh image does. Releases that would
    # take the system's own instead have the option; others do not know it.
    code, text = _ask_pip(["--use-deprecated=legacy-certs"], environment)
    if "invalid choice" in text:
        code, text = _ask_pip([], environment)
    if not code:
        return ok("a fresh image trusts the index")
    if is_certificate_refused(text):
        return warning("a fresh image does not trust the index", _PROXY)
    return skip("the index does not answer")


def is_certificate_refused(text: str) -> bool:
    """Tell whether pip's output says that a certificate was refused."""
    low = text.lower()
    return "ssl certificate" in low or "certificate_verify_failed" in low


def _ask_pip(options: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    command = [
        # Isolated: modules in the current folder may be anybody's.
        *(sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"),
        # Twice verbose: otherwise pip does not say why it could not reach the index.
        *("-vv", "--retries", "0", "--timeout", "10", *options, "index", "versions", _PACKAGE),
    ]
    try:
        done = run_program(command, seconds=_SECONDS / 2 - 1, environment=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    return done.returncode, without_passwords(done.stdout)


def _cut(text: str) -> str:
    """Return why pip could not reach its index, without the objects of its HTTP library."""
    fetched = _FETCHED.search(text)
    if fetched is None:
        return " ".join(line for line in text.splitlines() if line.startswith("ERROR"))[:_CUT]
    causes = _CAUSE.findall(fetched[2])
    return f"{fetched[1]}: {causes[-1].strip() if causes else fetched[2][:_CUT]}"
