"""Executors, their selection and their lifecycle contract.

Importing it imports ``smolagents`` first: a patch makes ``smolagents`` import
``agents.upstream_names`` last, so whichever of the two is imported first must find the other one
whole.
"""

from smolagents_fork import upstream

upstream.load()
