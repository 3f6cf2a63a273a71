"""Check of pip's index as seen from this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from ..system.checks import Check, Finding, ok, skip, warning
from ..system.host_pipe import run_program
from ..text.redaction import without_passwords

__all__ = ["index_check"]

_SECONDS = 25.0
# Any index has it.
_PACKAGE = "pip"
_PROXY = (
    "a proxy on the way re-signs TLS: set PIP_CERT to the PEM file with its certificate, or pass "
    "ca_bundle= to the executor"
)
_CUT = 300
_FETCHED = re.compile(r"Could not fetch URL (\S+): (.*?)(?: - skipping)?$", re.MULTILINE)
# Such as "[Errno 111] Connection refused".
_CAUSE = re.compile(r"\[(?:Errno|SSL)[^\]]*\][^'\")(]*")


def index_check() -> Check:
    """Return the check of the index; a failure is a warning.

    An index is needed only while something is built or fetched.
    """
    return Check("index", _index, _SECONDS)


def _index() -> Finding:
    code, text = _ask_pip()
    if not code:
        return ok("pip finds packages with the settings of this user")
    if "No module named pip" in text:
        return skip("this Python has no pip to ask with")
    low = text.lower()
    if "ssl certificate" in low or "certificate_verify_failed" in low:
        return warning(f"pip does not trust its index: {_cut(text)}", _PROXY)
    return warning(
        f"pip cannot reach its index: {_cut(text)}",
        "check the network, and PIP_INDEX_URL or pip.conf; an image or a package that is there "
        "already needs no index",
    )


def _ask_pip() -> tuple[int, str]:
    command = [
        # Isolated: modules in the current folder may be anybody's.
        *(sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"),
        # Twice verbose: otherwise pip does not say why it could not reach the index.
        *("-vv", "--retries", "0", "--timeout", "10", "index", "versions", _PACKAGE),
    ]
    try:
        result = run_program(command, seconds=_SECONDS - 1, environment=os.environ)
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    return result.returncode, without_passwords(result.stdout)


def _cut(text: str) -> str:
    """Return why pip could not reach its index, without the objects of its HTTP library."""
    fetched = _FETCHED.search(text)
    if fetched is None:
        return " ".join(line for line in text.splitlines() if line.startswith("ERROR"))[:_CUT]
    causes = _CAUSE.findall(fetched[2])
    return f"{fetched[1]}: {causes[-1].strip() if causes else fetched[2][:_CUT]}"
