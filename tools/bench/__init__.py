"""Benchmarks: each runs both sides in one go and writes its figures to ``reports/``."""
