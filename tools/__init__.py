"""Maintainers' commands. May use git and the network; never imported by the package."""
