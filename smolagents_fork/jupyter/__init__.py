"""Jupyter's messaging protocol, from the client's side and without a kernel of its own.

``frames`` and ``messages`` are pure: bytes in, values out. ``websocket`` and ``channel`` add a
socket and deadlines, ``kernels`` the gateway's REST calls; ``kernel_*`` is what runs in the
kernel. Nothing here knows how the socket came about; containers do that.
"""
