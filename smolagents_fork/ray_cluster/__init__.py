"""Sandboxes on a Ray cluster: the engine, its helper process, and the supervisors on the nodes."""
