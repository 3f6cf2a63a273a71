"""Common parts of containers: their first process, programs, files, and what they answer."""
