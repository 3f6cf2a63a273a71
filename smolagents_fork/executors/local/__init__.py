"""The executor that runs code in this process, by the guarded interpreter."""

from ...upstream import replace_imported
from .local_executor import LocalPythonExecutor, evaluate_python_code

__all__ = ["LocalPythonExecutor", "evaluate_python_code"]

# Saved agents name the class by its public place.
LocalPythonExecutor.__module__ = __name__
# Upstream's functions that make a local executor, or test for one, mean this class.
replace_imported("LocalPythonExecutor", LocalPythonExecutor)
