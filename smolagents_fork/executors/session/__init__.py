"""One session of an executor with the guest that runs its code, whatever kind of guest it is."""
