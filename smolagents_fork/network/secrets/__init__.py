"""Secrets of a sandbox: placeholders inside, and their values in requests to the secrets' hosts."""
