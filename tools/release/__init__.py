"""``make release``: everything of a release but its publication."""
