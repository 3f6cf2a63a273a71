"""Containers: images by content, sandboxes with limits, and a stream into one without a port.

``provisioner`` says what anything above needs of a place that runs sandboxes; ``engine``,
``images``, ``runtime`` and ``tunnel`` give it with Docker's engine. Nothing here knows Jupyter.
"""
