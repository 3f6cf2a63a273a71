"""Decisions about a running program: attributes, classes of the program, built-ins, sizes."""
