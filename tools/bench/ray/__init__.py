"""Sandboxes on a Ray cluster of this machine, beside the same executors without a cluster."""
