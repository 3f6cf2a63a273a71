"""Calls of each kind of executor for a long time: memory and descriptors of the host, and times."""
