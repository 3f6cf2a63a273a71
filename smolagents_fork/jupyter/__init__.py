"""Jupyter's messaging protocol, from the client's side and without a kernel of its own.

``wire`` and ``protocol`` are pure: bytes in, values out. ``websocket`` and ``channel`` add a socket
and deadlines, ``gateway_api`` the gateway's REST calls, ``collector`` what a call gave; ``kernel/``
is the code that runs in the kernel. Nothing here knows how the socket came about.
"""
