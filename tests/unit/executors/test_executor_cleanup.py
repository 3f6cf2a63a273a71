"""Errors of ``cleanup()`` reach its caller, and an executor that was never made has nothing."""

from __future__ import annotations

import pytest

from smolagents_fork.executors.local import LocalPythonExecutor
from smolagents_fork.executors.process import ProcessExecutor


class Faulty(ProcessExecutor):
    """An executor with a mistake in its cleanup."""

    def _cleanup(self) -> None:
        super()._cleanup()
        self.no_such_attribute()  # type: ignore[attr-defined]


@pytest.mark.parametrize("cls", [ProcessExecutor, LocalPythonExecutor])
def test_executor_whose_constructor_never_ran_is_cleaned_up(cls):
    cls.__new__(cls).cleanup()


def test_attribute_error_of_a_cleanup_is_raised():
    executor = Faulty([])
    with pytest.raises(AttributeError, match="no_such_attribute"):
        executor.cleanup()
    assert executor.closed
