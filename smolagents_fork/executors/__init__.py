"""Executors, their selection and their lifecycle contract."""
