"""Sandboxes on a Ray cluster: the engine, its placer process, and the supervisors on the nodes."""
