"""Build of the fork from upstream's release: verify, copy, prune, apply the series, stamp, pack.

It uses the standard library and hatchling only, without git or network. pip, uv and ``build`` run
it in an isolated environment on users' machines.
"""
