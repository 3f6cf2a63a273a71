"""The choice of the executor for a Ray cluster."""
