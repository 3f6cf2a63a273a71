"""The command ``smolagents-fork``, and the option ``--executor`` of upstream's ``smolagent``."""
