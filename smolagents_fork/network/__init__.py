"""Network access of sandboxes: a list of hosts, enforced by a proxy of the application."""
