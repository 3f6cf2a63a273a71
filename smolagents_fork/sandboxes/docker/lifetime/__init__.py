"""Labels, lease, and removal of orphans: the mechanisms that leave no container behind."""
