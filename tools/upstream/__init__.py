"""Upstream's releases: fetched through pip with the user's own index settings, and locked."""
