"""Promises of the executors of hosted services, for ``docs/executors/index.md``, with the tests.

Each named test runs on the double of every service in :data:`SERVICES`.
"""

from __future__ import annotations

from dataclasses import dataclass

SERVICES = ("e2b", "modal", "blaxel")


@dataclass(frozen=True)
class HostedRow:
    """A row of the page: an area, what holds in it, and its tests; without tests none is made."""

    area: str
    text: str
    tests: tuple[str, ...] = ()


ROWS: tuple[HostedRow, ...] = (
    HostedRow("Isolation", "the service's: not tested here"),
    HostedRow("Network", "the service's: not tested here"),
    HostedRow(
        "Limits",
        "`timeout_seconds` ends a call; memory and processors are the service's",
        ("test_deadline_interrupts_code_and_keeps_output",),
    ),
    HostedRow(
        "State",
        "kept between calls; `variables()` returns it",
        ("test_state_is_kept_between_calls", "test_variables_are_read"),
    ),
    HostedRow(
        "Tools on the host",
        "yes; `tool_placement` sends a tool's source instead",
        ("test_agent_runs_twice", "test_final_answer_is_the_value"),
    ),
    HostedRow("Managed agents", "on the host", ("test_managed_agents_are_called_on_the_host",)),
    HostedRow("Final answer", "its value, unchanged", ("test_final_answer_is_the_value",)),
    HostedRow(
        "Errors",
        "the output before them is kept",
        (
            "test_error_has_no_colours_and_output_before_it_is_kept",
            "test_end_of_the_kernel_is_an_error",
        ),
    ),
    HostedRow(
        "Lost connections",
        "opened again between two calls; one that is lost in a call ends the sandbox",
        ("test_connection_lost_between_calls_is_opened_again",),
    ),
    HostedRow("Images", "come as PIL images", ("test_image_is_returned",)),
    HostedRow(
        "Files",
        "in and out, as with every executor",
        (
            "test_files_given_to_the_constructor_are_opened",
            "test_files_of_several_pieces_go_in_and_out",
        ),
    ),
    HostedRow("Cleanup", "ends the sandbox", ("test_cleanup_ends_the_sandbox",)),
    HostedRow("start to first result", "not measured: no test speaks to a real service"),
    HostedRow("call of `1+1`", "not measured: no test speaks to a real service"),
)
