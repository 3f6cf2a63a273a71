"""Sandboxes on Docker's engine: images by content, containers with limits, streams without a port.

``docker_provisioner`` implements the protocol of :mod:`smolagents_fork.sandboxes.provisioner` with
``engine``, ``images``, ``container`` and ``exec_stream``. Nothing here knows Jupyter.
"""
