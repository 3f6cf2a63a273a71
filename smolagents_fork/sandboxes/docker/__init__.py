"""Sandboxes on Docker's engine.

``docker_provisioner`` implements the protocol of :mod:`smolagents_fork.sandboxes.provisioner`. The
rooms have its images, its byte streams, and the mechanisms that remove containers.
"""
