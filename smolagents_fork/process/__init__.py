"""A child process that runs programs: fork server, confinement, frames.

The package imports neither smolagents nor a container engine, since the child imports it too.
"""
