"""Executors, their selection and their lifecycle contract.

Importing it imports ``smolagents`` first: a patch makes ``smolagents.local_python_executor`` take
its executor from here, so whichever of the two is imported first must find the other one whole.
"""

from smolagents_fork import upstream

upstream.load()
