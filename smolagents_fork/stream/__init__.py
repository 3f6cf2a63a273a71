"""Protocols over byte streams: what connects the host to any sandbox."""
