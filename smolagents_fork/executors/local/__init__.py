"""The executor that runs code in this process, by the guarded interpreter."""

from .local_executor import LocalPythonExecutor, evaluate_python_code

__all__ = ["LocalPythonExecutor", "evaluate_python_code"]

# Saved agents name the class by its public place.
LocalPythonExecutor.__module__ = __name__
