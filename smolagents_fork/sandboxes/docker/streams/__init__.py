"""Byte streams between this process and a container: execs, their output, and log readers."""
