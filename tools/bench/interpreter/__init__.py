"""The local interpreter beside CPython and others."""
