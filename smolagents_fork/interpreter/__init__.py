"""Engines that run a program: Python's own, and a guarded one for the host's own process.

Pure Python, and imports nothing but the standard library and the fork's lower layers, so that it
also runs in a child process and in CPython built for Wasm.
"""
