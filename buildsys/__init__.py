"""Builds the fork from upstream's release: verify, copy, prune, apply the series, stamp, pack.

Standard library and hatchling only, no git and no network: pip, uv and ``build`` run this in an
isolated environment on machines that are not ours.
"""
