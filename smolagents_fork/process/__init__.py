"""A child process that runs the interpreter: fork server, confinement, frames.

Imports neither smolagents nor any engine, since the child imports it too.
"""
