"""The executor that runs code in a child process that the kernel confines."""

from .process_executor import ProcessExecutor

__all__ = ["ProcessExecutor"]

# Saved agents name the class by its public place.
ProcessExecutor.__module__ = __name__
