"""The executor that runs code in this process, by the guarded interpreter."""

from ...upstream import register_subclass
from .local_executor import LocalPythonExecutor, evaluate_python_code

__all__ = ["LocalPythonExecutor", "evaluate_python_code"]

# Saved agents name the class by its public place.
LocalPythonExecutor.__module__ = __name__
# Upstream's functions that test for a local executor do so by upstream's class.
register_subclass("LocalPythonExecutor", LocalPythonExecutor)
