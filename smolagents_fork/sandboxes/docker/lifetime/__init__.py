"""Labels, lease and reaper: the mechanisms that leave no container behind."""
