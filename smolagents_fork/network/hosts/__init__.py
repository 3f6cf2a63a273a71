"""Hosts that a sandbox may reach: names, addresses, lookups and the decisions about them."""
