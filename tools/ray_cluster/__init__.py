"""A Ray cluster on this machine: a head and three nodes, each in a network namespace of its own.

:mod:`.network` makes the namespaces, :mod:`.cluster` the nodes and their faults, :mod:`.keeper` is
the process that has a cluster and ends it when nobody uses it, :mod:`.sharing` lets the workers of
a run use one.
"""
