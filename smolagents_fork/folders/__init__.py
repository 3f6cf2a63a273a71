"""Folders of this machine in which untrusted code works."""
