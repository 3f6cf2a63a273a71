"""Build of the fork from upstream's release: verify, copy, prune, apply the series, stamp, pack.

It uses the standard library, hatchling and what hatchling needs, without git or network. pip, uv
and ``build`` run it in an isolated environment on users' machines.
"""
