"""A Ray cluster on this machine: a head and three nodes, each in a network namespace of its own.

:mod:`.network` makes the namespaces, :mod:`.cluster` the nodes and their faults, :mod:`.sharing`
lets the workers of a run use one, which a process of its own ends when nobody uses it.
"""
