"""Text of the code's exceptions: the traceback, then advice about a missing module."""

from __future__ import annotations

import functools
import time

import pytest

from smolagents_fork.executors.jupyter.error_text import failure_text, kernel_advice
from smolagents_fork.executors.session.guest import Failure

#: What the engine says about a sandbox without a network.
REMEDY = "give the executor network='bridge'"


def text_of(error: Failure, **how) -> str:
    given = {"present": (), "of_pool": False, "network_remedy": REMEDY}
    given |= {"own_loopback": True, **how}
    return failure_text(error, functools.partial(kernel_advice, **given))


def advice_for(module: str, *, name: str = "ModuleNotFoundError", **how) -> str:
    error = Failure(name, f"No module named '{module}'", "Traceback: it is missing")
    text = text_of(error, **how)
    assert text.startswith("Traceback: it is missing")
    return text.removeprefix("Traceback: it is missing")


def test_module_missing_from_the_image():
    assert advice_for("sklearn") == (
        "\n'sklearn' is not installed in the sandbox. To have it installed, pass its import name "
        "to the executor in additional_authorized_imports=, or a pip requirement in requirements="
    )
    assert "to the pool in additional_imports=, or" in advice_for("sklearn", of_pool=True)
    assert "such as 'google.cloud.storage'" in advice_for("google")
    assert advice_for("google.cloud.storage").startswith(
        "\n'google.cloud.storage' is not installed"
    )


@pytest.mark.parametrize("module", ["json.tool2", "yaml.part", "smolagents", "x" * 101])
def test_module_that_pip_cannot_install_gets_no_advice(module):
    assert advice_for(module) == ""
    assert advice_for("sklearn", present=["sklearn"]) == ""
    assert advice_for("sklearn", name="ValueError") == ""


@pytest.mark.parametrize(
    "message",
    [
        "[Errno -3] Temporary failure in name resolution",
        "<urlopen error [Errno -2] Name or service not known>",
        "[Errno 101] Network is unreachable",
        "PermissionError: [Errno 13] Connect call failed ('1.1.1.1', 443)",
        "TimeoutError: [Errno 110] Connection timed out",
        "TimeoutError: timed out",
        "URLError: <urlopen error timed out>",
        "ConnectTimeoutError(..., 'Connection to example.org timed out. (connect timeout=5)')",
        'Max retries exceeded with url: / (Caused by NameResolutionError("Failed to resolve '
        "'example.org' ([Errno -3] Temporary failure in name resolution)\"))",
    ],
)
def test_missing_network_names_its_parameter(message):
    error = Failure("ConnectionError", message, f"Traceback\nConnectionError: {message}")
    text = text_of(error).partition(message)[2]
    assert text == (
        "\nThis sandbox has no network: give the executor network='bridge', or give the agent a "
        "tool, which runs outside"
    )
    assert text_of(error, network_remedy="").endswith(message)


def test_other_errors_do_not_name_the_network():
    error = Failure("ValueError", "no network name", "Traceback\nValueError: no network name")
    assert text_of(error) == "Traceback\nValueError: no network name"


def test_advice_about_a_long_message_takes_little_work():
    """Hostile code chooses it, and a pattern's work for this one grows with its square."""
    begun = time.process_time()
    message = "OSError: x" * 25_000
    assert text_of(Failure("E", "x", message)) == message
    end = "ModuleNotFoundError: No module named 'absent'"
    text = text_of(Failure("E", f"{message}\n{end}"))
    assert "'absent' is not installed" in text
    assert time.process_time() - begun < 10.0
