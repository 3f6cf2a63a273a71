"""Builds of images against pip's own work for the same list: ``python -m tools.bench.images``."""
