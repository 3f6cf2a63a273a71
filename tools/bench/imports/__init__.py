"""Cost of ``import smolagents``, beside upstream's."""
