"""Executors' side of a Jupyter kernel in a sandbox, the same for every provisioner."""
