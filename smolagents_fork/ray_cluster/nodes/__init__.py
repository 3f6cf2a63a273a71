"""Sandboxes on a node of a cluster: their supervisor, and what starts each kind."""
