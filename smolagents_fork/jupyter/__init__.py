"""Client side of Jupyter's messaging protocol.

``wire`` and ``protocol`` are pure: bytes in, values out. ``websocket`` and ``channel`` add a socket
and deadlines. ``kernel/`` contains the code that runs in the kernel. The package is independent of
the way in which the socket was opened.
"""
