"""``make test-downstream``: packages that build on smolagents, used with the fork and upstream."""
